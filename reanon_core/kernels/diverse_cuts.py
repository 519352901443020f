"""Cuts of people where the two sides together lose least."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.closures import Space, closure_loss
from reanon_core.model.arrays import Bool, Int32, Int64

FORBIDDEN = -1


class Nodes(NamedTuple):
    """Rows that may be cut: those of a node lie together in every order."""

    begin: Int64  # [nodes]
    end: Int64  # [nodes]
    least: Int64  # [nodes, d] the least number of rows on either side of a cut on each attribute


@compiled
def cut_nodes(
    space: Space, orders: Int32, nodes: Nodes, sensitive: Int32, values: int, ell: int
) -> tuple[Int32, Int64]:
    """Cut each node where the two sides together lose least: the attribute of each cut, and the rows on its left.

    `orders` [d, n] lists the rows of each node in ascending order of each attribute, and so it does with those of the
    two sides afterwards. `ell` allows no sensitive value in more than one of ell rows of a side; 0 looks at none. A
    node that has no cut has the attribute -1.
    """
    attributes, rows = space.codes.shape
    moved, is_right = np.empty(rows, dtype=np.int32), np.zeros(rows, dtype=np.bool_)
    counts, losses = np.zeros(max(1, values), dtype=np.int64), np.zeros(rows + 1, dtype=np.int64)
    cut, left = np.full(len(nodes.begin), -1, dtype=np.int32), np.zeros(len(nodes.begin), dtype=np.int64)
    for node in range(len(nodes.begin)):
        begin, end = nodes.begin[node], nodes.end[node]
        best = np.int64(-1)
        best_balance, best_attribute, best_place = 0, -1, np.int64(0)
        whole = (end - begin) * _rows_loss(orders[0, begin:end], space)
        for attribute in range(attributes):
            mine = orders[attribute, begin:end]
            if space.codes[attribute, mine[0]] == space.codes[attribute, mine[-1]]:
                continue
            cuts = _mark_cuts(mine, attribute, space, nodes.least[node, attribute], losses)
            for direction in (1, -1):
                if cuts:
                    cuts = _add_side_losses(mine, direction, space, sensitive, ell, counts, losses)
            if not cuts:
                continue
            place, gain = _best_cut(losses[: len(mine)], whole)
            balance = min(place, len(mine) - place)
            if place and (gain > best or (gain == best and balance > best_balance)):
                best, best_balance, best_attribute, best_place = gain, balance, attribute, np.int64(place)
        if best_attribute < 0:
            continue
        cut[node], left[node] = best_attribute, best_place
        for at in range(begin, end):
            is_right[orders[best_attribute, at]] = at - begin >= best_place
        for attribute in range(attributes):
            _partition(orders[attribute, begin:end], is_right, moved)
    return cut, left


@compiled
def _rows_loss(rows: Int32, space: Space) -> np.int64:
    """The loss of the closure of some rows."""
    low, high = space.codes[:, rows[0]].copy(), space.codes[:, rows[0]].copy()
    for attribute in range(len(low)):
        codes = space.codes[attribute]
        for row in rows:
            low[attribute], high[attribute] = min(low[attribute], codes[row]), max(high[attribute], codes[row])
    return closure_loss(low, high, space)


@compiled
def _child_depth(low: int, high: int, tree: Int32, depth: int) -> int:
    """The depth of the children of the lowest node that covers both leaves; -1 for an ordered attribute."""
    if depth == 0:
        return -1
    level = depth - 1
    while tree[level, low] != tree[level, high]:
        level -= 1
    return level + 1


@compiled
def _mark_cuts(mine: Int32, attribute: int, space: Space, least: int, losses: Int64) -> int:
    """Set losses to 0 at the places where a cut may lie, and to FORBIDDEN elsewhere; returns how many may.

    A cut lies between two values of an ordered attribute, or between two children of the lowest node over all rows.
    """
    codes, tree, size = space.codes[attribute], space.tree[attribute], len(mine)
    depth = _child_depth(codes[mine[0]], codes[mine[-1]], tree, space.depths[attribute])
    losses[:size] = FORBIDDEN
    cuts = 0
    for place in range(max(1, least), size - max(1, least) + 1):
        here, there = codes[mine[place - 1]], codes[mine[place]]
        if here != there if depth < 0 else tree[depth, here] != tree[depth, there]:
            losses[place] = 0
            cuts += 1
    return cuts


@compiled
def _add_side_losses(
    mine: Int32, direction: int, space: Space, sensitive: Int32, ell: int, counts: Int64, losses: Int64
) -> int:
    """Add the loss of one side, times its number of rows, at every place; FORBIDDEN where the side is not diverse.

    The side grows from the left with `direction` 1, from the right with -1. `counts` is all zeros before and after.
    Returns how many cuts are still allowed.
    """
    codes = space.codes
    first, edge = (0, 0) if direction > 0 else (len(mine) - 1, len(mine))
    low, high = codes[:, mine[first]].copy(), codes[:, mine[first]].copy()
    most, cuts = np.int64(0), 0
    for taken in range(len(mine)):  # how many rows the side has
        place = edge + direction * taken
        if taken and losses[place] != FORBIDDEN:
            if most * ell <= taken:
                losses[place] += closure_loss(low, high, space) * taken
                cuts += 1
            else:
                losses[place] = FORBIDDEN
        row = mine[first + direction * taken]
        for attribute in range(len(low)):
            code = codes[attribute, row]
            low[attribute], high[attribute] = min(low[attribute], code), max(high[attribute], code)
        counts[sensitive[row]] += 1
        most = max(most, counts[sensitive[row]])
    for row in mine:
        counts[sensitive[row]] = 0
    return cuts


@compiled
def _best_cut(losses: Int64, whole: np.int64) -> tuple[int, np.int64]:
    """The place with the greatest gain, and the gain; place 0 if no cut is allowed. Ties go to the evener cut."""
    best, best_place = np.int64(-1), 0
    size = len(losses)
    for place in range(size - 1, 0, -1):
        if losses[place] == FORBIDDEN:
            continue
        gain = whole - losses[place]
        if gain > best or (gain == best and min(place, size - place) > min(best_place, size - best_place)):
            best, best_place = gain, place
    return best_place, best


@compiled
def _partition(rows: Int32, is_right: Bool, moved: Int32) -> None:
    """Move the rows of the left side before those of the right; each side keeps its order."""
    left = right = 0
    for row in rows:
        if is_right[row]:
            moved[right] = row
            right += 1
        else:
            rows[left] = row
            left += 1
    rows[left:] = moved[:right]
