"""Cheapest matchings of generalized rows with people, component by component, on distinct values."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.transport import Costs, transport
from reanon_core.model.arrays import Float64, Int8, Int32, Int64

LINE, TREE, ENTROPY = 0, 1, 2
"""How an attribute generalizes and what that costs: intervals by length, nodes by table, intervals by entropy."""
BITS = 2.0**30
"""The unit of entropy: one bit is so much."""
SHORT = 2**28
"""Where no path can cost more than this, costs are kept in four bytes: half the memory is twice the speed."""
NONE = -1


class LossTables(NamedTuple):
    """How each attribute generalizes and what a generalized value loses; attributes lie one after the other.

    Paper: [ST15] Definition 2.2 and Section 2.2.
    """

    kind: Int8  # [d] LINE, TREE or ENTROPY
    weight: Int64  # [d] LINE: the loss of one more place in an interval
    width: Int64  # [d] TREE: the number of leaves
    join: Int32  # TREE: for each node and each leaf, the lowest node that covers both
    join_at: Int64  # [d] where each attribute begins in `join`
    loss: Int64  # TREE: the loss of each node
    loss_at: Int64  # [d]
    mass: Float64  # ENTROPY: running sums of frequencies
    information: Float64  # ENTROPY: running sums of frequency times log2 of it
    mass_at: Int64  # [d]


class RowsAndPeople(NamedTuple):
    """The generalized value of each row, and the value of each person."""

    low: Int32  # [d, n] rows: the first place of an interval, or a node
    high: Int32  # [d, n] rows: the last place of an interval, or the same node
    places: Int32  # [d, n] people


class Components(NamedTuple):
    """The rows and people of each component, in ascending order of their keys; equal keys are equal values.

    Paper: [ST15] Section 4.4.
    """

    start: Int64  # [components + 1] component c lies at start[c] to start[c + 1] of both orders
    row_order: Int32
    row_key: Int64  # [n] of each row; a row that is not generalized has the key of its value
    person_order: Int32
    person_key: Int64  # [n] of each person


class MatchingLimits(NamedTuple):
    """What may be assumed of the costs, and how large a table of them may be."""

    equal_first: bool
    """Whether rows that are not generalized are matched with people of the same value before anything else."""
    greatest: int
    """A bound on the cost of one row."""
    cells: int
    """The largest table of costs, in cells of four bytes."""


class DistinctValues(NamedTuple):
    """One component with equal values counted once: a row or person of each value, and how many there are."""

    rows: Int32
    people: Int32
    supply: Int64
    demand: Int64


@compiled
def interval_entropy(first: int | np.int64, last: int | np.int64, mass: Float64, information: Float64) -> np.int64:
    """The entropy of a value known to be among these, in units; `mass` and `information` are running sums."""
    whole = mass[last + 1] - mass[first]
    if first == last or whole <= 0:
        return np.int64(0)
    entropy = np.log2(whole) - (information[last + 1] - information[first]) / whole
    return np.int64(np.rint(max(entropy, 0.0) * BITS))


@compiled
def cover_partners(table: RowsAndPeople, partner: Int32, tables: LossTables) -> None:
    """Widen each row until it covers its partner, in place.

    Paper: [ST15] Algorithm 2.
    """
    low, high, places = table.low, table.high, table.places
    join, kind = tables.join, tables.kind
    for attribute in range(len(kind)):
        begin, width = tables.join_at[attribute], tables.width[attribute]
        for row in range(low.shape[1]):
            place = places[attribute, partner[row]]
            if kind[attribute] == TREE:
                node = join[begin + low[attribute, row] * width + place]
                low[attribute, row] = high[attribute, row] = node
            else:
                low[attribute, row] = min(low[attribute, row], place)
                high[attribute, row] = max(high[attribute, row], place)


@compiled
def row_losses(low: Int32, high: Int32, tables: LossTables) -> Int64:
    """The loss of each row."""
    losses = np.zeros(low.shape[1], dtype=np.int64)
    kind, weight, loss, loss_at = tables.kind, tables.weight, tables.loss, tables.loss_at
    for attribute in range(len(kind)):
        begin = tables.mass_at[attribute]
        mass, information = tables.mass[begin:], tables.information[begin:]
        for row in range(low.shape[1]):
            if kind[attribute] == LINE:
                losses[row] += weight[attribute] * (np.int64(high[attribute, row]) - low[attribute, row])
            elif kind[attribute] == TREE:
                losses[row] += loss[loss_at[attribute] + low[attribute, row]]
            else:
                losses[row] += interval_entropy(low[attribute, row], high[attribute, row], mass, information)
    return losses


@compiled
def match_components(components: Components, table: RowsAndPeople, tables: LossTables, limits: MatchingLimits) -> Int32:
    """The person whom each row is matched with at the least loss; NONE where a table of costs would be too large.

    Rows of a component that is too large are still matched with people of the same value, with `equal_first`.

    Paper: [ST15] Algorithm 2 and Section 4.4.
    """
    start, row_key, person_key = components.start, components.row_key, components.person_key
    greatest = limits.greatest
    partner = np.full(len(row_key), NONE, dtype=np.int32)
    for component in range(len(start) - 1):
        rows = components.row_order[start[component] : start[component + 1]].copy()
        people = components.person_order[start[component] : start[component + 1]].copy()
        if limits.equal_first:
            left = _match_equal(rows, row_key, people, person_key, partner)
            rows, people = rows[:left], people[:left]
        row_at, person_at = _key_starts(rows, row_key), _key_starts(people, person_key)
        shape = (len(row_at) - 1, len(person_at) - 1)
        long = (shape[0] + shape[1]) * greatest >= SHORT
        if not len(rows) or shape[0] * shape[1] > (limits.cells // 2 if long else limits.cells):
            continue
        distinct = DistinctValues(rows[row_at[:-1]], people[person_at[:-1]], np.diff(row_at), np.diff(person_at))
        if long:
            flows = _cheapest_flows(np.empty(shape, dtype=np.int64), np.int64(2**62), distinct, table, tables)
        elif greatest < 2**15:
            flows = _cheapest_flows(np.empty(shape, dtype=np.int16), np.int32(2**30), distinct, table, tables)
        else:
            flows = _cheapest_flows(np.empty(shape, dtype=np.int32), np.int32(2**30), distinct, table, tables)
        origin, target, amount = flows
        for flow in range(len(origin)):
            for _ in range(amount[flow]):
                partner[rows[row_at[origin[flow]]]] = people[person_at[target[flow]]]
                row_at[origin[flow]] += 1
                person_at[target[flow]] += 1
    return partner


@compiled
def _match_equal(rows: Int32, row_key: Int64, people: Int32, person_key: Int64, partner: Int32) -> int:
    """Match rows and people of the same key; the others move to the front of both lists. Returns how many they are."""
    row = person = 0
    rows_left = people_left = 0
    while row < len(rows) or person < len(people):
        if person == len(people) or (row < len(rows) and row_key[rows[row]] < person_key[people[person]]):
            rows[rows_left] = rows[row]
            rows_left += 1
            row += 1
        elif row == len(rows) or row_key[rows[row]] > person_key[people[person]]:
            people[people_left] = people[person]
            people_left += 1
            person += 1
        else:
            partner[rows[row]] = people[person]
            row += 1
            person += 1
    return rows_left


@compiled
def _key_starts(members: Int32, key: Int64) -> Int64:
    """Where each new key begins, and the end."""
    starts = np.empty(len(members) + 1, dtype=np.int64)
    count = 0
    for at in range(len(members)):
        if at == 0 or key[members[at]] != key[members[at - 1]]:
            starts[count] = at
            count += 1
    starts[count] = len(members)
    return starts[: count + 1]


@compiled
def _cheapest_flows(
    cost: Costs, infinite: np.int32 | np.int64, distinct: DistinctValues, table: RowsAndPeople, tables: LossTables
) -> tuple[Int32, Int32, Int64]:
    """Fill the table of costs, whose type the caller chooses, and solve the transportation problem."""
    _fill_costs(cost, distinct.rows, distinct.people, table, tables)
    if cost.itemsize == 8:  # entropies may fall, and they are always kept in eight bytes
        cost -= min(0, cost.min())
    return transport(cost, distinct.supply, distinct.demand, infinite)


@compiled
def _fill_costs(cost: Costs, rows: Int32, people: Int32, table: RowsAndPeople, tables: LossTables) -> None:
    """Write what it costs more to let each row cover each person.

    Rows come in lexicographic order, so that a row shares the sums over its first attributes with the row before.
    """
    low, high, kind, width = table.low, table.high, tables.kind, tables.width
    attributes, columns = len(kind), len(people)
    sums = np.zeros((attributes + 1, columns), dtype=cost.dtype)
    place = np.empty((attributes, columns), dtype=np.int32)
    for attribute in range(attributes):
        for j in range(columns):
            place[attribute, j] = table.places[attribute, people[j]]
    added = np.empty(max(1, width.max()) if attributes else 1, dtype=cost.dtype)
    for i in range(len(rows)):
        same = 0
        while i and same < attributes and low[same, rows[i]] == low[same, rows[i - 1]]:
            if high[same, rows[i]] != high[same, rows[i - 1]]:
                break
            same += 1
        for attribute in range(same, attributes):
            first, last = np.int64(low[attribute, rows[i]]), np.int64(high[attribute, rows[i]])
            before, after, mine = sums[attribute], sums[attribute + 1], place[attribute]
            if kind[attribute] == LINE:
                weight = tables.weight[attribute]
                for j in range(columns):
                    after[j] = before[j] + weight * (max(first - mine[j], 0) + max(mine[j] - last, 0))
            elif kind[attribute] == TREE:
                joins, losses = tables.join[tables.join_at[attribute] :], tables.loss[tables.loss_at[attribute] :]
                for leaf in range(width[attribute]):
                    added[leaf] = losses[joins[first * width[attribute] + leaf]] - losses[first]
                for j in range(columns):
                    after[j] = before[j] + added[mine[j]]
            else:
                mass, information = (
                    tables.mass[tables.mass_at[attribute] :],
                    tables.information[tables.mass_at[attribute] :],
                )
                own = interval_entropy(first, last, mass, information)
                for j in range(columns):
                    wide = interval_entropy(min(first, mine[j]), max(last, mine[j]), mass, information)
                    after[j] = before[j] + wide - own
        cost[i] = sums[attributes]
