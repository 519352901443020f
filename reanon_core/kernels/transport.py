"""The transportation problem: move supplies to demands at the least total cost, exactly, in integers."""

import numpy as np
import numpy.typing as npt

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64

Costs = npt.NDArray[np.int16] | Int32 | Int64
Sums = npt.NDArray[np.int32 | np.int64]

NONE = -1


@compiled
def transport(cost: Costs, supply: Int64, demand: Int64, infinite: np.int32 | np.int64) -> tuple[Int32, Int32, Int64]:
    """The flows of a cheapest way to empty all supplies into all demands: from, to and amount of each.

    Shortest augmenting paths with potentials: reduced costs never get negative, so that each path is found in one sweep
    and the flow is optimal at the end. A cheap start along tight pairs leaves few paths to be found.

    Requires: cost[supplies, demands] at least 0; supplies and demands above 0, with the same sum; `infinite` at least
    four times the greatest cost times the number of supplies and demands, and twice of it a number of its own type,
    which is that of all sums. Costs themselves may be of a smaller type: the less memory, the faster.
    """
    rows, columns = cost.shape
    left, lacking = supply.copy(), demand.copy()
    u, v = _tight_potentials(cost, infinite)
    # The flow into each column as a linked list: the places of one column follow each other through `after`.
    first = np.full(columns, NONE, dtype=np.int32)
    room = 2 * (rows + columns) + 16
    after, origin = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    amount = np.empty(room, dtype=np.int64)
    used = 0
    for row in range(rows):
        for column in range(columns):
            if left[row] == 0:
                break
            if lacking[column] and cost[row, column] - u[row] - v[column] == 0:
                pushed = min(left[row], lacking[column])
                left[row] -= pushed
                lacking[column] -= pushed
                origin[used], amount[used], after[used] = row, pushed, first[column]
                first[column] = used
                used += 1

    number = v.dtype.type
    distance = np.empty(columns, dtype=v.dtype)
    height = v.copy()  # the potentials of the columns; of those that were passed, so low that no way leads there
    reached_by = np.full(rows, NONE, dtype=np.int32)  # the column over which a row is reached
    visited, lift = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=v.dtype)
    passed, passed_at = np.empty(columns, dtype=np.int32), np.empty(columns, dtype=v.dtype)
    come_from = np.empty(columns, dtype=np.int32)  # the row over which a column of the path is reached
    for source in range(rows):
        while left[source]:
            # -- find the nearest column that lacks something
            distance[:] = infinite
            visited[0], seen, done, known = source, 1, 0, 0
            goal, far = NONE, 0
            while goal == NONE:
                for at in range(done, seen):
                    lift[at] = far - u[visited[at]]
                    _relax(cost[visited[at]], lift[at], height, distance)
                done = seen
                far = int(_least(distance))
                for column in range(columns):
                    if distance[column] == far:
                        if lacking[column]:
                            goal = column
                            break
                        passed[known], passed_at[known] = column, far
                        known += 1
                        distance[column], height[column] = infinite, number(-infinite)
                        flow = first[column]
                        while flow != NONE:
                            row = origin[flow]
                            if amount[flow] and reached_by[row] == NONE and row != source:
                                reached_by[row] = column
                                visited[seen] = row
                                seen += 1
                            flow = after[flow]
            # -- find the way back: of the rows that lead so far to a column, the first that was visited
            for at in range(known):
                distance[passed[at]], height[passed[at]] = passed_at[at], v[passed[at]]
            column = goal
            while True:
                at = 0
                while number(lift[at] + cost[visited[at], column] - v[column]) != distance[column]:
                    at += 1
                come_from[column] = visited[at]
                if visited[at] == source:
                    break
                column = reached_by[visited[at]]
            # -- keep all reduced costs at least 0
            u[source] += far
            for at in range(1, seen):
                u[visited[at]] += far - distance[reached_by[visited[at]]]
            for at in range(known):
                v[passed[at]] -= far - passed_at[at]
                height[passed[at]] = v[passed[at]]
            # -- push as much as the path carries
            pushed = min(left[source], lacking[goal])
            column = goal
            while come_from[column] != source:
                row = come_from[column]
                column = reached_by[row]
                pushed = min(pushed, amount[_flow_of(row, column, first, after, origin)])
            left[source] -= pushed
            lacking[goal] -= pushed
            column = goal
            while True:
                row = come_from[column]
                flow = _flow_of(row, column, first, after, origin)
                if flow == NONE:
                    if used == room:
                        room *= 2
                        after, origin = _grown(after, room), _grown(origin, room)
                        amount = _grown64(amount, room)
                    origin[used], amount[used], after[used] = row, 0, first[column]
                    first[column] = used
                    flow = used
                    used += 1
                amount[flow] += pushed
                if row == source:
                    break
                column = reached_by[row]
                amount[_flow_of(row, column, first, after, origin)] -= pushed
            for at in range(1, seen):
                reached_by[visited[at]] = NONE
    return _listed(first, after, origin, amount)


@compiled
def _relax(cost: Costs, lift: int, height: Sums, distance: Sums) -> None:
    """Go on from a row to every column: without branches, in one width of numbers, so that several are done at once."""
    number = distance.dtype.type
    start = number(lift)
    for column in range(len(height)):
        distance[column] = min(distance[column], number(start + cost[column] - height[column]))


@compiled
def _least(distance: Sums) -> int:
    """The distance of the nearest column."""
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
def _flow_of(row: int, column: int, first: Int32, after: Int32, origin: Int32) -> int:
    """The place of the flow from a row to a column; NONE if there is none."""
    flow = first[column]
    while flow != NONE and origin[flow] != row:
        flow = after[flow]
    return int(flow)


@compiled
def _grown(array: Int32, room: int) -> Int32:
    larger = np.empty(room, dtype=np.int32)
    larger[: len(array)] = array
    return larger


@compiled
def _grown64(array: Int64, room: int) -> Int64:
    larger = np.empty(room, dtype=np.int64)
    larger[: len(array)] = array
    return larger


@compiled
def _listed(first: Int32, after: Int32, origin: Int32, amount: Int64) -> tuple[Int32, Int32, Int64]:
    """The flows above 0, column after column."""
    count = 0
    for column in range(len(first)):
        flow = first[column]
        while flow != NONE:
            count += amount[flow] > 0
            flow = after[flow]
    rows, columns = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    amounts = np.empty(count, dtype=np.int64)
    at = 0
    for column in range(len(first)):
        flow = first[column]
        while flow != NONE:
            if amount[flow] > 0:
                rows[at], columns[at], amounts[at] = origin[flow], column, amount[flow]
                at += 1
            flow = after[flow]
    return rows, columns, amounts
