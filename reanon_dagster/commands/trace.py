"""`reanon trace`: which published row shows which person. Private."""

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import InvalidParameter, Problem, Refused, counted
from reanon_dagster.commands.output import say
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place
from reanon_dagster.sources.snapshot_reader import read_ids
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Int64
    from reanon_dagster.series.series import Series


def run(options: argparse.Namespace) -> int:
    """Join the ids of the source with the trace: the store keeps only pseudonyms."""
    import pyarrow as pa
    import pyarrow.parquet

    series = load_series(options.series)
    view = read_view(series)
    record = view.record(options.release)
    if record is None:
        raise InvalidParameter(Problem("release", "be a published one", options.release, "see reanon status"))
    if options.worlds and not series.technique.declaration.has_worlds:
        raise InvalidParameter(Problem("--worlds", f"be left out: {series.technique.name} has no worlds"))
    if not snapshot_exists(series, options.release):
        place = snapshot_place(series, options.release)
        raise Refused(
            f"the snapshot {place} is gone, and the store keeps only keyed pseudonyms; "
            f"restore the snapshot to trace release {options.release}"
        )
    ids, persons = read_ids(series, options.release, view.key)
    with opened(series.private_folder, read_only=True) as connection:
        trace = store_reader.trace(connection, record.position)
        remembered = store_reader.remembered(connection, record.position)
        worlds = store_reader.witness(connection, record.position) if options.worlds else None
    if not np.isin(trace.persons, np.concatenate([persons, remembered])).all():
        raise Refused(f"release {options.release} was published from another snapshot; restore that snapshot")
    earlier = [one.release for one in view.records[: record.position]]
    ids, persons = _with_people_who_left(series, earlier, view.key, remembered, ids, persons)
    order = persons.argsort()
    position = order[persons[order].searchsorted(trace.persons)]
    seen = {} if worlds is None else {f"world_{at + 1}": rows for at, rows in enumerate(worlds.rows)}
    columns = pa.table({"id": ids.take(pa.array(position)), "row": pa.array(trace.rows), **seen})
    with os.fdopen(os.open(options.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        pyarrow.parquet.write_table(columns, file)
    say(f"{series.name} {options.release}: traced {columns.num_rows} rows (private)", quiet=options.quiet)
    return 0


def _with_people_who_left(
    series: "Series", earlier: Sequence[str], key: bytes, remembered: "Int64", ids: "pa.Array", persons: "Int64"
) -> "tuple[pa.Array, Int64]":
    """The ids and pseudonyms, completed by people who left the table, from the latest snapshot that has them.

    Raises: Refused if no snapshot has them.
    """
    import pyarrow as pa

    for release in reversed(earlier):
        left = remembered[~np.isin(remembered, persons)]
        if not len(left):
            break
        if snapshot_exists(series, release):
            old_ids, old_persons = read_ids(series, release, key)
            found = np.flatnonzero(np.isin(old_persons, left))
            old = old_ids.take(pa.array(found))
            if old.type != ids.type:
                ids, old = ids.cast(pa.string()), old.cast(pa.string())
            ids, persons = pa.concat_arrays([ids, old]), np.concatenate([persons, old_persons[found]])
    left = remembered[~np.isin(remembered, persons)]
    if len(left):
        raise Refused(
            f"{counted(len(left), 'row shows a person', 'rows show people')} who had left the table, and no earlier "
            f"snapshot with their ids is there; restore the earlier snapshots"
        )
    return ids, persons
