"""The release before its correction: Mondrian inside each signature."""

import numpy as np

from reanon_core.algorithms.bpg.state import BpgState
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.mondrian import Heuristic, Principle, mondrian_classes


def partitioned(
    snapshot: Snapshot,
    entry: Int32,
    state: BpgState,
    extent: Int64,
    order: Int32,
    principle: Principle,
    *,
    heuristic: Heuristic,
    strict: bool,
) -> tuple[Int32, int]:
    """The class of each row and the number of classes; a class never mixes people of two signatures.

    `entry` [n] is each row's place in the state, -1 for whoever was never published; `order` [n] a secret order that
    decides ties of relaxed cuts. People of a signature who fail the principle all together make one class.
    """
    stratum = np.zeros(snapshot.size, dtype=np.int32)
    known = entry >= 0
    of_signature, signatures = _signatures(state)
    stratum[known] = 1 + of_signature[state.neighbourhood[entry[known]]]
    rows = order[np.argsort(stratum[order], kind="stable")]
    ends = np.cumsum(np.bincount(stratum, minlength=signatures + 1))
    class_of = np.empty(snapshot.size, dtype=np.int32)
    classes, begin = 0, 0
    for end in ends.tolist():
        here, begin = rows[begin:end], end
        if not len(here):
            continue
        group, groups = np.zeros(len(here), dtype=np.int32), 1
        if len(here) >= 2 * principle.k:  # fewer cannot be cut
            found, count = mondrian_classes(
                snapshot.qi[:, here],
                snapshot.sensitive[here],
                snapshot.schema,
                extent,
                principle,
                heuristic=heuristic,
                strict=strict,
            )
            if count:
                group, groups = found, count
        class_of[here] = group + classes
        classes += groups
    return class_of, classes


def _signatures(state: BpgState) -> tuple[Int32, int]:
    """The number of each neighbourhood's signature, in the order in which signatures first appear."""
    number: dict[bytes, int] = {}
    ends = state.offsets.tolist()
    numbered = (
        number.setdefault(state.releases[ends[i] : ends[i + 1]].tobytes(), len(number))
        for i in range(state.neighbourhoods)
    )
    return np.fromiter(numbered, dtype=np.int32, count=state.neighbourhoods), len(number)
