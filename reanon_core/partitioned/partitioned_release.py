"""A release that was computed in parts."""

from dataclasses import dataclass

from reanon_core.model.arrays import Int64
from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.trace import Trace
from reanon_core.recoding.attribute_scales import Extremes


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionedRelease:
    """A release whose arrays are mapped from columns on disk, and what every state needs."""

    release: Release
    auxiliary: Auxiliary
    trace: Trace
    withheld: dict[str, int]
    extent: Int64  # [2, d]
    extremes: Extremes
