"""Values and ids that differ only in how they are written: upper case, spaces, Unicode form, leading zeros.

Some texts stand for no value.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import Bool, Int64
from reanon_core.tables.ids import People, ascending_order, pseudonyms

if TYPE_CHECKING:
    import pyarrow as pa

INVISIBLE = "Cf"
"""The Unicode category of characters without a shape, such as a soft hyphen."""
MARKERS = frozenset({"nan", "na", "n/a", "#n/a", "<na>", "nat", "null", "(null)"})
"""The spellings of no value that pandas, R, spreadsheets and databases write."""
NONE = "None"
"""The same of Python. In lower case it may be an answer, such as the illness of a healthy person."""

WHOLE = r"^([0-9]+)\.0*$"
"""A whole number as frames write it if some of the column is missing: 7.0."""
PADDED = r"^([^0-9]*[a-z][^0-9]*)0+([0-9]+)$"
"""A number after letters with zeros before it: p007."""
ACCIDENTS = r"[\s\p{Z}\p{C}]+"
"""What an eye does not see: white space, and letters without a shape."""


def variants_of(known: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    """Each new value that is another spelling of an earlier one, with that one. The cost is linear."""
    if not new:
        return []
    first: dict[str, str] = {}
    for value in known:
        first.setdefault(spelling(value), value)
    pairs = []
    for value in new:
        other = first.setdefault(spelling(value), value)
        if other != value:
            pairs.append((other, value))
    return pairs


def spelling(value: str) -> str:
    """The value in lower case and in Unicode's compatible form, with single spaces and nothing invisible."""
    if not value.isascii():
        shown = "".join(letter for letter in value if unicodedata.category(letter) != INVISIBLE)
        value = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold())
    return " ".join(value.casefold().split())


def missing_markers(values: Sequence[str]) -> list[str]:
    """The values that programs write where there is none: the text 'nan' would be published as if it were a value."""
    return [value for value in values if value == NONE or spelling(value) in MARKERS]


def id_forms(texts: "pa.StringArray") -> "pa.StringArray":
    """The ids in one way of writing: no spaces, lower case, Unicode's compatible form, numbers without zeros before.

    A number may be the whole id or its end, after letters.

    Most tables need no expression, which would take most of the time.
    """
    from pyarrow import compute

    least, greatest = _extreme_letters(texts)
    if least < ord(" ") or greatest > ord("~"):
        texts = compute.replace_substring_regex(compute.utf8_normalize(texts, form="NFKC"), ACCIDENTS, "")
    elif least == ord(" "):
        texts = compute.replace_substring(texts, " ", "")
    texts = compute.utf8_lower(texts)
    if compute.any(compute.match_substring(texts, ".")).as_py():
        texts = compute.replace_substring_regex(texts, WHOLE, r"\1")
    if greatest > ord("9") and compute.any(compute.match_substring(texts, "0")).as_py():
        texts = compute.replace_substring_regex(texts, PADDED, r"\1\2")
    digits = compute.ascii_ltrim(texts, characters="0")
    digits = compute.if_else(compute.equal(digits, ""), "0", digits)
    return compute.if_else(compute.ascii_is_decimal(texts), digits, texts)


def _extreme_letters(texts: "pa.StringArray") -> tuple[int, int]:
    """The least and the greatest byte of the texts; that of a visible letter if there is none."""
    data = texts.buffers()[2]
    letters = np.frombuffer(b"" if data is None else data, dtype=np.uint8)
    return int(letters.min(initial=ord("a"))), int(letters.max(initial=ord("a")))


def _is_empty(forms: "pa.StringArray") -> Bool:
    """Which ids have the form of a text for no value."""
    import pyarrow as pa
    from pyarrow import compute

    return np.asarray(compute.is_in(forms, pa.array([*sorted(MARKERS), NONE.lower()])).to_numpy(zero_copy_only=False))


@dataclass(frozen=True, eq=False)
class Doubts:
    """The rows of a table with a new id that may be wrong."""

    alike: Bool
    """It has the form of another id of the table or of an earlier one."""
    empty: Bool
    """It is a text for no value, such as 'nan'."""

    @classmethod
    def none(cls, rows: int) -> "Doubts":
        """So many rows without doubts."""
        return cls(np.zeros(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class KnownIds:
    """The people of all releases so far, and the forms of their ids: keyed pseudonyms of both, in ascending order."""

    persons: Int64
    forms: Int64

    @classmethod
    def none(cls) -> "KnownIds":
        """Before the first release."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def with_table(self, texts: "pa.StringArray", people: People, key: bytes) -> "tuple[KnownIds, Doubts]":
        """The same after a release of this table, and which of its new ids are doubtful."""
        persons, doubts = people.persons[people.order], Doubts.none(len(people.order))
        fresh = ~among(persons, self.persons)
        new = people.order[fresh]
        if len(new) == 0:
            return self, doubts
        written = id_forms(texts.take(new))
        doubts.empty[new] = _is_empty(written)
        forms = pseudonyms(written, key)
        order = ascending_order(forms)
        forms = forms[order]
        again, found = forms[1:] == forms[:-1], among(forms, self.forms)
        found[1:] |= again
        found[:-1] |= again
        doubts.alike[new[order[found]]] = True
        return KnownIds(_merged(self.persons, persons[fresh]), _merged(self.forms, forms)), doubts


def among(words: Int64, others: Int64) -> Bool:
    """Whether each word is among the others; both ascend."""
    if len(others) == 0:
        return np.zeros(len(words), dtype=np.bool_)
    return np.asarray(others[np.minimum(np.searchsorted(others, words), len(others) - 1)] == words)


def _merged(one: Int64, other: Int64) -> Int64:
    both = np.concatenate([one, other])
    return both[ascending_order(both)]
