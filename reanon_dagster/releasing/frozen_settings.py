"""What the first release freezes, and the sentence that refuses a change of it."""

import json
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

SAFE = (
    "title, description, owners, publish.formats, more checks, more releases.names at the end, "
    "releases.select and releases.columns of releases to come"
)


def require_unchanged(series: "Series", frozen: str | None) -> None:
    """Refuse a series file whose frozen settings are not those of its first release.

    Raises: Refused.
    """
    if frozen is None:
        return
    changeable = {f"technique.{name}" for name in series.technique.changeable}
    changes = {key: values for key, values in series.changes(json.loads(frozen)).items() if key not in changeable}
    if changes:
        said = "; ".join(f"{key} was {_shown(before)} and is {_shown(now)}" for key, (before, now) in changes.items())
        raise Refused(
            f"the first release of {series.name} froze its settings: {said}. What was promised to people cannot be "
            f"changed for them. Safe to change: {', '.join([SAFE, *sorted(changeable)])}. "
            f"A new series (another name under `series:`) may have other settings, but it does not know what this one "
            f"has published: use it for other people, or accept that the two can be combined"
        )


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
