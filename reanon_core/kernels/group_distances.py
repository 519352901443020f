"""How far the values of a group are from those of the table, and how unlike the beliefs about its members are."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int32, Int64

EQUAL, ORDERED, HIERARCHICAL = 0, 1, 2
ROUNDING = 1e-12


@compiled
def earth_mover(
    counts: Int64, size: int, share: Float64, ground: int, ancestors: Int32, extra: Float64, spread: Float64
) -> float:
    """The earth mover's distance between the values of a group and the shares in the table.

    Equal: every two values are 1 apart. Ordered: neighbours are 1 / (values - 1) apart. Hierarchical: two values are
    as far apart as their lowest common ancestor is high. `ancestors` [depths, values] has the node of each value, root
    first; `extra` and `spread` are scratch for a number of each node.
    """
    values = len(counts)
    distance = 0.0
    if ground == EQUAL:
        for value in range(values):
            distance += abs(counts[value] / size - share[value])
        return distance / 2
    if ground == ORDERED:
        carried = 0.0
        for value in range(values):
            carried += counts[value] / size - share[value]
            distance += abs(carried)
        return distance / max(1, values - 1)
    height = len(ancestors) - 1
    extra[:] = 0
    for value in range(values):
        extra[ancestors[height, value]] = counts[value] / size - share[value]
    for depth in range(height - 1, -1, -1):
        _climb(ancestors[depth], ancestors[depth + 1], extra, spread)
        for value in range(values):
            node = ancestors[depth, value]
            # What flows out of the children in both directions meets here: half of what they differ, less what is left.
            distance += (spread[node] - abs(extra[node])) / 2 * ((height - depth) / height)
            spread[node] = abs(extra[node])
    return distance


@compiled
def _climb(parent: Int32, child: Int32, extra: Float64, spread: Float64) -> None:
    """Sum up the children of every node: what is left over of both signs, and how much of either sign there was."""
    for value in range(len(parent)):
        if parent[value] != child[value]:
            spread[parent[value]] = 0
            extra[parent[value]] = 0
        else:
            spread[parent[value]] = abs(extra[parent[value]])  # a short path: the leaf stands here as well
    before = np.int32(-1)
    for value in range(len(parent)):
        if child[value] != before and parent[value] != child[value]:
            extra[parent[value]] += extra[child[value]]
            spread[parent[value]] += abs(extra[child[value]])
        before = child[value]


@compiled
def distributions(expected: Float64) -> tuple[Float64, Float64]:
    """The rows normalised, and the entropy of each in bits; a row without any mass is uniform.

    Rows that all sum up to 1 already are given back as they are: a large table is not copied for nothing.
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
    """The divergence of `size` distributions with these sums by value, and this sum of entropies; in bits.

    Paper: [RPB12] Section 6.2, with equal weights.
    """
    scaled = 0.0
    for value in range(len(sums)):
        if sums[value] > 0:
            scaled += sums[value] * np.log2(sums[value])
    return float(max(0.0, np.log2(size) - (scaled + entropy) / size))
