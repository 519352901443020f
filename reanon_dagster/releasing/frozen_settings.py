"""The settings that the first release freezes."""

import json
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_dagster.series.series import TECHNIQUE

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

SAFE = (
    "title, description, licence, contact, owners, publish.formats, expectations, additional checks, additional "
    "releases.names at the end, releases.select and releases.columns of future releases"
)


def require_unchanged(series: "Series", frozen: str | None) -> None:
    """Refuse a series file whose frozen settings differ from those of its first release.

    Raises: Refused.
    """
    if frozen is None:
        return
    technique = series.technique
    changeable = {f"{TECHNIQUE}{name}" for name in technique.changeable}
    followers = {f"{TECHNIQUE}{name}": pairs for name, pairs in technique.declaration.followers.items()}
    changes = {
        key: values
        for key, values in series.changes(json.loads(frozen)).items()
        if key not in changeable and values not in followers.get(key, ())
    }
    if changes:
        listed = "; ".join(f"{key} was {_shown(before)} and is {_shown(now)}" for key, (before, now) in changes.items())
        allowed = [f"{key} from {old} to {new}" for key, pairs in followers.items() for old, new in sorted(pairs)]
        raise Refused(
            f"the first release of {series.name} froze its settings: {listed}. Restore them, or start a new series "
            f"with another name under `series:`, which does not protect people against both series combined. "
            f"Safe to change: {', '.join([SAFE, *sorted(changeable), *allowed])}"
        )


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
