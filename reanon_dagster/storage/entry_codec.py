"""An entry as named arrays and as columns of the store, and back: the one place that lists its parts.

`asked` marks the people a release selects, `fake_group` and `fake_count` are the counterfeits.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from reanon_core.model.arrays import Int32, Int64, forget_pages, slices
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import Packable
from reanon_core.model.release import Auxiliary, Boxes, PersonRows, Release
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace, Witness

Columns = Mapping[str, Any]
"""The columns of a table as arrays, by name."""

PEOPLE, ROWS, BOXES, COUNTERFEITS = "private.people", "public.rows", "public.boxes", "public.counterfeits"
ORDER = {PEOPLE: "person", ROWS: "row", BOXES: "group_id", COUNTERFEITS: "group_id"}
"""The order in which the rows of each table are read."""
PERSON_ROWS = ("person_group", "person_box", "person_low", "person_high", "person_missing")
"""The public arrays of the rows of people."""
NO_CODES = np.empty((0, 0), np.int32)


def arrays_of(entry: Entry) -> dict[str, Packable]:
    """The entry as named arrays: what its digest covers and a stored candidate holds."""
    snapshot, release = entry.snapshot, entry.release
    optional: dict[str, Packable] = {}
    if snapshot.schema.other:
        optional |= {"other": snapshot.other, "published_other": release.other}
    if not release.grouped:
        optional |= {"columns": json.dumps(release.columns)}
    if entry.witness is not None:
        optional |= {"witness": entry.witness.rows}
    optional |= person_row_arrays(entry)
    return optional | {
        "persons": snapshot.persons,
        "qi": snapshot.qi,
        "sensitive": snapshot.sensitive,
        "group": release.group,
        "published": release.sensitive,
        "low": release.boxes.low,
        "high": release.boxes.high,
        "missing": release.boxes.missing,
        "fake_group": entry.auxiliary.group,
        "fake_count": entry.auxiliary.count,
        "traced": entry.trace.persons,
        "rows": entry.trace.rows,
        # One value for all rows takes no memory.
        "asked": np.broadcast_to(np.True_, snapshot.size) if snapshot.selected is None else snapshot.selected,
        "origin": np.broadcast_to(np.int8(0), snapshot.size) if snapshot.origin is None else snapshot.origin,
    }


def entry_of(
    arrays: Mapping[str, Any], schema: Schema, *, columns: tuple[str, ...] | None, grouped: bool = True
) -> Entry:
    """The entry that the arrays describe; `columns` are those the release shows, None for all."""
    selected, origin = arrays["asked"], arrays["origin"]
    return Entry(
        Snapshot(
            schema,
            arrays["persons"],
            arrays["qi"],
            arrays["sensitive"],
            arrays.get("other", NO_CODES),
            columns,
            selected=None if selected.all() else selected,
            origin=origin if origin.any() else None,
        ),
        Release(
            arrays["group"],
            arrays["published"],
            Boxes(arrays["low"], arrays["high"], arrays["missing"]),
            other=arrays.get("published_other", NO_CODES),
            columns=columns,
            grouped=grouped,
            person_rows=_person_rows(arrays),
        ),
        Auxiliary(arrays["fake_group"], arrays["fake_count"]),
        Trace(arrays["traced"], arrays["rows"], arrays.get("person_rows")),
        Witness(arrays["witness"]) if "witness" in arrays else None,
    )


def person_row_arrays(entry: Entry) -> dict[str, Packable]:
    """The rows of people of a decoupled release and their trace; nothing for any other."""
    rows, shown = entry.release.person_rows, entry.trace.person_rows
    if rows is None or shown is None:
        return {}
    parts: tuple[Packable, ...] = (rows.group, rows.box, rows.boxes.low, rows.boxes.high, rows.boxes.missing)
    return {**dict(zip(PERSON_ROWS, parts, strict=True)), "person_rows": shown}


def _person_rows(arrays: Mapping[str, Any]) -> PersonRows | None:
    if PERSON_ROWS[0] not in arrays:
        return None
    group, box, low, high, missing = (arrays[name] for name in PERSON_ROWS)
    return PersonRows(group, box, Boxes(low, high, missing))


def store_columns(entry: Entry) -> dict[str, dict[str, Any]]:
    """The columns of the entry in each table of the store. Row -1 means that a person is withheld."""
    arrays: dict[str, Any] = arrays_of(entry)
    return {table: _columns(arrays, table, slice(0, rows)) for table, rows in _table_rows(arrays).items()}


def store_parts(entry: Entry) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same, some rows of a table at a time and in their order; each table at least once."""
    arrays: dict[str, Any] = arrays_of(entry)
    for table, rows in _table_rows(arrays).items():
        for part in slices(rows):
            yield table, _columns(arrays, table, part)
            forget_pages(*(array for array in arrays.values() if isinstance(array, np.ndarray)))


