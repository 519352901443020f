"""The transportation problem: move supplies to demands at the least total cost, exactly, in integers."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64

Costs = npt.NDArray[np.int16] | Int32 | Int64
Sums = npt.NDArray[np.int32 | np.int64]

NONE = -1


class Flows(NamedTuple):
    """Flows from rows to columns; the flows into one column form a linked list through `after`."""

    first: Int32  # [columns] the first flow into each column, or NONE
    after: Int32  # [room] the next flow into the same column, or NONE
    origin: Int32  # [room] the row
    amount: Int64  # [room]


class Search(NamedTuple):
    """A shortest path from a row with supply left to the nearest column with demand left."""

    distance: Sums  # [columns]
    height: Sums  # [columns] potentials; of columns that were passed, so low that no path leads there
    passed: Int32  # [columns] the columns that were passed, in order
    passed_at: Sums  # [columns] and their distances
    visited: Int32  # [rows] the rows that were visited, in order
    lift: Sums  # [rows] what is added to the reduced costs from each of them
    reached_by: Int32  # [rows] the column through which a row is reached
    predecessor: Int32  # [columns] the row through which a column of the path is reached


@compiled
def transport(cost: Costs, supply: Int64, demand: Int64, infinite: np.int32 | np.int64) -> tuple[Int32, Int32, Int64]:
    """The flows of a cheapest solution: origin, target and amount of each.

    Shortest augmenting paths with potentials: reduced costs never become negative, so that one sweep finds each path
    and the final flow is optimal. A start along pairs without reduced cost leaves few paths to find.

    Requires: cost[supplies, demands] at least 0; supplies and demands above 0, with the same sum; `infinite` at least
    four times the greatest cost times the number of supplies and demands, and twice of it representable in its type,
    which is that of all sums. Costs may be of a smaller type, because reading them takes most of the time.
    """
    rows, columns = cost.shape
    supply_left, demand_left = supply.copy(), demand.copy()
    u, v = _tight_potentials(cost, infinite)
    flows = _no_flows(columns, 2 * (rows + columns) + 16)
    used = _fill_tight(cost, u, v, supply_left, demand_left, flows)
    search = Search(
        np.empty_like(v),
        v.copy(),
        np.empty(columns, dtype=np.int32),
        np.empty_like(v),
        np.empty(rows, dtype=np.int32),
        np.empty_like(u),
        np.full(rows, NONE, dtype=np.int32),
        np.empty(columns, dtype=np.int32),
    )
    for source in range(rows):
        while supply_left[source]:
            goal, far, seen, known = _nearest(source, cost, u, demand_left, flows, search, infinite)
            _trace_back(source, goal, known, cost, v, search)
            _raise_potentials(source, far, seen, known, u, v, search)
            if used + columns > len(flows.after):
                flows = _with_room(flows, 2 * (used + columns))
            used = _push(source, goal, supply_left, demand_left, flows, search, used)
            for at in range(1, seen):
                search.reached_by[search.visited[at]] = NONE
    return _listed(flows)


@compiled
def _no_flows(columns: int, room: int) -> Flows:
    return Flows(
        np.full(columns, NONE, dtype=np.int32),
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.int32),
        np.zeros(room, dtype=np.int64),
    )


@compiled
def _with_room(flows: Flows, room: int) -> Flows:
    """The same flows in larger arrays."""
    larger = _no_flows(len(flows.first), room)
    larger.first[:] = flows.first
    larger.after[: len(flows.after)] = flows.after
    larger.origin[: len(flows.origin)] = flows.origin
    larger.amount[: len(flows.amount)] = flows.amount
    return larger


@compiled
def _fill_tight(cost: Costs, u: Sums, v: Sums, supply_left: Int64, demand_left: Int64, flows: Flows) -> int:
    """Push along pairs without reduced cost in their order; returns the number of flows."""
    used = 0
    for row in range(len(u)):
        for column in range(len(v)):
            if supply_left[row] == 0:
                break
            if demand_left[column] and cost[row, column] - u[row] - v[column] == 0:
                pushed = min(supply_left[row], demand_left[column])
                supply_left[row] -= pushed
                demand_left[column] -= pushed
                flows.origin[used], flows.amount[used], flows.after[used] = row, pushed, flows.first[column]
                flows.first[column] = used
                used += 1
    return used


@compiled
def _nearest(
    source: int, cost: Costs, u: Sums, demand_left: Int64, flows: Flows, search: Search, infinite: np.int32 | np.int64
) -> tuple[int, int, int, int]:
    """The nearest column with demand left, its distance, and how many rows were visited and columns passed."""
    distance, visited, number = search.distance, search.visited, u.dtype.type
    distance[:] = infinite
    visited[0], seen, done, known, far = source, 1, 0, 0, 0
    while True:
        for at in range(done, seen):
            search.lift[at] = far - u[visited[at]]
            _relax(cost[visited[at]], search.lift[at], search.height, distance)
        done = seen
        far = int(_least(distance))
        for column in range(len(distance)):
            if distance[column] != far:
                continue
            if demand_left[column]:
                return column, far, seen, known
            search.passed[known], search.passed_at[known] = column, far
            known += 1
            distance[column], search.height[column] = infinite, number(-infinite)
            flow = flows.first[column]
            while flow != NONE:
                row = flows.origin[flow]
                if flows.amount[flow] and search.reached_by[row] == NONE and row != source:
                    search.reached_by[row] = column
                    visited[seen] = row
                    seen += 1
                flow = flows.after[flow]


@compiled
def _trace_back(source: int, goal: int, known: int, cost: Costs, v: Sums, search: Search) -> None:
    """Write the path backwards: of the rows that lead to a column in its distance, the first that was visited."""
    distance, visited, number = search.distance, search.visited, v.dtype.type
    for at in range(known):
        distance[search.passed[at]] = search.passed_at[at]
    column = goal
    while True:
        at = 0
        while number(search.lift[at] + cost[visited[at], column] - v[column]) != distance[column]:
            at += 1
        search.predecessor[column] = visited[at]
        if visited[at] == source:
            return
        column = search.reached_by[visited[at]]


@compiled
def _raise_potentials(source: int, far: int, seen: int, known: int, u: Sums, v: Sums, search: Search) -> None:
    """Keep all reduced costs at least 0, and 0 along the path."""
    u[source] += far
    for at in range(1, seen):
        row = search.visited[at]
        u[row] += far - search.distance[search.reached_by[row]]
    for at in range(known):
        column = search.passed[at]
        v[column] -= far - search.passed_at[at]
        search.height[column] = v[column]


@compiled
def _push(
    source: int, goal: int, supply_left: Int64, demand_left: Int64, flows: Flows, search: Search, used: int
) -> int:
    """Push as much along the path as possible; returns the number of flows."""
    pushed = min(supply_left[source], demand_left[goal])
    column = goal
    while search.predecessor[column] != source:
        row = search.predecessor[column]
        column = search.reached_by[row]
        pushed = min(pushed, flows.amount[_flow_of(row, column, flows)])
    supply_left[source] -= pushed
    demand_left[goal] -= pushed
    column = goal
    while True:
        row = search.predecessor[column]
        flow = _flow_of(row, column, flows)
        if flow == NONE:
            flow = used
            used += 1
            flows.origin[flow], flows.amount[flow], flows.after[flow] = row, 0, flows.first[column]
            flows.first[column] = flow
        flows.amount[flow] += pushed
        if row == source:
            return used
        column = search.reached_by[row]
        flows.amount[_flow_of(row, column, flows)] -= pushed


@compiled
def _relax(cost: Costs, lift: int, height: Sums, distance: Sums) -> None:
    """Relax the edges from a row to all columns; without branches and in one integer type, so that it is vectorized."""
    number = distance.dtype.type
    start = number(lift)
    for column in range(len(height)):
        distance[column] = min(distance[column], number(start + cost[column] - height[column]))


@compiled
def _least(distance: Sums) -> int:
    """The distance of the nearest column that was not passed."""
    least = distance[0]
    for column in range(len(distance)):
        least = min(least, distance[column])
    return int(least)


@compiled
def _tight_potentials(cost: Costs, infinite: np.int32 | np.int64) -> tuple[Sums, Sums]:
    """Potentials under which every reduced cost is at least 0, and 0 somewhere in every row."""
    rows, columns = cost.shape
    v = np.full(columns, infinite)
    number = v.dtype.type
    for row in range(rows):
        for column in range(columns):
            v[column] = min(v[column], number(cost[row, column]))
    u = np.empty(rows, dtype=v.dtype)
    for row in range(rows):
        least = number(infinite)
        for column in range(columns):
            least = min(least, number(cost[row, column] - v[column]))
        u[row] = least
    return u, v


@compiled
def _flow_of(row: int, column: int, flows: Flows) -> int:
    """The flow from a row to a column; NONE if there is none."""
    flow = flows.first[column]
    while flow != NONE and flows.origin[flow] != row:
        flow = flows.after[flow]
    return int(flow)


@compiled
def _listed(flows: Flows) -> tuple[Int32, Int32, Int64]:
    """The flows above 0, column after column."""
    count = 0
    for column in range(len(flows.first)):
        flow = flows.first[column]
        while flow != NONE:
            count += flows.amount[flow] > 0
            flow = flows.after[flow]
    rows, columns = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    amounts = np.empty(count, dtype=np.int64)
    at = 0
    for column in range(len(flows.first)):
        flow = flows.first[column]
        while flow != NONE:
            if flows.amount[flow] > 0:
                rows[at], columns[at], amounts[at] = flows.origin[flow], column, flows.amount[flow]
                at += 1
            flow = flows.after[flow]
    return rows, columns, amounts
