"""Counts over the groups of a release, a chunk of groups at a time."""

from collections.abc import Callable

import numpy as np

from reanon_core.model.arrays import Bool, Int32
from reanon_dagster.judges.workspace import Workspace


def smallest(numbers: Int32, space: Workspace) -> int:
    """The least of some numbers; 0 if there are none."""
    return min((int(numbers[part].min()) for part in space.chunks(len(numbers))), default=0)


def size_summary(sizes: Int32, space: Workspace) -> dict[str, float]:
    """What every verdict shows about the groups."""
    return {"groups": len(sizes), "smallest group": smallest(sizes, space)}


def count_where(rule: Callable[[slice], Bool], groups: int, space: Workspace) -> int:
    """How many groups a rule applies to."""
    return sum(int(np.count_nonzero(rule(part))) for part in space.chunks(groups))
