"""The settings that the first release freezes."""

import json
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_dagster.storage import series_store

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

SAFE = (
    "title, description, licence, contact, owners, publish.formats, expectations, additional checks, additional "
    "releases.names at the end, releases.select and releases.columns of future releases"
)


def continued(series: "Series") -> "Series":
    """The series under the rules that it began with: a default that has changed since its first release does not apply.

    Raises: Refused if the store cannot be read.
    """
    frozen = series_store.read_frozen(series.private_folder).get("fingerprint")
    return series if frozen is None else series.continued(json.loads(frozen))


def require_unchanged(series: "Series", frozen: str | None) -> None:
    """Refuse a series file whose frozen settings differ from those of its first release.

    Raises: Refused.
    """
    if frozen is None:
        return
    changeable = {f"technique.{name}" for name in series.technique.changeable}
    changes = {key: values for key, values in series.changes(json.loads(frozen)).items() if key not in changeable}
    if changes:
        listed = "; ".join(f"{key} was {_shown(before)} and is {_shown(now)}" for key, (before, now) in changes.items())
        raise Refused(
            f"the first release of {series.name} froze its settings: {listed}. Restore them, or start a new series "
            f"with another name under `series:`, which does not protect people against both series combined. "
            f"Safe to change: {', '.join([SAFE, *sorted(changeable)])}"
        )


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
