"""`reanon trace`: private; which published row shows which person."""

import argparse
import os

import numpy as np

from reanon_core.model.errors import InvalidParameter, Problem, Refused, counted
from reanon_dagster.commands.speaking import say
from reanon_dagster.releasing.publish import look
from reanon_dagster.series.declared import Series
from reanon_dagster.series.loading import load_series
from reanon_dagster.sources.locating import shown_path, snapshot_exists, source_path
from reanon_dagster.sources.reading import read_ids
from reanon_dagster.storage import reading
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.secrets import pseudonym_key


def run(options: argparse.Namespace) -> int:
    """Read the source again, since the store keeps pseudonyms only, and join it with the trace."""
    import pyarrow as pa
    import pyarrow.parquet

    series = load_series(options.series)
    view = look(series)
    record = next((one for one in view.records if one.release == options.release), None)
    if record is None:
        raise InvalidParameter(Problem("release", "be a published one", options.release, "see reanon status"))
    if not snapshot_exists(series, options.release):
        snapshot = shown_path(series, source_path(series, options.release))
        raise Refused(
            f"the snapshot {snapshot} is gone, and the store keeps keyed pseudonyms only; "
            f"bring it back to trace release {options.release}"
        )
    ids, persons = read_ids(series, options.release, pseudonym_key(series.private_folder, view.frozen.get("key")))
    with opened(series.private_folder, read_only=True) as connection:
        trace = reading.trace(connection, record.position)
        worlds = reading.witness(connection, record.position) if options.worlds else None
    if options.worlds and worlds is None:
        raise InvalidParameter(Problem("--worlds", f"be left out: {series.publisher.name} has no worlds"))
    here = np.isin(trace.persons, persons)
    if not here.all() and not _keeps_people(series):
        raise Refused(f"the snapshot of {options.release} is not the one it was published from; bring that one back")
    order = persons.argsort()
    place = order[persons[order].searchsorted(trace.persons[here])]
    seen = {} if worlds is None else {f"world_{at + 1}": rows[here] for at, rows in enumerate(worlds.rows)}
    columns = pa.table({"id": ids.take(pa.array(place)), "row": pa.array(trace.rows[here]), **seen})
    with os.fdopen(os.open(options.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        pyarrow.parquet.write_table(columns, file)
    gone = int((~here).sum())
    left = f"; {counted(gone, 'row shows', 'rows show')} people who have left the source, without an id" if gone else ""
    say(f"{series.name} {options.release}: traced {columns.num_rows} rows (private){left}", quiet=options.quiet)
    return 0


def _keeps_people(series: Series) -> bool:
    """Whether releases may show people whom the snapshot has lost: the technique defers that they leave."""
    return bool(series.parameters.get("on_delete") == "defer")
