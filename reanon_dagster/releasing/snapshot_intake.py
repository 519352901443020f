"""The snapshot of a release, read with what the series knows, and what it must meet before anything is computed.

It may not differ where a later release builds on it, and it must meet the steward's own expectations.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.erasure import marked
from reanon_core.model.errors import InvalidSchema, InvalidSnapshot, Problem, Refused, counted
from reanon_dagster.expectations.evaluation import expectation_problems, failed_expectations, raw_frame
from reanon_dagster.releasing.memory_need import require_memory
from reanon_dagster.releasing.release_order import require_same_input
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.series.expectations import CRITICAL
from reanon_dagster.sources.snapshot_columns import kept_in_columns, read_snapshot_columns
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import Read, file_digest, read_snapshot, snapshot_digest
from reanon_dagster.storage.records import ReleaseRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_dagster.series.series import Series


def read_release(series: "Series", view: SeriesView, release: str) -> Read:
    """The snapshot of a release, coded with the values of all releases before, without people who are forgotten.

    Raises: InvalidSnapshot with every problem at once; Refused if the release does not fit into memory.
    """
    require_memory(series, series.source.rows(series.folder, release))
    read = read_snapshot(series, release, view.key, view.past.sensitive_values, view.past.other_values)
    require_memory(series, read.rows)
    return read.without(marked(view.summary.marks, read.snapshot.persons))


def read_release_columns(
    series: "Series", view: SeriesView, release: str, folder: ColumnFolder, chunk_rows: int
) -> Read:
    """The same with about so many rows in memory at a time: the arrays of the snapshot are mapped from the folder.

    Raises: InvalidSnapshot.
    """
    known = view.past
    read = read_snapshot_columns(
        series, release, view.key, known.sensitive_values, known.other_values, folder=folder, chunk_rows=chunk_rows
    )
    forgotten = marked(view.summary.marks, read.snapshot.persons)
    if not forgotten.any():
        return read
    return read.without(forgotten, kept_in_columns(read.snapshot, forgotten, folder))


def require_published_input(series: "Series", view: SeriesView, record: ReleaseRecord) -> None:
    """Refuse to publish a release again from another input. Only digests are compared.

    A release whose snapshot is gone stays what it is.

    Raises: InvalidSnapshot if the snapshot cannot be read; Refused.
    """
    if not view.may_be_cleaned(record.release) and snapshot_exists(series, record.release):
        require_same_input(record, snapshot_digest(series, record.release, view.key))


def corrected_releases(series: "Series", view: SeriesView) -> list[str]:
    """The published releases whose snapshot files have other bytes by now; only files that were touched are read."""
    found = []
    for record in view.records:
        touched = series.source.touched(series.folder, record.release)
        if touched is None or record.committed is None or touched <= record.committed or record.withdrawn is not None:
            continue
        with suppress(InvalidSnapshot):
            same = file_digest(series, record.release) in {None, record.input_digest}
            found += [] if same or view.may_be_cleaned(record.release) else [record.release]
    return found


class ExpectationsFailed(Refused):
    """A snapshot fails an expectation of the steward."""


def expectation_errors(series: "Series | None") -> list[Problem]:
    """What Great Expectations finds wrong with the types and arguments; it is loaded only if there are expectations."""
    try:
        return expectation_problems(series.expectations) if series else []
    except InvalidSchema:  # a suite file that cannot be read: loading the series reports it
        return []


def require_expectations(series: "Series", release: str, raw: "pa.Table | None") -> tuple[str, ...]:
    """Refuse a snapshot that fails a critical expectation, and return a sentence for each other one that it fails.

    Raises: ExpectationsFailed; InvalidSchema if an expectation is wrong by itself or names a column that is not there.
    """
    if raw is None or not series.expectations:
        return ()
    failed = list(failed_expectations(raw_frame(raw, series), series.expectations))
    critical = [sentence for one, sentence in failed if one.severity == CRITICAL]
    if critical:
        count = counted(len(critical), "expectation", "expectations")
        raise ExpectationsFailed(
            f"the snapshot of {release} fails {count}: {'; '.join(critical)}. "
            f"Correct the snapshot, or change `expectations` in the series file"
        )
    return tuple(
        f"the snapshot of {release} fails an expectation that only warns: {sentence}" for _, sentence in failed
    )
