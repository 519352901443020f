"""A snapshot that has arrived: read and validated, before its release is computed."""

from typing import TYPE_CHECKING

from reanon_dagster.releasing.release import sound
from reanon_dagster.releasing.release_order import frozen_error, repeats_latest
from reanon_dagster.sources.snapshot_reader import Read, read_snapshot
from reanon_dagster.storage.pseudonym_key import pseudonym_key

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def read_open(series: "Series", release: str) -> tuple[Read, int | None]:
    """The snapshot of a release that is not frozen, and how many people the release before had.

    Raises: InvalidSnapshot; OutOfOrder if the release is frozen; Refused if it is out and its snapshot has changed.
    """
    view = sound(series)
    place = series.calendar.index(release)
    if place < len(view.records) - 1:
        raise frozen_error(view.records, release)
    read = read_snapshot(
        series,
        release,
        pseudonym_key(series.private_folder, view.frozen.get("key")),
        view.standing.values,
        view.standing.other_values,
    )
    repeats_latest(view.records, release, read.input_digest)
    earlier = [record for record in view.records if series.calendar.index(record.release) < place]
    return read, earlier[-1].people if earlier else None
