"""Sensitive values and quasi-identifiers that must not change, by the options of the series."""

import numpy as np

from reanon_core.bucketing.division import Division
from reanon_core.bucketing.options import QiChange, SensitiveChange
from reanon_core.bucketing.state import BucketState
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.model.snapshot import Snapshot


def refuse_changes(
    snapshot: Snapshot,
    state: BucketState,
    division: Division,
    *,
    on_sensitive_change: SensitiveChange,
    on_qi_change: QiChange,
) -> None:
    """Refuse a snapshot with changes that the options forbid.

    Raises: Unpublishable.
    """
    changed = int(division.changed.sum())
    if changed and on_sensitive_change == "refuse":
        raise Unpublishable(
            f"{counted(changed, 'person has', 'people have')} another value of {snapshot.schema.sensitive.name} "
            f"than before, and on_sensitive_change is refuse; correct the snapshot, or leave them out "
            f"(a series whose values change needs on_sensitive_change: episode from its first release on)",
            persons=snapshot.persons[division.changed],
        )
    if on_qi_change == "refuse" and state.time:
        known = np.flatnonzero(division.entry >= 0)
        moved = known[(snapshot.qi[:, known] != state.qi[:, division.entry[known]]).any(axis=0)]
        if len(moved):
            raise Unpublishable(
                f"{counted(len(moved), 'person has', 'people have')} other quasi-identifier values than when "
                f"first published, and on_qi_change is refuse; correct the snapshot, or leave them out "
                f"(a series whose people age and move needs on_qi_change: allow from its first release on)",
                persons=snapshot.persons[moved],
            )
