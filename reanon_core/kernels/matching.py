"""Cheapest matchings of rows to people, component by component, on distinct values."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.transport import Costs, transport
from reanon_core.model.arrays import Float64, Int8, Int32, Int64

LINE, TREE, ENTROPY = 0, 1, 2
"""How an attribute generalizes and what that costs: intervals by length, nodes by table, intervals by entropy."""
BITS = 2.0**30
"""The unit of entropy: one bit is so much."""
SHORT = 2**28
"""Where no way can cost more than this, costs are kept in four bytes: half the memory is twice the speed."""
NONE = -1


@compiled
def interval_entropy(first: int | np.int64, last: int | np.int64, mass: Float64, information: Float64) -> np.int64:
    """The entropy of a value known to be among these, in units; `mass` and `information` are running sums."""
    whole = mass[last + 1] - mass[first]
    if first == last or whole <= 0:
        return np.int64(0)
    entropy = np.log2(whole) - (information[last + 1] - information[first]) / whole
    return np.int64(np.rint(max(entropy, 0.0) * BITS))


@compiled
def generalized(
    low: Int32, high: Int32, codes: Int32, partner: Int32, kind: Int8, join: Int32, join_at: Int64, width: Int64
) -> None:
    """Widen each row until it covers its partner, in place."""
    for attribute in range(len(kind)):
        for row in range(low.shape[1]):
            code = codes[attribute, partner[row]]
            if kind[attribute] == TREE:
                node = join[join_at[attribute] + low[attribute, row] * width[attribute] + code]
                low[attribute, row] = high[attribute, row] = node
            else:
                low[attribute, row] = min(low[attribute, row], code)
                high[attribute, row] = max(high[attribute, row], code)


@compiled
def row_losses(
    low: Int32,
    high: Int32,
    kind: Int8,
    weight: Int64,
    loss: Int64,
    loss_at: Int64,
    mass: Float64,
    information: Float64,
    mass_at: Int64,
) -> Int64:
    """The loss of each row."""
    losses = np.zeros(low.shape[1], dtype=np.int64)
    for attribute in range(len(kind)):
        begin = mass_at[attribute]
        for row in range(low.shape[1]):
            if kind[attribute] == LINE:
                losses[row] += weight[attribute] * (np.int64(high[attribute, row]) - low[attribute, row])
            elif kind[attribute] == TREE:
                losses[row] += loss[loss_at[attribute] + low[attribute, row]]
            else:
                losses[row] += interval_entropy(
                    low[attribute, row], high[attribute, row], mass[begin:], information[begin:]
                )
    return losses


@compiled
def matched_people(
    row_order: Int32,
    row_key: Int64,
    people_order: Int32,
    people_key: Int64,
    start: Int64,
    low: Int32,
    high: Int32,
    codes: Int32,
    kind: Int8,
    weight: Int64,
    join: Int32,
    join_at: Int64,
    width: Int64,
    loss: Int64,
    loss_at: Int64,
    mass: Float64,
    information: Float64,
    mass_at: Int64,
    cancel: bool,  # noqa: FBT001  compiled functions take no keywords
    greatest: int,
    budget: int,
) -> Int32:
    """The person whom each row is matched with; NONE where a component needs more than `budget` cells of four bytes.

    Rows and people of component c lie at `start[c]` to `start[c + 1]` of their orders, in ascending order of their
    keys; equal keys are equal values. A row that is not generalized has the key of its value, so that with `cancel` it
    is matched with people of that value first, also in a component that is too large. `greatest` bounds the costs.
    """
    partner = np.full(len(row_key), NONE, dtype=np.int32)
    for component in range(len(start) - 1):
        rows = row_order[start[component] : start[component + 1]].copy()
        people = people_order[start[component] : start[component + 1]].copy()
        if cancel:
            left = _cancelled(rows, row_key, people, people_key, partner)
            rows, people = rows[:left], people[:left]
        row_runs, people_runs = _runs(rows, row_key), _runs(people, people_key)
        shape = (len(row_runs) - 1, len(people_runs) - 1)
        long = (shape[0] + shape[1]) * greatest >= SHORT
        if not len(rows) or shape[0] * shape[1] > (budget // 2 if long else budget):
            continue
        take, give = np.diff(row_runs), np.diff(people_runs)
        some, them = rows[row_runs[:-1]], people[people_runs[:-1]]
        if long:
            large = np.empty(shape, dtype=np.int64)
            _fill_costs(
                large, some, them, low, high, codes, kind, weight, join, join_at, width, loss, loss_at, mass,
                information, mass_at,
            )  # fmt: skip
            large -= min(0, large.min())
            origin, target, amount = transport(large, take, give, np.int64(2**62))
        elif greatest < 2**15:
            tiny = np.empty(shape, dtype=np.int16)
            _fill_costs(
                tiny, some, them, low, high, codes, kind, weight, join, join_at, width, loss, loss_at, mass,
                information, mass_at,
            )  # fmt: skip
            origin, target, amount = transport(tiny, take, give, np.int32(2**30))
        else:
            small = np.empty(shape, dtype=np.int32)
            _fill_costs(
                small, some, them, low, high, codes, kind, weight, join, join_at, width, loss, loss_at, mass,
                information, mass_at,
            )  # fmt: skip
            origin, target, amount = transport(small, take, give, np.int32(2**30))
        for flow in range(len(origin)):
            for _ in range(amount[flow]):
                partner[rows[row_runs[origin[flow]]]] = people[people_runs[target[flow]]]
                row_runs[origin[flow]] += 1
                people_runs[target[flow]] += 1
    return partner


@compiled
def _cancelled(rows: Int32, row_key: Int64, people: Int32, people_key: Int64, partner: Int32) -> int:
    """Match rows and people of the same key; the others move to the front of both, and their number is given."""
    at = who = 0
    rows_left = people_left = 0
    while at < len(rows) or who < len(people):
        if who == len(people) or (at < len(rows) and row_key[rows[at]] < people_key[people[who]]):
            rows[rows_left] = rows[at]
            rows_left += 1
            at += 1
        elif at == len(rows) or row_key[rows[at]] > people_key[people[who]]:
            people[people_left] = people[who]
            people_left += 1
            who += 1
        else:
            partner[rows[at]] = people[who]
            at += 1
            who += 1
    return rows_left


@compiled
def _runs(members: Int32, key: Int64) -> Int64:
    """Where each run of equal keys begins, and the end."""
    runs = np.empty(len(members) + 1, dtype=np.int64)
    count = 0
    for at in range(len(members)):
        if at == 0 or key[members[at]] != key[members[at - 1]]:
            runs[count] = at
            count += 1
    runs[count] = len(members)
    return runs[: count + 1]


@compiled
def _fill_costs(
    cost: Costs,
    rows: Int32,
    people: Int32,
    low: Int32,
    high: Int32,
    codes: Int32,
    kind: Int8,
    weight: Int64,
    join: Int32,
    join_at: Int64,
    width: Int64,
    loss: Int64,
    loss_at: Int64,
    mass: Float64,
    information: Float64,
    mass_at: Int64,
) -> None:
    """What it costs more to let each row cover each person.

    Rows come in lexicographic order, so that a row shares the sums over its first attributes with the row before.
    """
    attributes, columns = len(kind), len(people)
    sums = np.zeros((attributes + 1, columns), dtype=cost.dtype)
    code = np.empty((attributes, columns), dtype=np.int32)
    for attribute in range(attributes):
        for j in range(columns):
            code[attribute, j] = codes[attribute, people[j]]
    delta = np.empty(max(1, width.max()) if attributes else 1, dtype=cost.dtype)
    for i in range(len(rows)):
        same = 0
        while i and same < attributes and low[same, rows[i]] == low[same, rows[i - 1]]:
            if high[same, rows[i]] != high[same, rows[i - 1]]:
                break
            same += 1
        for attribute in range(same, attributes):
            first, last = np.int64(low[attribute, rows[i]]), np.int64(high[attribute, rows[i]])
            before, after, mine = sums[attribute], sums[attribute + 1], code[attribute]
            if kind[attribute] == LINE:
                heavy = weight[attribute]
                for j in range(columns):
                    after[j] = before[j] + heavy * (max(first - mine[j], 0) + max(mine[j] - last, 0))
            elif kind[attribute] == TREE:
                own = loss[loss_at[attribute] + first]
                for value in range(width[attribute]):
                    node = join[join_at[attribute] + first * width[attribute] + value]
                    delta[value] = loss[loss_at[attribute] + node] - own
                for j in range(columns):
                    after[j] = before[j] + delta[mine[j]]
            else:
                begin = mass_at[attribute]
                own = interval_entropy(first, last, mass[begin:], information[begin:])
                for j in range(columns):
                    wide = interval_entropy(min(first, mine[j]), max(last, mine[j]), mass[begin:], information[begin:])
                    after[j] = before[j] + wide - own
        cost[i] = sums[attributes]
