"""Ids that differ only in how they are written: spaces, upper case, leading zeros.

A person whose id is written in another way seems to be a new person, and comparing releases could then expose them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reanon_core.model.arrays import Bool, Int32, Int64, forget_pages, slices
from reanon_core.tables.ids import BLOCK, People, ascending_order, canonical_texts, pseudonyms
from reanon_core.tables.spellings import MARKERS, NONE

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE = r"^([0-9]+)\.0*$"
"""A whole number as frames write it if some of the column is missing: 7.0."""
DIGITS = "0123456789"
OTHERS = "".join(chr(code) for code in range(ord("!"), ord("~") + 1) if chr(code) not in DIGITS)
"""The visible letters of ASCII that are no digits."""
PADDED = r"^([^0-9]*[a-z][^0-9]*)0+([0-9]+)$"
"""A number after letters with zeros before it: p007."""
ACCIDENTS = r"[\s\p{Z}\p{C}]+"
"""What an eye does not see: white space, and letters without a shape."""


def id_forms(texts: "pa.StringArray") -> "pa.StringArray":
    """The ids in one way of writing: no spaces, lower case, Unicode's compatible form, numbers without zeros before.

    A number may be the whole id or its end, after letters.

    Most tables need no expression, which would take most of the time.
    """
    from pyarrow import compute

    least, greatest = _extreme_letters(texts)
    if least >= ord("0") and greatest <= ord("9") and not compute.any(compute.starts_with(texts, "0")).as_py():
        return texts
    if least < ord(" ") or greatest > ord("~"):
        texts = compute.replace_substring_regex(compute.utf8_normalize(texts, form="NFKC"), ACCIDENTS, "")
    elif least == ord(" "):
        texts = compute.replace_substring(texts, " ", "")
    texts = compute.utf8_lower(texts)
    if compute.any(compute.match_substring(texts, ".")).as_py():
        texts = compute.replace_substring_regex(texts, WHOLE, r"\1")
    if greatest > ord("9") and compute.any(compute.match_substring(texts, "0")).as_py():
        if greatest > ord("~"):
            texts = compute.replace_substring_regex(texts, PADDED, r"\1\2")
        else:
            texts = _without_padding(texts)
    return compute.if_else(compute.ascii_is_decimal(texts), _without_zeros(texts), texts)


def _without_padding(texts: "pa.StringArray") -> "pa.StringArray":
    """What replacing PADDED gives for visible letters of ASCII, several times faster."""
    from pyarrow import compute

    number, before = compute.ascii_ltrim(texts, characters=OTHERS), compute.ascii_rtrim(texts, characters=DIGITS)
    padded = compute.and_(compute.ascii_is_decimal(number), compute.not_equal(compute.ascii_upper(before), before))
    return compute.if_else(padded, compute.binary_join_element_wise(before, _without_zeros(number), ""), texts)


def _without_zeros(numbers: "pa.StringArray") -> "pa.StringArray":
    """Whole numbers without zeros before."""
    from pyarrow import compute

    digits = compute.ascii_ltrim(numbers, characters="0")
    return compute.if_else(compute.equal(digits, ""), "0", digits)


def _extreme_letters(texts: "pa.StringArray") -> tuple[int, int]:
    """The least and the greatest byte of the texts; that of a visible letter if there is none."""
    data = texts.buffers()[2]
    letters = np.frombuffer(b"" if data is None else data, dtype=np.uint8)
    return int(letters.min(initial=ord("a"))), int(letters.max(initial=ord("a")))


def row_forms(name: str, column: "pa.ChunkedArray", persons: Int64, key: bytes) -> Int64:
    """The pseudonym of the form of each id in a column, whose people are known.

    An id that is written in its form has the same pseudonym as its form.

    Requires: no id is empty.
    """
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        return persons
    forms = np.empty(len(persons), dtype=np.int64)
    for start in range(0, len(persons), BLOCK):
        texts = canonical_texts(name, column.slice(start, BLOCK))
        written, here = id_forms(texts), slice(start, start + BLOCK)
        forms[here] = persons[here] if written is texts else pseudonyms(written, key)
    return forms


@dataclass(frozen=True, eq=False)
class WrittenIds:
    """How the ids of people are written, with an entry for each of them; people ascend."""

    persons: Int64
    forms: Int64
    """The pseudonym of the form of each id."""
    rows: Int32
    """The row of each person in the source."""

    def at(self, places: Int64) -> "WrittenIds":
        """Those of some of the people."""
        return WrittenIds(self.persons[places], self.forms[places], self.rows[places])


class KnownPeople(Protocol):
    """The people of all releases so far."""

    def person_batches(self) -> Iterator[Int64]:
        """Their pseudonyms, some at a time."""

    def form_batches(self, part: int, parts: int) -> Iterator[Int64]:
        """The pseudonyms of the forms of their ids of which `in_part` holds, some at a time."""


def in_part(words: Int64, part: int, parts: int) -> Bool:
    """Which words belong to one of so many parts, by their last bits; the number of parts is a power of two."""
    return np.asarray(words & np.int64(parts - 1) == part)


def fresh_people(persons: Int64, known: KnownPeople) -> Bool:
    """Which people, who ascend, are not known."""
    fresh = np.ones(len(persons), dtype=np.bool_)
    for batch in known.person_batches() if len(persons) else ():
        before = np.sort(batch)  # neighbours are found near each other
        places = np.minimum(persons.searchsorted(before), len(persons) - 1)
        fresh[places[persons[places] == before]] = False
        forget_pages(persons)
    return fresh


FORMS_AT_ONCE = 1 << 20
"""About how many forms of new ids are sorted together."""


def doubtful_forms(forms: Int64, fresh: Bool, known: KnownPeople, key: bytes) -> tuple[Int64, Int64]:
    """The new ids with the form of a known id or of another new one, and those with that of a text for no value.

    `fresh` says which ids are new.
    """
    import pyarrow as pa

    alike, empty = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    markers = pseudonyms(pa.array([*sorted(MARKERS), NONE.lower()]), key)
    new = int(np.count_nonzero(fresh))
    parts = 1 << max(0, -(-new // FORMS_AT_ONCE) - 1).bit_length()
    for part in range(parts) if new else ():
        found = [np.flatnonzero(fresh[at] & in_part(forms[at], part, parts)) + at.start for at in slices(len(forms))]
        rows = np.concatenate(found)
        here = forms[rows]
        forget_pages(forms)
        order = ascending_order(here)
        ascending = here[order]
        again, twice = ascending[1:] == ascending[:-1], np.zeros(len(rows), dtype=np.bool_)
        twice[1:] |= again
        twice[:-1] |= again
        for batch in known.form_batches(part, parts) if len(rows) else ():
            words = np.sort(batch)
            places = np.minimum(ascending.searchsorted(words), len(rows) - 1)
            twice[places[ascending[places] == words]] = True
        alike.append(rows[order[twice]])
        empty.append(rows[np.isin(here, markers)])
    return np.concatenate(alike), np.concatenate(empty)


@dataclass(frozen=True, eq=False)
class Doubts:
    """The rows of a table with a new id that may be wrong, up to the last of them."""

    alike: Bool
    """It has the form of another id of the table or of an earlier one."""
    empty: Bool
    """It is a text for no value, such as 'nan'."""

    @classmethod
    def of(cls, alike: Int32, empty: Int32) -> "Doubts":
        """Those of rows that are given by their numbers."""
        return cls(_mask(alike), _mask(empty))


def _mask(rows: Int32) -> Bool:
    mask = np.zeros(int(rows.max(initial=-1)) + 1, dtype=np.bool_)
    mask[rows] = True
    return mask


@dataclass(frozen=True, eq=False)
class NewIds:
    """The people of a table who are new."""

    ids: WrittenIds
    fresh: Bool
    """Who of them is new."""


def examined_ids(ids: WrittenIds, ignored: Bool, known: KnownPeople, key: bytes) -> tuple[NewIds, Doubts]:
    """The new people of a table, apart from those who are to be ignored, and doubts about their ids."""
    fresh = fresh_people(ids.persons, known) & ~ignored
    alike, empty = doubtful_forms(ids.forms, fresh, known, key)
    return NewIds(ids, fresh), Doubts.of(ids.rows[alike], ids.rows[empty])


@dataclass(frozen=True, eq=False)
class KnownIds:
    """The people of all releases so far, and the forms of their ids: keyed pseudonyms of both, in ascending order."""

    persons: Int64
    forms: Int64

    @classmethod
    def none(cls) -> "KnownIds":
        """Before the first release."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def person_batches(self) -> Iterator[Int64]:
        """Everyone."""
        yield self.persons

    def form_batches(self, part: int, parts: int) -> Iterator[Int64]:
        """The forms of a part."""
        yield self.forms if parts == 1 else self.forms[in_part(self.forms, part, parts)]

    def with_people(self, persons: Int64, forms: Int64) -> "KnownIds":
        """The same with new people."""
        return KnownIds(_merged(self.persons, persons), _merged(self.forms, forms))

    def with_table(self, texts: "pa.StringArray", people: People, key: bytes) -> "tuple[KnownIds, Doubts]":
        """The same after a release of this table, and which of its new ids are doubtful.

        Only new ids are brought into their form.
        """
        fresh = np.flatnonzero(fresh_people(people.persons[people.order], self))
        new = people.order[fresh]
        forms = pseudonyms(id_forms(texts.take(new)), key)
        alike, empty = doubtful_forms(forms, np.ones(len(new), dtype=np.bool_), self, key)
        return self.with_people(people.persons[new], forms), Doubts.of(new[alike], new[empty])


def among(words: Int64, others: Int64) -> Bool:
    """Whether each word is among the others; both ascend."""
    if len(others) == 0:
        return np.zeros(len(words), dtype=np.bool_)
    return np.asarray(others[np.minimum(np.searchsorted(others, words), len(others) - 1)] == words)


def _merged(one: Int64, other: Int64) -> Int64:
    both = np.concatenate([one, other])
    return both[ascending_order(both)]
