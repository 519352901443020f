"""How many people of a table lie in each of many boxes: a tree over the people."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64

LEAF = 16
"""How many people a leaf holds at most."""


class Sides(NamedTuple):
    """For each box and attribute the interval, empty if low > high, and whether a value may be missing."""

    low: Int32  # [d, n]
    high: Int32  # [d, n]
    lacking: Bool  # [d, n]


class PointIndex(NamedTuple):
    """A binary tree over people. The children of node i are 2i and 2i + 1; each has half of its stretch of people."""

    qi: Int32  # [d, n] the codes of people, so that every node is a stretch
    low: Int32  # [d, nodes] the least and greatest code in each node, MISSING left out
    high: Int32  # [d, nodes]
    lacking: Bool  # [d, nodes] whether a code is MISSING


@compiled
def index_people(qi: Int32) -> PointIndex:
    """The tree over these people: each node is cut at the median of the attribute with the widest spread of codes."""
    attributes, people = qi.shape
    nodes = 2
    while nodes * LEAF < 2 * people:
        nodes *= 2
    order = np.arange(people)
    low = np.full((attributes, nodes), 2**31 - 1, dtype=np.int32)
    high = np.full((attributes, nodes), MISSING, dtype=np.int32)
    lacking = np.zeros((attributes, nodes), dtype=np.bool_)
    stack = [(1, 0, people)]
    while len(stack) > 0:
        node, begin, end = stack.pop()
        widest, spread = 0, 0.0
        for attribute in range(attributes):
            for person in order[begin:end]:
                code = qi[attribute, person]
                if code == MISSING:
                    lacking[attribute, node] = True
                else:
                    low[attribute, node] = min(low[attribute, node], code)
                    high[attribute, node] = max(high[attribute, node], code)
            width = np.float64(high[attribute, node]) - low[attribute, node]
            whole = np.float64(high[attribute, 1]) - low[attribute, 1]
            if width > spread * max(whole, 1.0):
                widest, spread = attribute, width / max(whole, 1.0)
        if 2 * node < nodes:
            stretch = order[begin:end].copy()
            order[begin:end] = stretch[np.argsort(qi[widest][stretch], kind="mergesort")]
            middle = (begin + end) // 2
            stack.append((2 * node, begin, middle))
            stack.append((2 * node + 1, middle, end))
    return PointIndex(qi[:, order], low, high, lacking)


@compiled
def count_inside(index: PointIndex, boxes: Sides, enough: int) -> Int64:
    """How many people each box holds, counted up to `enough`."""
    nodes, people = index.low.shape[1], index.qi.shape[1]
    found = np.zeros(boxes.low.shape[1], dtype=np.int64)
    for box in range(len(found)):
        stack = [(1, 0, people)]
        while len(stack) > 0 and found[box] < enough:
            node, begin, end = stack.pop()
            if not _may_meet(index, node, boxes, box):
                continue
            if 2 * node < nodes:
                middle = (begin + end) // 2
                stack.append((2 * node, begin, middle))
                stack.append((2 * node + 1, middle, end))
                continue
            for person in range(begin, end):
                found[box] += _holds(index.qi, person, boxes, box)
        found[box] = min(found[box], enough)
    return found


@compiled
def _may_meet(index: PointIndex, node: int, boxes: Sides, box: int) -> bool:
    for attribute in range(len(index.low)):
        first = max(index.low[attribute, node], boxes.low[attribute, box])
        last = min(index.high[attribute, node], boxes.high[attribute, box])
        if first > last and not (index.lacking[attribute, node] and boxes.lacking[attribute, box]):
            return False
    return True


@compiled
def _holds(qi: Int32, person: int, boxes: Sides, box: int) -> bool:
    for attribute in range(len(qi)):
        code = qi[attribute, person]
        if code == MISSING:
            if not boxes.lacking[attribute, box]:
                return False
        elif code < boxes.low[attribute, box] or code > boxes.high[attribute, box]:
            return False
    return True
