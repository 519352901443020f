"""Buckets by cuts that lose least: each node is cut where the loss of both sides together is smallest."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64


@compiled
def diverse_buckets(
    codes: Int32,
    orders: Int32,
    sensitive: Int32,
    values: int,
    weight: Int64,
    tree: Int32,
    depths: Int64,
    leaves: Int64,
    ell: int,
    least: int,
) -> tuple[Int32, int]:
    """The bucket of each row and the number of buckets.

    `codes` [d, n] count from 0 in each attribute; `orders` [d, n] are the rows in ascending order of each attribute.
    `tree` [d, depth, code] holds each leaf's ancestors, root first, for attributes with `depths` above 0; `leaves`
    [d, depth, code] how many leaves each has. A side of a cut needs `least` rows and, with ell above 0, no value in
    more than one of ell rows; ell 0 cuts without a look at the sensitive values.
    """
    attributes, rows = codes.shape
    bucket = np.zeros(rows, dtype=np.int32)
    buckets = 0
    order = orders.copy()  # each node's rows lie together in every order
    moved = np.empty(rows, dtype=np.int32)
    side = np.zeros(rows, dtype=np.bool_)
    counts = np.zeros(max(1, values), dtype=np.int64)
    before = np.zeros(
        rows + 1, dtype=np.int64
    )  # loss of the rows before a place, times their number; below 0: forbidden
    stack = [(0, rows)] if rows else [(0, 0)][:0]
    while len(stack):
        begin, end = stack.pop()
        best = np.int64(-1)
        best_balance, best_attribute, best_place = 0, -1, 0
        whole = (end - begin) * _loss(codes, order[0, begin:end], weight, tree, depths, leaves)
        for attribute in range(attributes):
            mine = order[attribute, begin:end]
            if codes[attribute, mine[0]] == codes[attribute, mine[-1]]:
                continue
            depth = _child_depth(
                codes[attribute, mine[0]], codes[attribute, mine[-1]], tree[attribute], depths[attribute]
            )
            _forward(codes, mine, attribute, depth, sensitive, counts, weight, tree, depths, leaves, ell, least, before)
            place, gain = _best_place(
                codes, mine, sensitive, counts, weight, tree, depths, leaves, ell, least, before, whole
            )
            balance = min(place, len(mine) - place)
            if place and (gain > best or (gain == best and balance > best_balance)):
                best, best_balance, best_attribute, best_place = gain, balance, attribute, place
        if best_attribute < 0:
            for at in range(begin, end):
                bucket[order[0, at]] = buckets
            buckets += 1
            continue
        for at in range(begin, end):
            side[order[best_attribute, at]] = at - begin >= best_place
        for attribute in range(attributes):
            _parted(order[attribute, begin:end], side, moved)
        stack.append((begin + best_place, end))
        stack.append((begin, begin + best_place))
    return bucket, buckets


@compiled
def _loss(codes: Int32, rows: Int32, weight: Int64, tree: Int32, depths: Int64, leaves: Int64) -> np.int64:
    """The loss of the closure of some rows."""
    total = np.int64(0)
    for attribute in range(len(codes)):
        low = high = codes[attribute, rows[0]]
        for row in rows:
            low, high = min(low, codes[attribute, row]), max(high, codes[attribute, row])
        total += closure_span(low, high, tree[attribute], depths[attribute], leaves[attribute]) * weight[attribute]
    return total


@compiled
def closure_span(low: int, high: int, tree: Int32, depth: int, leaves: Int64) -> int:
    """The number of codes of the closure of two, less one."""
    if depth == 0 or low == high:
        return int(high - low)
    level = depth - 1
    while tree[level, low] != tree[level, high]:
        level -= 1
    return int(leaves[level, low] - 1)


@compiled
def _child_depth(low: int, high: int, tree: Int32, depth: int) -> int:
    """The depth of the children of the lowest node over both; -1 where there is an order only."""
    if depth == 0:
        return -1
    level = depth - 1
    while tree[level, low] != tree[level, high]:
        level -= 1
    return level + 1


@compiled
def _forward(
    codes: Int32,
    mine: Int32,
    attribute: int,
    depth: int,
    sensitive: Int32,
    counts: Int64,
    weight: Int64,
    tree: Int32,
    depths: Int64,
    leaves: Int64,
    ell: int,
    least: int,
    before: Int64,
) -> None:
    """For each place, the loss of the rows before it times their number; -1 where no cut is allowed."""
    low, high = codes[:, mine[0]].copy(), codes[:, mine[0]].copy()
    most = np.int64(0)
    before[0] = -1
    for place in range(len(mine)):
        row = mine[place]
        if place:
            here, there = codes[attribute, mine[place - 1]], codes[attribute, row]
            apart = here != there if depth < 0 else tree[attribute, depth, here] != tree[attribute, depth, there]
            before[place] = -1
            if apart and place >= least and len(mine) - place >= least and most * ell <= place:
                loss = np.int64(0)
                for other in range(len(codes)):
                    loss += (
                        closure_span(low[other], high[other], tree[other], depths[other], leaves[other]) * weight[other]
                    )
                before[place] = loss * place
        for other in range(len(codes)):
            code = codes[other, row]
            low[other], high[other] = min(low[other], code), max(high[other], code)
        counts[sensitive[row]] += 1
        most = max(most, counts[sensitive[row]])
    for row in mine:
        counts[sensitive[row]] = 0


@compiled
def _best_place(
    codes: Int32,
    mine: Int32,
    sensitive: Int32,
    counts: Int64,
    weight: Int64,
    tree: Int32,
    depths: Int64,
    leaves: Int64,
    ell: int,
    least: int,
    before: Int64,
    whole: np.int64,
) -> tuple[int, np.int64]:
    """The place with the greatest gain, and the gain; place 0 if no cut is allowed. Ties go to the evener cut."""
    low, high = codes[:, mine[-1]].copy(), codes[:, mine[-1]].copy()
    most = np.int64(0)
    best, best_place = np.int64(-1), 0
    size = len(mine)
    for place in range(size - 1, 0, -1):
        row = mine[place]
        for other in range(len(codes)):
            code = codes[other, row]
            low[other], high[other] = min(low[other], code), max(high[other], code)
        counts[sensitive[row]] += 1
        most = max(most, counts[sensitive[row]])
        if before[place] < 0 or most * ell > size - place or size - place < least:
            continue
        loss = np.int64(0)
        for other in range(len(codes)):
            loss += closure_span(low[other], high[other], tree[other], depths[other], leaves[other]) * weight[other]
        gain = whole - before[place] - loss * (size - place)
        if gain > best or (gain == best and min(place, size - place) > min(best_place, size - best_place)):
            best, best_place = gain, place
    for row in mine:
        counts[sensitive[row]] = 0
    return best_place, best


@compiled
def _parted(rows: Int32, side: Bool, moved: Int32) -> None:
    """The rows of the first side, then those of the second, each in the order they had."""
    first = second = 0
    for row in rows:
        if side[row]:
            moved[second] = row
            second += 1
        else:
            rows[first] = row
            first += 1
    rows[first:] = moved[:second]
