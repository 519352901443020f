"""Phase 4 by the letter: groups from the heads of one list for each attribute."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64, UInt64
from reanon_core.techniques.cor_split.draft_groups import MERGED, Loom, exchange, merge, part, perimeter
from reanon_core.techniques.cor_split.hc_safety import SAFE, offender


@compiled
def cor_partition(loom: Loom, begin: Int64, lists: Int64, order: Int32, starts: Int64, coins: UInt64) -> Int64:
    """Partition every bucket as in the paper; how many groups were merged, and how many got a layer.

    `order` [d, e] holds the entries of each slot sorted by each attribute, `starts` [slots + 1] where slots begin,
    `coins` random words.
    Paper: [RB09] Figure 5, with departures D2 and D4.
    """
    done = np.zeros(2, dtype=np.int64)
    slot, coin = done[0], done[0]  # zeros; literals would compile everything once more
    where = np.empty(len(loom.row), dtype=np.int64)  # the place of each entry
    for place in range(loom.past[0], loom.past[0] + len(loom.row)):
        where[loom.held[place - loom.past[0]]] = place
    used = np.zeros(len(loom.row), dtype=np.bool_)
    for bucket in range(len(lists)):
        values, low, high = lists[bucket], begin[bucket], begin[bucket + 1]
        live, lively = np.empty(high - low, dtype=np.int64), done[0] - done[0]
        heads = np.zeros((len(order), values), dtype=np.int64)
        chosen, best = np.empty(values, dtype=np.int32), np.empty(values, dtype=np.int32)
        for group in range(low, high):
            best_merged, best_cost = -1, 0
            for attribute in range(len(order)):
                merged, coin = _candidate(
                    loom,
                    group,
                    order[attribute],
                    starts,
                    slot,
                    values,
                    heads[attribute],
                    used,
                    where,
                    coins,
                    coin,
                    live,
                    lively,
                    chosen,
                )
                cost = perimeter(loom, group)
                if best_merged < 0 or (merged, cost) < (best_merged, best_cost):
                    best_merged, best_cost = merged, cost
                    best[:] = chosen
            _take(loom, group, best, where)
            for entry in best:
                used[entry] = True
            lively = _settle(loom, group, values, best_merged, live, lively, done)
        slot += values
    return done


@compiled
def _candidate(
    loom: Loom,
    group: int,
    order: Int32,
    starts: Int64,
    slot: int,
    values: int,
    heads: Int64,
    used: Bool,
    where: Int64,
    coins: UInt64,
    coin: int,
    live: Int64,
    lively: int,
    chosen: Int32,
) -> tuple[int, int]:
    """The group that one list offers, put in place; how many earlier groups it must be merged with, MERGED for a layer.

    Paper: [RB09] Figure 5, lines 6 to 13: discard random rows until the group is safe or a value has run out.
    """
    turn = np.zeros(values, dtype=np.int64)  # how far each list was walked past what is discarded
    for value in range(values):
        begin, end = starts[slot + value], starts[slot + value + 1]
        while heads[value] < end - begin and used[order[begin + heads[value]]]:
            heads[value] += 1
        turn[value] = heads[value]
        chosen[value] = order[begin + heads[value]]
    first = chosen.copy()
    while True:
        _take(loom, group, chosen, where)
        if offender(loom, group)[0] == SAFE:
            return 0, coin
        value = int(coins[coin % len(coins)] % np.uint64(values))
        coin += 1
        begin, end = starts[slot + value], starts[slot + value + 1]
        turn[value] += 1
        while turn[value] < end - begin and used[order[begin + turn[value]]]:
            turn[value] += 1
        if turn[value] == end - begin:
            break
        chosen[value] = order[begin + turn[value]]
    chosen[:] = first
    _take(loom, group, chosen, where)
    return _merges_needed(loom, group, live, lively), coin


@compiled
def _take(loom: Loom, group: int, chosen: Int32, where: Int64) -> None:
    """Bring the chosen entries to the places of the group; what stood there takes theirs."""
    for value in range(len(chosen)):
        here, there = loom.first[group] + value, where[chosen[value]]
        if here != there:
            where[loom.held[here - loom.past[0]]] = there
            where[chosen[value]] = here
            exchange(loom, here, there)


@compiled
def _merges_needed(loom: Loom, group: int, live: Int64, lively: int) -> int:
    """With how many earlier groups, newest first, the group must be merged to be safe; MERGED if that does not help."""
    wholes = np.empty(MERGED, dtype=np.int64)
    wholes[0] = group
    merges, needed = 0, MERGED
    while merges + 1 < MERGED and merges < lively:
        whole = merge(loom, wholes[merges], live[lively - 1 - merges])
        if whole < 0:
            break
        merges += 1
        wholes[merges] = whole
        if offender(loom, whole)[0] == SAFE:
            needed = merges
            break
    for i in range(merges - 1, -1, -1):
        part(loom, wholes[i], live[lively - 1 - i])
    return needed


@compiled
def _settle(loom: Loom, group: int, values: int, merges: int, live: Int64, lively: int, done: Int64) -> int:
    """Merge the group, or give it a layer, as was found; how many groups of the bucket there are then."""
    whole = group
    if merges == MERGED:
        loom.size[group] += values
        done[1] += 1
    else:
        for _ in range(merges):
            whole = merge(loom, whole, live[lively - 1])
            lively -= 1
            done[0] += 1
    live[lively] = whole
    return lively + 1
