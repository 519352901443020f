"""Which of many boxes holds a point, or lies nearest to it: a tree over the boxes."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int32, Int64

LEAF = 8
"""How many boxes a leaf holds at most."""


class BoxIndex(NamedTuple):
    """A binary tree over boxes. The children of node i are 2i and 2i + 1; each has half of its stretch of `order`."""

    order: Int64  # [b] boxes, so that every node is a stretch
    low: Int32  # [d, nodes] the bounding box of each node
    high: Int32  # [d, nodes]


@compiled
def index_boxes(low: Int32, high: Int32, weight: Float64) -> BoxIndex:
    """The tree over these boxes; lengths on an attribute are compared after they are multiplied by its weight."""
    attributes, boxes = low.shape
    nodes = 2
    while nodes * LEAF < 2 * boxes:
        nodes *= 2
    order = np.arange(boxes)
    node_low = np.full((attributes, nodes), 2**31 - 1, dtype=np.int32)
    node_high = np.full((attributes, nodes), -(2**31), dtype=np.int32)
    stack = [(1, 0, boxes)]
    while len(stack) > 0:
        node, begin, end = stack.pop()
        widest, spread = 0, -1.0
        for attribute in range(attributes):
            first, last = 2**32, -(2**32)
            for box in order[begin:end]:
                node_low[attribute, node] = min(node_low[attribute, node], low[attribute, box])
                node_high[attribute, node] = max(node_high[attribute, node], high[attribute, box])
                centre = np.int64(low[attribute, box]) + high[attribute, box]
                first, last = min(first, centre), max(last, centre)
            if (last - first) * weight[attribute] > spread:
                widest, spread = attribute, (last - first) * weight[attribute]
        if 2 * node < nodes:
            stretch = order[begin:end].copy()
            centres = low[widest][stretch].astype(np.int64) + high[widest][stretch]
            order[begin:end] = stretch[np.argsort(centres, kind="mergesort")]
            middle = (begin + end) // 2
            stack.append((2 * node, begin, middle))
            stack.append((2 * node + 1, middle, end))
    return BoxIndex(order, node_low, node_high)


@compiled
def nearest_boxes(index: BoxIndex, low: Int32, high: Int32, points: Int32, weight: Float64) -> Int64:
    """The box nearest to each point [d, n]; of several the smallest, and then the first.

    A distance is the weighted sum of the gaps on all attributes, 0 inside. Requires: at least one box.
    """
    order, node_low, node_high = index
    attributes, nodes = node_low.shape
    size = np.zeros(low.shape[1])
    for box in range(low.shape[1]):
        for attribute in range(attributes):
            size[box] += np.log(np.int64(high[attribute, box]) - low[attribute, box] + 1.0)
    found = np.empty(points.shape[1], dtype=np.int64)
    for row in range(points.shape[1]):
        best, least = -1, np.inf
        stack = [(1, 0, len(order))]
        while len(stack) > 0:
            node, begin, end = stack.pop()
            if _gap(node_low, node_high, node, points, row, weight) > least:
                continue
            if 2 * node < nodes:
                middle = (begin + end) // 2
                left = _gap(node_low, node_high, 2 * node, points, row, weight)
                right = _gap(node_low, node_high, 2 * node + 1, points, row, weight)
                if left <= right:  # the nearer side is searched first
                    stack.append((2 * node + 1, middle, end))
                    stack.append((2 * node, begin, middle))
                else:
                    stack.append((2 * node, begin, middle))
                    stack.append((2 * node + 1, middle, end))
                continue
            for box in order[begin:end]:
                gap = _gap(low, high, box, points, row, weight)
                if gap < least or (
                    gap == least and (size[box] < size[best] or (size[box] == size[best] and box < best))
                ):
                    best, least = box, gap
        found[row] = best
    return found


@compiled
def _gap(low: Int32, high: Int32, box: int, points: Int32, row: int, weight: Float64) -> float:
    gap = 0.0
    for attribute in range(len(weight)):
        code = np.int64(points[attribute, row])
        below, above = low[attribute, box] - code, code - high[attribute, box]
        gap += max(below, above, 0) * weight[attribute]
    return gap
