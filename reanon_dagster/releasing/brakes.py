"""The brakes of a series with a store: `reanon_core.brakes` with its settings and its latest release."""

from typing import TYPE_CHECKING

from reanon_core import brakes
from reanon_core.brakes import Brake, BrakesTripped
from reanon_core.model.erasure import marked
from reanon_core.tables.id_forms import Doubts, NewIds, examined_ids
from reanon_dagster.releasing.query_error import Utility
from reanon_dagster.storage.records import AcceptedDrift

if TYPE_CHECKING:
    from reanon_core.model.ledger import Entry
    from reanon_dagster.releasing.series_view import SeriesView
    from reanon_dagster.series.series import Series
    from reanon_dagster.sources.snapshot_reader import Read


def new_people(view: "SeriesView", read: "Read") -> tuple[NewIds, Doubts] | None:
    """The new people of a snapshot, and doubts about their ids; None if no source wrote these.

    Raises: OutOfOrder if another release was published meanwhile.
    """
    if read.ids is None:
        return None
    forgotten = marked(view.summary.marks, read.ids.persons)
    with view.known_people() as known:
        return examined_ids(read.ids, forgotten, known, view.key)


def require_released_brakes(
    series: "Series", view: "SeriesView", release: str, read: "Read", doubts: Doubts | None, accepted: str | None
) -> tuple[AcceptedDrift, ...]:
    """Refuse a snapshot that trips a brake unless a person accepts it; return what was accepted.

    Raises: BrakesTripped with every brake at once.
    """
    return _accepted(release, tripped_brakes(series, view, release, read, doubts), accepted)


def require_accepted_loss(
    series: "Series", view: "SeriesView", release: str, entry: "Entry", measured: Utility, accepted: str | None
) -> tuple[tuple[AcceptedDrift, ...], tuple[str, ...]]:
    """Refuse a release that loses much unless a person accepts it; return what was accepted, and notes.

    Raises: BrakesTripped with every brake at once.
    """
    config, latest = series.config, view.latest
    found, notes = brakes.losses(
        entry,
        measured.counts,
        brakes.Limits(config.max_lost, config.max_withheld, config.max_growth),
        begins=latest is None,
        error=measured.error,
        error_before=None if latest is None else latest.query_error,
    )
    return _accepted(release, found, accepted), notes


def _accepted(release: str, found: tuple[Brake, ...], accepted: str | None) -> tuple[AcceptedDrift, ...]:
    if found and accepted is None:
        raise BrakesTripped(release, found, "--accept-drift REASON (accept_drift in Dagster)")
    return tuple(AcceptedDrift(brake.redacted, str(accepted)) for brake in found)


def tripped_brakes(
    series: "Series", view: "SeriesView", release: str, read: "Read", doubts: Doubts | None
) -> tuple[Brake, ...]:
    """Every brake that the snapshot of the next release trips."""
    before, column, known = view.people_before(release), read.snapshot.schema.sensitive, len(view.past.sensitive_values)
    config, id_column = series.config, series.config.source.id
    found = (
        brakes.empty_start(read.rows, first=not view.position),
        brakes.drifted_size(read.rows, before, config.max_drift, own="max_drift" in config.model_fields_set),
        *_returning(series, view, read),
        brakes.respelled_values(column, known),
        brakes.values_for_nothing(column, known),
        None if doubts is None else brakes.respelled_ids(id_column, doubts.alike),
        None if doubts is None else brakes.ids_for_nothing(id_column, doubts.empty),
    )
    return tuple(brake for brake in found if brake is not None)


def allowed_change(series: "Series", before: int) -> int | None:
    """By how many people a snapshot may differ from the previous release; None for any number."""
    config = series.config
    return brakes.allowed_change(before, config.max_drift, own="max_drift" in config.model_fields_set)


def _returning(series: "Series", view: "SeriesView", read: "Read") -> tuple[Brake | None, ...]:
    config, latest = series.config, view.latest
    if not config.min_returning or latest is None or latest.people == 0:
        return ()
    column = read.snapshot.schema.sensitive
    found = view.returning(read.persons, len(column.values))
    here, before, least = int(found.here.sum()), int(found.before.sum()), config.min_returning
    own = "min_returning" in config.model_fields_set
    advice = " If every release is about other people, set min_returning: 0"
    return (
        brakes.few_returning(here, before, latest.release, least, own=own, advice=advice),
        brakes.filtered_values(column, found, view.value_returning, latest.release),
    )
