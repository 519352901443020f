"""Cor-Partition as in the paper: groups from the heads of one sorted list for each attribute."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64, UInt64
from reanon_core.techniques.cor_split.draft_groups import (
    MERGED,
    BucketGroups,
    DraftGroups,
    exchange,
    merge,
    perimeter,
    undo_merge,
)
from reanon_core.techniques.cor_split.hc_safety import is_safe


class SortedEntries(NamedTuple):
    """The entries of the layout, sorted within each slot by each attribute."""

    order: Int32  # [d, e]
    starts: Int64  # [slots + 1] where each slot begins
    random: UInt64  # [words] random words for discarding entries


class EntryProgress(NamedTuple):
    """Where each entry is, and which entries already belong to a group."""

    place: Int64  # [e]
    used: Bool  # [e]
    drawn: Int64  # [1] how many random words were drawn


class BucketProgress(NamedTuple):
    """The bucket that is being partitioned."""

    slot: int
    """Its first slot."""
    values: int
    heads: Int64  # [d, values] the first entry of each list that may be unused
    groups: Int64  # [groups of the split] the groups made so far
    made: Int64  # [1] how many groups were made
    chosen: Int32  # [values] the entries of the candidate


@compiled
def cor_partition(draft: DraftGroups, buckets: BucketGroups, entries: SortedEntries) -> None:
    """Partition every bucket into hc-safe groups.

    Paper: [RB09] Figure 5, Cor-Partition, with departures D2 and D4.
    """
    total = len(draft.row)
    progress = EntryProgress(np.empty(total, np.int64), np.zeros(total, np.bool_), np.zeros(1, np.int64))
    for place in range(draft.past_places, draft.past_places + total):
        progress.place[draft.entry[place - draft.past_places]] = place
    slot = progress.drawn[0]  # zero; a literal would compile everything once more
    for at in range(len(buckets.values)):
        values, low, high = buckets.values[at], buckets.first[at], buckets.first[at + 1]
        bucket = BucketProgress(
            slot,
            values,
            np.zeros((len(entries.order), values), np.int64),
            np.empty(high - low, np.int64),
            np.zeros(1, np.int64),
            np.empty(values, np.int32),
        )
        best = np.empty(values, np.int32)
        for group in range(low, high):  # lines 3 to 19
            best_merges, best_cost = -1, 0
            for attribute in range(len(entries.order)):
                merges = _propose(draft, group, attribute, entries, bucket, progress)
                cost = perimeter(draft, group)
                if best_merges < 0 or (merges, cost) < (best_merges, best_cost):  # line 15 (departure D4)
                    best_merges, best_cost = merges, cost
                    best[:] = bucket.chosen
            _place(draft, group, best, progress)
            for entry in best:  # lines 17 and 18
                progress.used[entry] = True
            _finish(draft, group, best_merges, bucket)
        slot += values


@compiled
def _propose(
    draft: DraftGroups,
    group: int,
    attribute: int,
    entries: SortedEntries,
    bucket: BucketProgress,
    progress: EntryProgress,
) -> int:
    """Fill the group from the list of one attribute; with how many earlier groups it must merge, MERGED for a layer.

    Paper: [RB09] Figure 5, lines 6 to 13.
    """
    order, starts, used = entries.order[attribute], entries.starts[bucket.slot :], progress.used
    heads, chosen = bucket.heads[attribute], bucket.chosen
    turn = np.zeros(bucket.values, dtype=np.int64)  # the position in each list, beyond what is discarded
    for value in range(bucket.values):
        begin, end = starts[value], starts[value + 1]
        while heads[value] < end - begin and used[order[begin + heads[value]]]:
            heads[value] += 1
        turn[value] = heads[value]
        chosen[value] = order[begin + heads[value]]
    first = chosen.copy()
    while True:  # lines 6 to 8: discard random rows until the group is safe or a value has run out
        _place(draft, group, chosen, progress)
        if is_safe(draft, group):
            return 0
        value = int(entries.random[progress.drawn[0] % len(entries.random)] % np.uint64(bucket.values))
        progress.drawn[0] += 1
        begin, end = starts[value], starts[value + 1]
        turn[value] += 1
        while turn[value] < end - begin and used[order[begin + turn[value]]]:
            turn[value] += 1
        if turn[value] == end - begin:
            break
        chosen[value] = order[begin + turn[value]]
    chosen[:] = first  # line 9
    _place(draft, group, chosen, progress)
    return _count_merges(draft, group, bucket)


@compiled
def _place(draft: DraftGroups, group: int, chosen: Int32, progress: EntryProgress) -> None:
    """Move the chosen entries to the places of the group, in exchange for the entries there."""
    for value in range(len(chosen)):
        here, there = draft.membership.first[group] + value, progress.place[chosen[value]]
        if here != there:
            progress.place[draft.entry[here - draft.past_places]] = there
            progress.place[chosen[value]] = here
            exchange(draft, here, there)


@compiled
def _count_merges(draft: DraftGroups, group: int, bucket: BucketProgress) -> int:
    """With how many earlier groups, latest first, the group must be merged to be safe; MERGED if that does not help."""
    wholes = np.empty(MERGED, dtype=np.int64)
    wholes[0] = group
    made = bucket.made[0]
    merges, needed = 0, MERGED
    while merges + 1 < MERGED and merges < made:  # lines 10 to 12
        whole = merge(draft, wholes[merges], bucket.groups[made - 1 - merges])
        if whole < 0:
            break
        merges += 1
        wholes[merges] = whole
        if is_safe(draft, whole):
            needed = merges
            break
    for i in range(merges - 1, -1, -1):
        undo_merge(draft, wholes[i], bucket.groups[made - 1 - i])
    return needed


@compiled
def _finish(draft: DraftGroups, group: int, merges: int, bucket: BucketProgress) -> None:
    """Merge the group with that many earlier ones, or add a layer, and list it among the groups of the bucket."""
    whole = group
    if merges == MERGED:
        draft.membership.size[group] += bucket.values  # line 13 (departure D2)
    else:
        for _ in range(merges):
            bucket.made[0] -= 1
            whole = merge(draft, whole, bucket.groups[bucket.made[0]])
    bucket.groups[bucket.made[0]] = whole
    bucket.made[0] += 1
