"""Renumbered ids: a private file says which known id a new one stands for, so that no one becomes a new person."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem, counted
from reanon_core.tables.ids import canonical_text, canonical_texts
from reanon_dagster.series.series import Series

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("old", "new")


def known_ids(series: Series, release: str, column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """The ids of a snapshot as those under which the series knows people; no message names an id.

    Raises: InvalidSnapshot if a file cannot be used, or if an id that it does not list is the old one of somebody.
    """
    import pyarrow as pa

    place = series.calendar.index(release)
    maps = [one for one in series.config.source.id_map if series.calendar.index(one.since) <= place]
    if not maps:
        return column
    name = series.config.source.id
    texts = canonical_texts(name, column).to_pylist()
    for one in sorted(maps, key=lambda found: -series.calendar.index(found.since)):
        listed = _read_map(series.folder / one.path, one.path)
        old = frozenset(listed.values())
        taken = np.array([text in old and text not in listed for text in texts], np.bool_)
        if taken.any():
            what = counted(int(taken.sum()), "id", "ids")
            rule = f"be listed as new in {one.path}, because they are the old ids of others"
            help_ = "list them, also where old and new are the same"
            raise InvalidSnapshot(Problem(name, rule, f"{what} in {named_rows(taken)}", help_))
        texts = [listed.get(text, text) for text in texts]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _read_map(path: Path, written: str) -> Mapping[str, str]:
    """The old id of each new one.

    Raises: InvalidSnapshot.
    """
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise _unusable("be a readable csv file in utf-8", written) from None
    header: Sequence[str] = rows[0] if rows else ()
    if sorted(header) != sorted(COLUMNS):
        raise _unusable("have the columns old and new, and no others", written)
    if any(len(row) != len(COLUMNS) or not all(row) for row in rows[1:]):
        raise _unusable("have an old and a new id on every line", written)
    old, new = ([canonical_text(row[header.index(name)]) for row in rows[1:]] for name in COLUMNS)
    if len(set(old)) < len(old) or len(set(new)) < len(new):
        raise _unusable("name every old id once and every new id once", written)
    return dict(zip(new, old, strict=True))


def _unusable(rule: str, written: str) -> InvalidSnapshot:
    return InvalidSnapshot(Problem("source.id_map", rule, written))