def _table_rows(arrays: Mapping[str, Any]) -> dict[str, int]:
    """How many rows the entry has in each table."""
    return {
        PEOPLE: len(arrays["persons"]),
        ROWS: len(arrays["group"]),
        BOXES: len(arrays["low"][0]),
        COUNTERFEITS: len(arrays["fake_group"]),
    }


def _columns(arrays: Mapping[str, Any], table: str, part: slice) -> dict[str, Any]:
    """Some rows of a table."""
    number = np.arange(part.start, part.stop, dtype=np.int32)
    if table == PEOPLE:
        people = {name: arrays[name][part] for name in ("sensitive", "asked", "origin")}
        persons = arrays["persons"][part]
        row = _published_rows(persons, arrays["traced"], arrays["rows"])
        codes = _numbered("q", arrays["qi"], part) | _numbered("o", arrays.get("other", ()), part)
        return people | {"person": persons, "row": row} | codes
    if table == ROWS:
        shown = {"row": number, "group_id": arrays["group"][part], "sensitive": arrays["published"][part]}
        return shown | _numbered("o", arrays.get("published_other", ()), part)
    if table == BOXES:
        sides = [_numbered(side, arrays[side], part) for side in ("low", "high", "missing")]
        return {"group_id": number} | {name: codes for side in sides for name, codes in side.items()}
    return {"group_id": arrays["fake_group"][part], "count": arrays["fake_count"][part]}


def _published_rows(persons: Int64, traced: Int64, rows: Int32) -> Int32:
    """The published row of each person, -1 for those who are withheld.

    Requires: both lists of people ascend.
    """
    found = np.full(len(persons), -1, dtype=np.int32)
    if len(persons):
        first, last = traced.searchsorted(persons[0]), traced.searchsorted(persons[-1], "right")
        found[persons.searchsorted(traced[first:last])] = rows[first:last]
    return found


def arrays_from_store(tables: Mapping[str, Columns], schema: Schema) -> dict[str, Any]:
    """The named arrays of an entry, from its columns in each table of the store.

    Requires: people in ascending order, rows and boxes in the order of their numbers.
    """
    return {name: array for table in tables for name, array in table_arrays(table, tables[table], schema).items()}


def table_arrays(table: str, columns: Columns, schema: Schema) -> dict[str, Any]:
    """The named arrays that a table of the store holds, from its columns or from some rows of them."""
    attributes, others = len(schema.quasi_identifiers), len(schema.other)
    if table == PEOPLE:
        persons = columns["person"]
        row = np.ma.filled(np.ma.asarray(columns["row"]), -1).astype(np.int32)
        traced = row >= 0
        return {
            "persons": persons,
            "qi": _stacked(columns, "q", attributes),
            "sensitive": columns["sensitive"],
            "other": _stacked(columns, "o", others),
            "asked": columns["asked"],
            "origin": columns["origin"],
            "traced": persons[traced],
            "rows": row[traced],
        }
    if table == ROWS:
        shown = {"group": columns["group_id"], "published": columns["sensitive"]}
        return shown | {"published_other": _stacked(columns, "o", others)}
    if table == BOXES:
        return {side: _stacked(columns, side, attributes) for side in ("low", "high", "missing")}
    return {"fake_group": columns["group_id"], "fake_count": columns["count"]}


def _numbered(prefix: str, codes: Any, part: slice) -> dict[str, Any]:
    return {f"{prefix}{i}": column[part] for i, column in enumerate(codes)}


def _stacked(columns: Columns, prefix: str, count: int) -> Int32:
    return np.stack([columns[f"{prefix}{i}"] for i in range(count)]) if count else NO_CODES
