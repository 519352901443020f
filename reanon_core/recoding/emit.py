"""From a plan to public rows, in random order under random group numbers."""

import numpy as np

from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import Int32
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
    number = keyed_permutation(plan.groups, rng)  # the public number of each group
    boxes = bounding_boxes(snapshot, plan)
    origin = _inverse(number)
    shuffled = Boxes(boxes.low[:, origin], boxes.high[:, origin], boxes.missing[:, origin])

    published = np.flatnonzero(plan.group >= 0)
    fakes = plan.counterfeits
    built = np.empty((len(published) + len(fakes.group), 2), dtype=np.int32)  # group and value side by side
    built[:, 0] = number[np.concatenate([plan.group[published], fakes.group])]
    built[:, 1] = np.concatenate([snapshot.sensitive[published], fakes.sensitive])
    built_row = keyed_permutation(len(built), rng)  # the built row behind each public one
    public = built.view(np.int64).ravel()[built_row].view(np.int32).reshape(-1, 2)
    row = _inverse(built_row)

    nobodys = np.concatenate([plan.group[published[snapshot.invented[published]]], fakes.group])
    holding, count = np.unique(number[nobodys], return_counts=True)
    return (
        Release(public[:, 0], public[:, 1], shuffled),
        Auxiliary(holding, count.astype(np.int32)),
        Trace(snapshot.persons[published], row[: len(published)]),
    )


def _inverse(permutation: Int32) -> Int32:
    """Where each number stands in the permutation."""
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation), dtype=np.int32)
    return inverse
