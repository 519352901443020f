"""The change in the number of people: a table that doubles or halves is often the wrong table."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

LARGE = 0.5
"""The relative change above which a warning is due."""


@dataclass(frozen=True)
class Drift:
    """The change in the number of people since the previous release."""

    share: float
    small: bool
    sentence: str


def drift_of(series: "Series", people: int, before: int | None) -> Drift:
    """The drift of a snapshot; `before` is the number of people in the previous release, None for the first."""
    if not before:
        return Drift(0.0, small=True, sentence="there is no earlier release to compare with")
    share, limit = (people - before) / before, series.config.max_drift or LARGE
    return Drift(share, small=abs(share) <= limit, sentence=f"{before:,} people before, {people:,} now ({share:+.1%})")


def require_small_drift(series: "Series", people: int, before: int | None) -> None:
    """Refuse a snapshot that drifts further than the series allows.

    Raises: Refused.
    """
    drift = drift_of(series, people, before)
    if series.config.max_drift is not None and not drift.small:
        raise Refused(
            f"the number of people changed too much: {drift.sentence}, and max_drift is {series.config.max_drift}; "
            f"correct the snapshot, or raise max_drift if the change is real"
        )
