"""An entry as named arrays and as columns of the store, and back: the one place that lists its parts.

Names on disk are those of 0.1.0: `asked` marks the people a release selects, `fake_group` and `fake_count` are the
counterfeits.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from reanon_core.model.arrays import Int32
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import Packable
from reanon_core.model.release import Auxiliary, Boxes, PersonRows, Release
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace, Witness

Columns = Mapping[str, Any]
"""The columns of a table as arrays, by name."""

PEOPLE, ROWS, BOXES, COUNTERFEITS = "private.people", "public.rows", "public.boxes", "public.counterfeits"
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
        "asked": snapshot.selection,
        "origin": np.zeros(snapshot.size, np.int8) if snapshot.origin is None else snapshot.origin,
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
    row = np.full(len(arrays["persons"]), -1, dtype=np.int32)
    row[arrays["persons"].searchsorted(arrays["traced"])] = arrays["rows"]
    people = {name: arrays[name] for name in ("sensitive", "asked", "origin")} | {"person": arrays["persons"]}
    rows = {"group_id": arrays["group"], "sensitive": arrays["published"]}
    return {
        PEOPLE: people | {"row": row} | _numbered("q", arrays["qi"]) | _numbered("o", arrays.get("other", ())),
        ROWS: rows | {"row": _count(arrays["group"])} | _numbered("o", arrays.get("published_other", ())),
        BOXES: {"group_id": _count(arrays["low"][0])}
        | {name: codes for side in ("low", "high", "missing") for name, codes in _numbered(side, arrays[side]).items()},
        COUNTERFEITS: {"group_id": arrays["fake_group"], "count": arrays["fake_count"]},
    }


def arrays_from_store(tables: Mapping[str, Columns], schema: Schema) -> dict[str, Any]:
    """The named arrays of an entry, from its columns in each table of the store.

    Requires: people in ascending order, rows and boxes in the order of their numbers.
    """
    people, rows, boxes, counterfeits = (tables[name] for name in (PEOPLE, ROWS, BOXES, COUNTERFEITS))
    attributes, others = len(schema.quasi_identifiers), len(schema.other)
    persons = people["person"]
    row = np.ma.filled(np.ma.asarray(people["row"]), -1).astype(np.int32)
    traced = row >= 0
    return {
        "persons": persons,
        "qi": _stacked(people, "q", attributes),
        "sensitive": people["sensitive"],
        "other": _stacked(people, "o", others),
        # The first stores of 0.1.0 have neither column: every release selected every person of its table.
        "asked": people.get("asked", np.ones(len(persons), np.bool_)),
        "origin": people.get("origin", np.zeros(len(persons), np.int8)),
        "group": rows["group_id"],
        "published": rows["sensitive"],
        "published_other": _stacked(rows, "o", others),
        **{side: _stacked(boxes, side, attributes) for side in ("low", "high", "missing")},
        "fake_group": counterfeits["group_id"],
        "fake_count": counterfeits["count"],
        "traced": persons[traced],
        "rows": row[traced],
    }


def _numbered(prefix: str, codes: Any) -> dict[str, Any]:
    return {f"{prefix}{i}": column for i, column in enumerate(codes)}


def _stacked(columns: Columns, prefix: str, count: int) -> Int32:
    return np.stack([columns[f"{prefix}{i}"] for i in range(count)]) if count else NO_CODES


def _count(codes: Any) -> Int32:
    return np.arange(len(codes), dtype=np.int32)
