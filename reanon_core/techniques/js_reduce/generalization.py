"""Phase 1: groups along the Hilbert curve, and what becomes of the rows that fit into none."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.kernels.group_distances import EQUAL, HIERARCHICAL, ORDERED, distributions
from reanon_core.kernels.hilbert import hilbert_bits, hilbert_indices, stable_order
from reanon_core.kernels.hilbert_groups import FAR, FEW, UNLIKE, close_runs, join_neighbours
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.plan import WITHHELD
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot

Leftovers = Literal["suppress", "relax", "merge"]
Distance = Literal["equal", "ordered", "hierarchical"]

NEIGHBOURS = 64
"""How many groups along the curve a row that was left over is offered, half of them on each side."""
PASSES = 3
GROUNDS = {"equal": EQUAL, "ordered": ORDERED, "hierarchical": HIERARCHICAL}
REASONS = {
    FEW: "too few rows or values left for a group",
    FAR: "t: no group close enough to the table",
    UNLIKE: "j: no group of people alike enough",
}


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What every group must satisfy."""

    k: int
    ell: int
    t: float
    j: float
    max_run: int

    def widened(self, slack: float) -> "Thresholds":
        """Both distances wider by this share."""
        return Thresholds(
            k=self.k, ell=self.ell, t=min(1.0, self.t * (1 + slack)), j=self.j * (1 + slack), max_run=self.max_run
        )


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each row, or WITHHELD, and why rows are withheld."""

    group: Int32  # [n]
    groups: int
    withheld: dict[str, int]


def generalize(
    snapshot: Snapshot,
    expected: Float64,
    extent: Int64,
    thresholds: Thresholds,
    distance: Distance,
    leftovers: Leftovers,
    slack: float,
) -> Grouping:
    """Close groups along the Hilbert curve; then relax or merge what is left over, or withhold it.

    Paper: [RPB12] Section 6.3 and Algorithm 4. `expected` [n, values] is normalised first (erratum E2 of the paper: the
    rows of its running example are partial, and their divergence is none).
    """
    order = hilbert_order(snapshot.qi, extent)
    # Everything is laid out along the curve once, so that the loops run along memory.
    rows, entropy = distributions(np.take(expected, order, axis=0))
    sensitive = snapshot.sensitive[order]
    ancestors, nodes = _tree(snapshot.schema, distance)
    most, values = snapshot.size // thresholds.k + 1, expected.shape[1]
    share = np.bincount(sensitive, minlength=values) / max(1, snapshot.size)
    sums, value_counts, total = np.empty((most, values)), np.empty((most, values), np.int64), np.empty(most)
    place = np.full(snapshot.size, WITHHELD, dtype=np.int32)  # the group of each row along the curve
    why = np.zeros(snapshot.size, dtype=np.int8)
    ground = GROUNDS[distance]

    def closed(along: Int64, limits: Thresholds, groups: int) -> int:
        return close_runs(
            along, rows, entropy, sensitive, share, limits.k, limits.ell, limits.t, limits.j, limits.max_run, ground,
            ancestors, nodes, place, why, groups, sums, value_counts, total,
        )  # fmt: skip

    everything = np.arange(snapshot.size)
    groups = closed(everything, thresholds, 0)
    if leftovers == "relax":
        groups = closed(np.flatnonzero(place == WITHHELD), thresholds.widened(slack), groups)
    elif leftovers == "merge" and groups:
        join_neighbours(
            everything, rows, entropy, sensitive, share, thresholds.t, thresholds.j, ground, ancestors, nodes,
            NEIGHBOURS, PASSES, place, groups, sums, value_counts, total,
        )  # fmt: skip
    group = np.empty_like(place)
    group[order] = place
    reason = np.bincount(why[place == WITHHELD], minlength=UNLIKE + 1)
    return Grouping(group, groups, {text: int(reason[code]) for code, text in REASONS.items() if reason[code]})


def hilbert_order(qi: Int32, extent: Int64) -> Int64:
    """The rows along the Hilbert curve; equal places in the order of the rows, which is that of the people.

    Paper: [RPB12] Algorithm 4, lines 4 to 7.
    """
    span = extent[1] - extent[0]
    bits = hilbert_bits(span)
    return stable_order(hilbert_indices(qi, extent[0], span, bits), bits * len(qi))


def _tree(schema: Schema, distance: Distance) -> tuple[Int32, int]:
    """The ancestors of each sensitive value, root first, and the number of nodes; nothing where no tree is needed."""
    if distance != "hierarchical" or schema.sensitive.taxonomy is None:
        return np.zeros((1, 0), dtype=np.int32), 0
    return schema.sensitive.taxonomy.ancestors.copy(), len(schema.sensitive.taxonomy.labels)
