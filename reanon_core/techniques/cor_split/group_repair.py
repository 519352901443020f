"""Phase 4 by repair: where a group of the split is unsafe, it exchanges rows with its neighbours.

Neighbours in the order of the split are neighbours in space, so boxes hardly grow. A group that no exchange makes safe
is merged with a neighbour. A group that no merge makes safe gets a layer of counterfeits, which always helps.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int64
from reanon_core.techniques.cor_split.draft_groups import (
    BucketGroups,
    DraftGroups,
    exchange,
    merge,
    perimeter,
    undo_merge,
)
from reanon_core.techniques.cor_split.hc_safety import conflict, is_safe

NEAR, FAR = 4, 32
"""How many groups to either side are tried for an exchange: first the near ones, then all up to the far ones."""


class Bucket(NamedTuple):
    """The groups of one bucket that the split made."""

    begin: int
    end: int
    values: int


class Exchanges(NamedTuple):
    """Scratch space for the rows that two groups may exchange, one for each value."""

    value: Int64  # [values] in ascending order of cost
    cost: Int64  # [values]
    best: Int64  # [values] the values of the best exchange so far


@compiled
def repair(draft: DraftGroups, buckets: BucketGroups) -> None:
    """Make every new group safe.

    Paper: none; departure D1, in place of Figure 5.
    """
    reach = np.array([NEAR, FAR])  # literals would compile everything once more
    longest = 1
    for values in buckets.values:
        longest = max(longest, values)
    scratch = Exchanges(np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64))
    for at in range(len(buckets.values)):
        bucket = Bucket(buckets.first[at], buckets.first[at + 1], buckets.values[at])
        first_merged = draft.groups[0]
        left = 0
        for group in range(bucket.begin, bucket.end):
            if is_safe(draft, group):
                continue
            if not _exchange_rows(draft, group, bucket, reach[0], scratch) and not _exchange_rows(
                draft, group, bucket, reach[1], scratch
            ):
                left += 1
        if left == 0:
            continue
        for group in range(bucket.begin, bucket.end):
            if not draft.alive[group] or is_safe(draft, group):
                continue
            if not _merge_with_neighbour(draft, group, bucket, first_merged):
                draft.membership.size[group] += bucket.values


@compiled
def _exchange_rows(draft: DraftGroups, group: int, bucket: Bucket, reach: int, scratch: Exchanges) -> bool:
    """Exchange rows with the neighbour with which that costs least, if it makes both groups safe."""
    first = draft.membership.first
    unsafe_with, surplus = conflict(draft, group)
    own = perimeter(draft, group)
    partner, cost, moved = -1, 0, 0
    for distance in range(1, reach + 1):
        for other in (group - distance, group + distance):
            if other < bucket.begin or other >= bucket.end or not draft.alive[other]:
                continue
            before = own + perimeter(draft, other)
            listed = _rank_exchanges(draft, group, other, unsafe_with, bucket.values, scratch)
            taken = 0
            for i in range(min(listed, bucket.values - 1)):
                exchange(draft, first[group] + scratch.value[i], first[other] + scratch.value[i])
                taken += 1
                if taken < surplus:
                    continue
                more = perimeter(draft, group) + perimeter(draft, other) - before
                if partner >= 0 and more >= cost:
                    break
                if is_safe(draft, group) and is_safe(draft, other):
                    partner, cost, moved = other, more, taken
                    scratch.best[:taken] = scratch.value[:taken]
                    break
            for i in range(taken):
                exchange(draft, first[group] + scratch.value[i], first[other] + scratch.value[i])
        if partner >= 0 and distance >= NEAR:
            break
    for i in range(moved):
        exchange(draft, first[group] + scratch.best[i], first[partner] + scratch.best[i])
    return partner >= 0


@compiled
def _rank_exchanges(
    draft: DraftGroups, group: int, other: int, unsafe_with: int, values: int, scratch: Exchanges
) -> int:
    """Rank the values whose row in the group was in the conflicting one, by the cost of exchanging that row alone."""
    first, value, cost = draft.membership.first, scratch.value, scratch.cost
    listed = 0
    for candidate in range(values):
        mine, theirs = first[group] + candidate, first[other] + candidate
        if not _was_in(draft, mine, unsafe_with):
            continue
        exchange(draft, mine, theirs)
        alone = perimeter(draft, group) + perimeter(draft, other)
        exchange(draft, mine, theirs)
        at = listed
        while at > 0 and cost[at - 1] > alone:
            cost[at], value[at] = cost[at - 1], value[at - 1]
            at -= 1
        cost[at], value[at] = alone, candidate
        listed += 1
    return listed


@compiled
def _was_in(draft: DraftGroups, place: int, group: int) -> bool:
    """Whether the person at this place was in that group before."""
    entry = draft.membership.previous[place]
    while entry >= 0:
        if draft.membership.group[entry] == group:
            return True
        entry = draft.membership.previous[entry]
    return False


@compiled
def _merge_with_neighbour(draft: DraftGroups, group: int, bucket: Bucket, first_merged: int) -> bool:
    """Merge with the neighbour, or the merged group of this bucket, with which the box grows least."""
    size = draft.membership.size
    partner, cost = -1, 0
    near, far = max(bucket.begin, group - FAR), min(bucket.end, group + FAR + 1)
    merged_end = draft.groups[0]
    for at in range((far - near) + (merged_end - first_merged)):
        other = near + at if at < far - near else first_merged + at - (far - near)
        if other == group or not draft.alive[other]:
            continue
        whole = merge(draft, group, other)
        if whole < 0:
            continue
        growth = perimeter(draft, whole) * size[whole] - perimeter(draft, other) * size[other]
        if (partner < 0 or growth < cost) and is_safe(draft, whole):
            partner, cost = other, growth
        undo_merge(draft, group, other)
    if partner < 0:
        return False
    return merge(draft, group, partner) >= 0
