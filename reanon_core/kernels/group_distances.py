"""How far the values of a group are from those of the table, and how much the beliefs about its members diverge."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int32, Int64

EQUAL, ORDERED, HIERARCHICAL = 0, 1, 2
ROUNDING = 1e-12


class Ground(NamedTuple):
    """The values of the whole table, and how far values are from each other (the ground distance).

    EQUAL: every two values are 1 apart. ORDERED: neighbours are 1 / (values - 1) apart. HIERARCHICAL: two values are as
    far apart as their lowest common ancestor is high.
    """

    kind: int
    share: Float64  # [values] in the whole table
    ancestors: Int32  # [depths, values] HIERARCHICAL: the ancestors of each value, root first
    excess: Float64  # [nodes] scratch
    flow: Float64  # [nodes] scratch


@compiled
def earth_mover(counts: Int64, size: int, ground: Ground) -> float:
    """The earth mover's distance between the values of a group and the shares in the table."""
    values, share, ancestors = len(counts), ground.share, ground.ancestors
    excess, flow = ground.excess, ground.flow
    distance = 0.0
    if ground.kind == EQUAL:
        for value in range(values):
            distance += abs(counts[value] / size - share[value])
        return distance / 2
    if ground.kind == ORDERED:
        carried = 0.0
        for value in range(values):
            carried += counts[value] / size - share[value]
            distance += abs(carried)
        return distance / max(1, values - 1)
    height = len(ancestors) - 1
    excess[:] = 0
    for value in range(values):
        excess[ancestors[height, value]] = counts[value] / size - share[value]
    for depth in range(height - 1, -1, -1):
        _sum_children(ancestors[depth], ancestors[depth + 1], excess, flow)
        for value in range(values):
            node = ancestors[depth, value]
            # What the children exchange meets here: half of all that flows, less what goes on to the parent.
            distance += (flow[node] - abs(excess[node])) / 2 * ((height - depth) / height)
            flow[node] = abs(excess[node])
    return distance


@compiled
def _sum_children(parent: Int32, child: Int32, excess: Float64, flow: Float64) -> None:
    """Sum over the children of every node: the signed excess, and the absolute amounts that flow."""
    for value in range(len(parent)):
        if parent[value] != child[value]:
            flow[parent[value]] = 0
            excess[parent[value]] = 0
        else:
            flow[parent[value]] = abs(excess[parent[value]])  # a short path: the leaf occurs at this depth as well
    before = np.int32(-1)
    for value in range(len(parent)):
        if child[value] != before and parent[value] != child[value]:
            excess[parent[value]] += excess[child[value]]
            flow[parent[value]] += abs(excess[child[value]])
        before = child[value]


@compiled
def distributions(expected: Float64) -> tuple[Float64, Float64]:
    """The rows normalised, and the entropy of each in bits; a row without any mass becomes uniform.

    A table whose rows all sum up to 1 already is returned as it is, without a copy.
    """
    size, width = expected.shape
    entropy, total = np.zeros(size), np.empty(size)
    whole = True
    for row in range(size):
        total[row] = expected[row].sum()
        whole = whole and abs(total[row] - 1) < ROUNDING
    rows = expected if whole else expected.copy()
    for row in range(size):
        for value in range(width):
            if not whole:
                rows[row, value] = rows[row, value] / total[row] if total[row] > 0 else 1 / width
            chance = rows[row, value]
            if chance > 0:
                entropy[row] -= chance * np.log2(chance)
    return rows, entropy


@compiled
def jensen_shannon(sums: Float64, entropy: float, size: int) -> float:
    """The divergence, in bits, of `size` distributions, from their sums by value and the sum of their entropies.

    Paper: [RPB12] Section 6.2, with equal weights.
    """
    scaled = 0.0
    for value in range(len(sums)):
        if sums[value] > 0:
            scaled += sums[value] * np.log2(sums[value])
    return float(max(0.0, np.log2(size) - (scaled + entropy) / size))
