"""Values that differ only in how they are written: upper case, spaces, Unicode form; and texts for no value."""

import unicodedata
from collections.abc import Sequence

INVISIBLE = "Cf"
"""The Unicode category of characters without a shape, such as a soft hyphen."""
MARKERS = frozenset({"nan", "na", "n/a", "#n/a", "<na>", "nat", "null", "(null)"})
"""The spellings of no value that pandas, R, spreadsheets and databases write."""
NONE = "None"
"""The same of Python. In lower case it may be an answer, such as the illness of a healthy person."""


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
