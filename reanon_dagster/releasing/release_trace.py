"""Private: the ids behind the rows of a published release. The store keeps only pseudonyms, so the source is read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import InvalidParameter, Problem, Refused, counted
from reanon_core.model.trace import Trace
from reanon_dagster.releasing.people_lists import found_ids
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place
from reanon_dagster.sources.snapshot_reader import read_ids
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Int64
    from reanon_dagster.series.series import Series


def release_trace(series: "Series", release: str, *, worlds: bool = False) -> "pa.Table":
    """The `id` of each person as in the source and their `row`; with `worlds`, also their row in every world.

    People who are forgotten are left out.

    Raises: InvalidParameter if the release is not published; Refused if its snapshot is gone, or is another one.
    """
    import pyarrow as pa

    view = read_view(series)
    record = view.record(release)
    if record is None:
        raise InvalidParameter(Problem("release", "be a published one", release, "see reanon status"))
    if worlds and not series.technique.declaration.has_worlds:
        raise InvalidParameter(Problem("--worlds", f"be left out: {series.technique.name} has no worlds"))
    if not snapshot_exists(series, release):
        place = snapshot_place(series, release)
        raise Refused(
            f"the snapshot {place} is gone, and the store keeps only keyed pseudonyms; "
            f"restore the snapshot to trace release {release}"
        )
    ids, persons = read_ids(series, release, view.key)
    with opened(series.private_folder, read_only=True) as connection:
        trace = store_reader.trace(connection, record.position)
        remembered = store_reader.remembered(connection, record.position)
        witness = store_reader.witness(connection, record.position) if worlds else None
    named = ~np.isin(trace.persons, [mark.number for mark in view.summary.marks])  # the rest are forgotten
    remembered = remembered[~np.isin(remembered, trace.persons[~named])]
    trace = Trace(trace.persons[named], trace.shown_rows[named])
    if not np.isin(trace.persons, np.concatenate([persons, remembered])).all():
        raise Refused(f"release {release} was published from another snapshot; restore that snapshot")
    earlier = [one.release for one in view.records[: record.position]]
    ids, persons = _with_people_who_left(series, earlier, view.key, remembered, ids, persons)
    order = persons.argsort()
    position = order[persons[order].searchsorted(trace.persons)]
    seen = {} if witness is None else {f"world_{at + 1}": rows[named] for at, rows in enumerate(witness.rows)}
    return pa.table({"id": ids.take(pa.array(position)), "row": pa.array(trace.rows), **seen})


def forgotten_rows(series: "Series", release: str) -> int:
    """How many rows of a published release show people who are forgotten, so that no trace names them."""
    view = read_view(series)
    record = view.record(release)
    if record is None or not view.summary.marks:
        return 0
    with opened(series.private_folder, read_only=True) as connection:
        trace = store_reader.trace(connection, record.position)
    return int(np.count_nonzero(np.isin(trace.persons, [mark.number for mark in view.summary.marks])))


def _with_people_who_left(
    series: "Series", earlier: Sequence[str], key: bytes, remembered: "Int64", ids: "pa.Array", persons: "Int64"
) -> "tuple[pa.Array, Int64]":
    """The ids and pseudonyms, completed by people who left the table, from the latest snapshot that has them.

    Raises: Refused if no snapshot has them.
    """
    import pyarrow as pa

    left = remembered[~np.isin(remembered, persons)]
    old, theirs = found_ids(series, list(reversed(earlier)), key, left)
    if len(theirs) < len(left):
        lost = len(left) - len(theirs)
        raise Refused(
            f"{counted(lost, 'row shows a person', 'rows show people')} who had left the table, and no earlier "
            f"snapshot with their ids is there; restore the earlier snapshots"
        )
    if old is None:
        return ids, persons
    if old.type != ids.type:
        ids, old = ids.cast(pa.string()), old.cast(pa.string())
    return pa.concat_arrays([ids, old]), np.concatenate([persons, theirs])
