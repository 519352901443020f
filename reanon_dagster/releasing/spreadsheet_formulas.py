"""Published text that a spreadsheet would run as a formula. It is published as it is, and the steward is told."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reanon_core.model.arrays import Int32
    from reanon_core.model.ledger import Entry
    from reanon_dagster.series.series import Series

PART = 1 << 20
"""How many codes are sorted at a time."""
_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[\d.,]*")
"""A sign with a number, or alone, is harmless."""


def formula_notes(series: "Series", entry: "Entry") -> tuple[str, ...]:
    """A note if csv files of the release have such text: it names the columns, and no value."""
    if "csv" not in series.config.publish.formats:
        return ()
    names = [name for name, texts in _published_texts(entry) if any(map(is_formula, (name, *texts)))]
    if not names:
        return ()
    note = (
        f"text in {', '.join(names)} begins with = + - or @, and a spreadsheet that opens the csv file would run it as "
        f"a formula; change such values in the source, or publish parquet only (publish.formats)"
    )
    return (note,)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may take a text for a formula."""
    return text.startswith(_STARTS) and _NUMBER.fullmatch(text) is None


def _published_texts(entry: "Entry") -> Iterator[tuple[str, Iterable[str]]]:
    """The columns that a release shows, with the texts that may stand in them; numbers and dates have none."""
    schema, release = entry.snapshot.schema, entry.release
    shown = release.columns or schema.columns
    for column in schema.quasi_identifiers:
        if column.name in shown:
            yield column.name, column.taxonomy.labels if column.taxonomy else ()
    if schema.sensitive.name in shown:
        yield schema.sensitive.name, _used(schema.sensitive.values, release.sensitive)
    for name, values, codes in zip(schema.other, schema.other_values, release.other, strict=True):
        if name in shown:
            yield name, _used(values, codes)


def _used(values: tuple[str, ...], codes: "Int32") -> list[str]:
    """The values that occur; codes are looked through a part at a time, because there may be very many."""
    used: set[int] = set()
    for start in range(0, len(codes), PART):
        used.update(np.unique(codes[start : start + PART]).tolist())
    return [values[code] for code in sorted(used) if code >= 0]
