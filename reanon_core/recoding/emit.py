"""From a plan to public rows, in random order under random group numbers."""

import numpy as np

from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.plan import Plan
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace
from reanon_core.recoding.boxes import bounding_boxes


def emit(snapshot: Snapshot, plan: Plan, rng: np.random.Generator) -> tuple[Release, Auxiliary, Trace]:
    """The release, its counterfeit counts and the private trace.

    Paper: [XT07] Definitions 2 and 3. The order in which groups and rows were built tells counterfeits and
    buckets apart, so both are shuffled.
    """
    number = keyed_permutation(plan.groups, rng).astype(np.int32)  # the public number of each group
    boxes = bounding_boxes(snapshot, plan)
    built = np.argsort(number)
    shuffled = Boxes(boxes.low[:, built], boxes.high[:, built], boxes.missing[:, built])

    published = np.flatnonzero(plan.group >= 0)
    fakes = plan.counterfeits
    group = np.concatenate([number[plan.group[published]], number[fakes.group]])
    sensitive = np.concatenate([snapshot.sensitive[published], fakes.sensitive])
    row = keyed_permutation(len(group), rng).astype(np.int32)  # the public row of each built one
    public_group, public_sensitive = np.empty_like(group), np.empty_like(sensitive)
    public_group[row], public_sensitive[row] = group, sensitive

    holding, count = np.unique(number[fakes.group], return_counts=True)
    return (
        Release(public_group, public_sensitive, shuffled),
        Auxiliary(holding, count.astype(np.int32)),
        Trace(snapshot.persons[published], row[: len(published)]),
    )
