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
    order, nodes = index.order, index.low.shape[1]
    size = np.zeros(low.shape[1])
    for box in range(low.shape[1]):
        for attribute in range(len(low)):
            size[box] += np.log(np.int64(high[attribute, box]) - low[attribute, box] + 1.0)
    smallest = _smallest(order, size, nodes)
    # Side by side in memory: the bounds of a node, those of a box in the order of leaves, and the codes of a point.
    node_low, node_high = index.low.T.copy(), index.high.T.copy()
    box_low, box_high = low.T.copy()[order], high.T.copy()[order]
    rows = points.T.copy()
    found = np.empty(len(rows), dtype=np.int64)
    stack, gaps = np.empty((128, 3), dtype=np.int64), np.empty(128)
    for row in range(len(rows)):
        point, best, least = rows[row], -1, np.inf
        stack[0, 0], stack[0, 1], stack[0, 2], gaps[0], depth = 1, 0, len(order), 0.0, 1
        while depth > 0:
            depth -= 1
            node, begin, end, gap = stack[depth, 0], stack[depth, 1], stack[depth, 2], gaps[depth]
            if gap > least or (gap == least and smallest[node] > size[best]):
                continue
            if 2 * node >= nodes:
                for place in range(begin, end):
                    box, gap = order[place], _gap(box_low[place], box_high[place], point, weight)
                    if gap < least or (
                        gap == least and (size[box] < size[best] or (size[box] == size[best] and box < best))
                    ):
                        best, least = box, gap
                continue
            middle = (begin + end) // 2
            left = _gap(node_low[2 * node], node_high[2 * node], point, weight)
            right = _gap(node_low[2 * node + 1], node_high[2 * node + 1], point, weight)
            # The nearer side is searched first, and of equal ones that with the smaller boxes.
            last = int(right < left or (left == right and smallest[2 * node + 1] < smallest[2 * node]))
            for side in (1 - last, last):
                stack[depth, 0] = 2 * node + side
                stack[depth, 1], stack[depth, 2] = (middle, end) if side else (begin, middle)
                gaps[depth] = right if side else left
                depth += 1
        found[row] = best
    return found


@compiled
def _smallest(order: Int64, size: Float64, nodes: int) -> Float64:
    """The least size of a box in each node; infinite in a node without boxes."""
    smallest = np.full(nodes, np.inf)
    stack = [(1, 0, len(order))]
    while len(stack) > 0:
        node, begin, end = stack.pop()
        for box in order[begin:end]:
            smallest[node] = min(smallest[node], size[box])
        if 2 * node < nodes:
            middle = (begin + end) // 2
            stack.append((2 * node, begin, middle))
            stack.append((2 * node + 1, middle, end))
    return smallest


@compiled
def _gap(low: Int32, high: Int32, point: Int32, weight: Float64) -> float:
    gap = 0.0
    for attribute in range(len(weight)):
        code = np.int64(point[attribute])
        below, above = low[attribute] - code, code - high[attribute]
        gap += max(below, above, 0) * weight[attribute]
    return gap
