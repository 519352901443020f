"""Closures: the smallest interval, or the lowest node of a taxonomy, that covers some codes, and what it loses."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64


class Space(NamedTuple):
    """The quasi-identifiers of some people, with the weights and taxonomies that measure closures."""

    codes: Int32  # [d, n] counted from the first code of the domain
    weight: Int64  # [d] the loss of one more code
    tree: Int32  # [d, depth, leaf] the ancestors of each leaf, root first
    depths: Int64  # [d] the depth of the taxonomy; 0 for an ordered attribute
    leaves: Int64  # [d, depth, leaf] the number of leaves below each ancestor


@compiled
def closure_span(low: int, high: int, tree: Int32, depth: int, leaves: Int64) -> int:
    """The number of codes in the closure of two, less one; `tree` [depth, leaf] and `leaves` of one attribute.

    Paper: [ST15] Definition 2.2.
    """
    if depth == 0 or low == high:
        return int(high - low)
    level = depth - 1
    while tree[level, low] != tree[level, high]:
        level -= 1
    return int(leaves[level, low] - 1)


@compiled
def closure_loss(low: Int32, high: Int32, space: Space) -> np.int64:
    """The loss of a closure, summed over the attributes; `low` [d] and `high` [d] bound its codes.

    Paper: [ST15] Section 2.2.
    """
    tree, depths, leaves, weight = space.tree, space.depths, space.leaves, space.weight
    loss = np.int64(0)
    for attribute in range(len(low)):
        span = closure_span(low[attribute], high[attribute], tree[attribute], depths[attribute], leaves[attribute])
        loss += span * weight[attribute]
    return loss
