"""The door: publish one release, or all that can run."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from reanon_core.model.errors import OutOfOrder, ReanonError, Refused
from reanon_core.model.verdict import Verdict
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.drift import require_small_drift
from reanon_dagster.releasing.frozen_settings import require_unchanged
from reanon_dagster.releasing.gate import accept, recover
from reanon_dagster.releasing.judgement import Progress, prepare, silent
from reanon_dagster.releasing.release_order import expected, ready, repeats_latest, require_next
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import read_snapshot
from reanon_dagster.storage import store_reader, store_writer
from reanon_dagster.storage.connection import STORE, opened
from reanon_dagster.storage.pseudonym_key import check_value, keep_key, pseudonym_key
from reanon_dagster.storage.records import Recorded, Refusal, Standing

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True, eq=False)
class View:
    """What the store says of a series before a release."""

    records: list[Recorded]
    refusals: dict[str, Refusal]
    frozen: dict[str, str]
    standing: Standing


EMPTY = View([], {}, {}, Standing(None, (), None, {}))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What happened to a release."""

    release: str
    candidate: Candidate | None
    """None if there was nothing to do."""


def look(series: "Series") -> View:
    """Finish what a killed process left, then read where the series stands."""
    store = series.private_folder / STORE
    if not store.exists() or store.stat().st_size == 0:  # an empty file: killed before its first bytes
        return EMPTY
    recover(series)
    with opened(series.private_folder, read_only=True) as connection:
        if not store_reader.exists(connection):
            return EMPTY
        return View(
            store_reader.releases(connection),
            store_reader.refusals(connection),
            store_reader.frozen(connection),
            store_reader.standing(connection),
        )


def sound(series: "Series") -> View:
    """Where the series stands, if it may go on at all.

    Raises: Refused if a frozen setting was changed, or if there are releases that the private store knows nothing of.
    """
    out = any(series.published_folder.glob("*/manifest.json"))  # before we look: others may publish meanwhile
    view = look(series)
    require_unchanged(series, view.frozen.get("fingerprint"))
    if out and not view.records:
        raise Refused(
            f"{series.name} has published releases that its private store knows nothing of; to publish again without "
            f"that memory would give people away: bring the private folder back from a backup"
        )
    return view


def candidate_for(
    series: "Series", release: str, today: date, *, seed: int | None = None, progress: Progress = silent
) -> Candidate | None:
    """The judged candidate of the next release; None if it is the latest one again with the same input.

    Raises: every error of ours; a refusal is remembered for `reanon status`.
    """
    view = sound(series)
    latest = bool(view.records) and view.records[-1].release == release
    if not latest:
        require_next(series, view.records, release, today)
    progress("reading the snapshot")
    key = pseudonym_key(series.private_folder, view.frozen.get("key"))
    read = read_snapshot(series, release, key, view.standing.values, view.standing.other_values)
    keep_key(series.private_folder, key)  # bad input has left nothing on the disk
    if repeats_latest(view.records, release, read.input_digest):
        return None
    try:
        require_small_drift(series, read.rows, view.records[-1].people if view.records else None)
        return prepare(series, release, read, view.standing, key_check=check_value(key), seed=seed, progress=progress)
    except ReanonError as error:
        remember_refusal(series, release, error)
        raise


def publish_release(
    series: "Series", release: str, today: date, *, seed: int | None = None, progress: Progress = silent
) -> Outcome:
    """Publish this release, which must be the next one; nothing to do if it is the latest one again.

    Raises: every error of ours.
    """
    candidate = candidate_for(series, release, today, seed=seed, progress=progress)
    if candidate is not None:
        progress("publishing")
        accept_or_remember(series, candidate)
    return Outcome(release, candidate)


def accept_or_remember(series: "Series", candidate: Candidate) -> None:
    """Let the candidate through the gate; a refusal is remembered for `reanon status`.

    Raises: Refused, OutOfOrder.
    """
    try:
        accept(series, candidate)
    except ReanonError as error:
        remember_refusal(series, candidate.release, error)
        raise


def publish_ready(
    series: "Series", today: date, *, to: str | None = None, seed: int | None = None, progress: Progress = silent
) -> Iterator[Outcome]:
    """Publish every release that can run, in order, up to `to`.

    Raises: every error of ours; OutOfOrder if a snapshot is missing before one that is there.
    """
    if to is not None:
        series.calendar.index(to)
    while True:
        records = sound(series).records
        release = ready(series, records, today)
        if to is not None and len(records) > series.calendar.index(to):
            return
        if release is None:
            _require_no_gap(series, records, today)
            return
        yield publish_release(
            series, release, today, seed=None if seed is None else seed + len(records), progress=progress
        )


def latest_verdicts(series: "Series") -> list[Verdict]:
    """The verdicts with which the latest release passed the gate."""
    with opened(series.private_folder, read_only=True) as connection:
        return store_reader.verdicts(connection, store_reader.releases(connection)[-1].position)


def remember_refusal(series: "Series", release: str, error: ReanonError) -> None:
    """Keep the sentence for `reanon status`, without any value of the data."""
    with opened(series.private_folder, read_only=False) as connection:
        store_writer.refuse(connection, release, error.redacted(), series.schema)


def _require_no_gap(series: "Series", records: list[Recorded], today: date) -> None:
    missing = expected(series, records)
    later = [release for release in series.calendar.due(today)[len(records) + 1 :] if snapshot_exists(series, release)]
    if missing is not None and later and not snapshot_exists(series, missing):
        raise OutOfOrder(
            f"release {later[0]} has a snapshot, but {missing} comes first and has none; "
            f"add it, or an empty one (the header alone) if nobody was there"
        )
