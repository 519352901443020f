"""The release before its correction: classes, of Mondrian inside each signature or of a given partitioner."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.mondrian import Heuristic, Principle, mondrian_classes
from reanon_core.techniques.bpg.record_pool import Drawn
from reanon_core.techniques.bpg.state import BpgState

Partitioner = Callable[[Snapshot, np.random.Generator], npt.ArrayLike]
"""A single-release anonymizer: for each row of a snapshot the number of its class, or a negative one to leave it out.

The snapshot holds whoever is asked for, coded (`qi` [d, n], `sensitive` [n], `schema`). What comes back need not be
safe: it is corrected. The generator is for ties; a partitioner with randomness of its own cannot be replayed.
"""
LEFT_OUT = -1
"""The class of a row that has none."""


def classes_of(partitioner: Partitioner, name: str, snapshot: Snapshot, rng: np.random.Generator) -> tuple[Int32, int]:
    """The class of each row, numbered without gaps, and the number of classes.

    Raises: InvalidParameter if the partitioner fails, or gives anything but a whole number for each row. The text of
    its own error is not repeated: it may hold a datum.
    """
    try:
        given = np.asarray(partitioner(snapshot, rng))
    except Exception as error:
        rule = "divide the table into classes without an error"
        raise InvalidParameter(Problem(f"over: {name}", rule, type(error).__name__)) from error
    if given.shape != (snapshot.size,) or given.dtype.kind not in "iu":
        what = f"{given.dtype} of shape {given.shape}"
        rule = f"give one whole number for each of the {snapshot.size:,} rows, the number of its class"
        raise InvalidParameter(Problem(f"over: {name}", rule, what))
    inside = given >= 0
    used, number = np.unique(given[inside], return_inverse=True)
    class_of = np.full(snapshot.size, LEFT_OUT, dtype=np.int32)
    class_of[inside] = number
    return class_of, len(used)


def partitioned(
    table: Drawn,
    state: BpgState,
    extent: Int64,
    order: Int32,
    principle: Principle,
    *,
    heuristic: Heuristic,
    strict: bool,
) -> tuple[Int32, int]:
    """The class of each row and the number of classes; a class never mixes people of two signatures.

    `order` [n] is a secret order that decides ties of relaxed cuts. People of a signature who fail the principle all
    together make one class.

    Requires: everybody in the table is asked for.
    """
    snapshot, entry = table.snapshot, table.entry
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
