"""Private: the ids behind the rows of a published release. The store keeps only pseudonyms, so the source is read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import InvalidParameter, Problem, Refused, counted
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
    if not np.isin(trace.persons, np.concatenate([persons, remembered])).all():
        raise Refused(f"release {release} was published from another snapshot; restore that snapshot")
    earlier = [one.release for one in view.records[: record.position]]
    ids, persons = _with_people_who_left(series, earlier, view.key, remembered, ids, persons)
    order = persons.argsort()
    position = order[persons[order].searchsorted(trace.persons)]
    seen = {} if witness is None else {f"world_{at + 1}": rows for at, rows in enumerate(witness.rows)}
    return pa.table({"id": ids.take(pa.array(position)), "row": pa.array(trace.shown_rows), **seen})


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
