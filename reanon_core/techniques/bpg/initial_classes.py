"""The release before its correction: classes of Mondrian inside each signature, or of a given partitioner."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.mondrian import CutOptions, Principle, Table, mondrian_classes
from reanon_core.techniques.bpg.record_pool import RecordPool
from reanon_core.techniques.bpg.state import BpgState

Partitioner = Callable[[Snapshot, np.random.Generator], npt.ArrayLike]
"""A single-release anonymizer: for each row of a snapshot the number of its class, or a negative one to leave it out.

The snapshot holds the selected people, coded (`qi` [d, n], `sensitive` [n], `schema`). The result need not be safe,
because BPG corrects it. The generator is for ties; a partitioner with randomness of its own cannot be replayed.
"""
NO_CLASS = -1
"""The class of a row that has none."""


class MondrianOptions(NamedTuple):
    """How Mondrian cuts."""

    extent: Int64  # [2, d] least and greatest code of each attribute
    principle: Principle
    cuts: CutOptions


def classes_by_function(
    partitioner: Partitioner, name: str, snapshot: Snapshot, rng: np.random.Generator
) -> tuple[Int32, int]:
    """The class of each row, numbered without gaps, and the number of classes.

    Paper: [BPG] any anonymizer (prose).

    Raises: InvalidParameter if the partitioner fails, or returns anything but a whole number for each row. The text of
    its own error is not repeated, because it may contain personal data.
    """
    try:
        given = np.asarray(partitioner(snapshot, rng))
    except Exception as error:
        rule = "divide the table into classes without an error"
        raise InvalidParameter(Problem(f"over: {name}", rule, type(error).__name__)) from error
    if given.shape != (snapshot.size,) or given.dtype.kind not in "iu":
        what = f"{given.dtype} of shape {given.shape}"
        rule = f"return one whole number for each of the {snapshot.size:,} rows, the number of its class"
        raise InvalidParameter(Problem(f"over: {name}", rule, what))
    inside = given >= 0
    used, number = np.unique(given[inside], return_inverse=True)
    class_of = np.full(snapshot.size, NO_CLASS, dtype=np.int32)
    class_of[inside] = number
    return class_of, len(used)


def mondrian_by_signature(
    table: RecordPool, state: BpgState, order: Int32, options: MondrianOptions
) -> tuple[Int32, int]:
    """The class of each row and the number of classes; a class never mixes people of two signatures.

    `order` [n] is a secret order that decides ties of relaxed cuts. If all people of a signature together fail the
    principle, they make one class.

    Paper: [BPG] signature never generalized (prose).

    Requires: everyone in the table is selected.
    """
    snapshot, state_row = table.snapshot, table.state_row
    stratum = np.zeros(snapshot.size, dtype=np.int32)
    known = state_row >= 0
    signature_of_atom, signatures = _signature_numbers(state)
    stratum[known] = 1 + signature_of_atom[state.atom[state_row[known]]]
    rows = order[np.argsort(stratum[order], kind="stable")]
    ends = np.cumsum(np.bincount(stratum, minlength=signatures + 1))
    class_of = np.empty(snapshot.size, dtype=np.int32)
    classes, begin = 0, 0
    for end in ends.tolist():
        here, begin = rows[begin:end], end
        if not len(here):
            continue
        group, groups = np.zeros(len(here), dtype=np.int32), 1
        if len(here) >= 2 * options.principle.k:  # fewer cannot be cut
            rows_here = Table(snapshot.qi[:, here], snapshot.sensitive[here], snapshot.schema, options.extent)
            found, count = mondrian_classes(rows_here, options.principle, options.cuts)
            if count:
                group, groups = found, count
        class_of[here] = group + classes
        classes += groups
    return class_of, classes


def _signature_numbers(state: BpgState) -> tuple[Int32, int]:
    """The number of each atom's signature, in the order in which signatures first appear; and how many there are."""
    number: dict[bytes, int] = {}
    ends = state.signature_starts.tolist()
    numbered = (
        number.setdefault(state.signature_releases[ends[i] : ends[i + 1]].tobytes(), len(number))
        for i in range(state.atoms)
    )
    return np.fromiter(numbered, dtype=np.int32, count=state.atoms), len(number)
