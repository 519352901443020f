"""Phase 4 by repair: where a group of the split is unsafe, its rows change places with those of its neighbours.

Neighbours in the order of the split are neighbours in space, so that boxes hardly grow. What no exchange can mend is
merged with a neighbour; what no merge can mend gets a layer of counterfeits, which always helps (specification, C6).
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64
from reanon_core.techniques.cor_split.draft_groups import Loom, exchange, merge, part, perimeter
from reanon_core.techniques.cor_split.hc_safety import SAFE, offender

NEAR, FAR = 4, 32
"""How many groups to either side are tried for an exchange, at first and then."""


@compiled
def repair(loom: Loom, begin: Int64, lists: Int64) -> Int64:
    """Make every new group safe. `begin` [b + 1] is the first group of each bucket, `lists` [b] its number of values.

    Returns how many groups were unsafe, exchanged, merged, and given a layer.
    Paper: [RB09] Figure 5 with departure D1.
    """
    done = np.zeros(4, dtype=np.int64)
    reach = np.array([NEAR, FAR])  # literals would compile everything once more
    longest = 1
    for bucket in range(len(lists)):
        longest = max(longest, lists[bucket])
    which, delta = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    best = np.empty(longest, dtype=np.int64)
    for bucket in range(len(lists)):
        low, high = begin[bucket], begin[bucket + 1]
        merged = loom.ends[1]
        left = 0
        for group in range(low, high):
            if offender(loom, group)[0] == SAFE:
                continue
            done[0] += 1
            if _exchanged(loom, group, low, high, lists[bucket], reach[0], which, delta, best) or _exchanged(
                loom, group, low, high, lists[bucket], reach[1], which, delta, best
            ):
                done[1] += 1
            else:
                left += 1
        if left == 0:
            continue
        for group in range(low, high):
            if not loom.alive[group] or offender(loom, group)[0] == SAFE:
                continue
            if _merged(loom, group, low, high, merged):
                done[2] += 1
            else:
                loom.size[group] += lists[bucket]
                done[3] += 1
    return done


@compiled
def _exchanged(
    loom: Loom, group: int, low: int, high: int, lists: int, reach: int, which: Int64, delta: Int64, best: Int64
) -> bool:
    """Exchange rows with the neighbour with which that costs the least, if it makes both safe."""
    bad, surplus = offender(loom, group)
    own = perimeter(loom, group)
    partner, cost, moved = -1, 0, 0
    for distance in range(1, reach + 1):
        for other in (group - distance, group + distance):
            if other < low or other >= high or not loom.alive[other]:
                continue
            before = own + perimeter(loom, other)
            listed = _ranked(loom, group, other, lists, bad, which, delta)
            taken = 0
            for i in range(min(listed, lists - 1)):
                exchange(loom, loom.first[group] + which[i], loom.first[other] + which[i])
                taken += 1
                if taken < surplus:
                    continue
                more = perimeter(loom, group) + perimeter(loom, other) - before
                if partner >= 0 and more >= cost:
                    break
                if offender(loom, group)[0] == SAFE and offender(loom, other)[0] == SAFE:
                    partner, cost, moved = other, more, taken
                    best[:taken] = which[:taken]
                    break
            for i in range(taken):
                exchange(loom, loom.first[group] + which[i], loom.first[other] + which[i])
        if partner >= 0 and distance >= NEAR:
            break
    for i in range(moved):
        exchange(loom, loom.first[group] + best[i], loom.first[partner] + best[i])
    return partner >= 0


@compiled
def _ranked(loom: Loom, group: int, other: int, lists: int, bad: int, which: Int64, delta: Int64) -> int:
    """The values whose row in the group stood in the bad one, by what it costs to exchange that row alone."""
    listed = 0
    for value in range(lists):
        mine, theirs = loom.first[group] + value, loom.first[other] + value
        if not _stood(loom, mine, bad):
            continue
        exchange(loom, mine, theirs)
        cost = perimeter(loom, group) + perimeter(loom, other)
        exchange(loom, mine, theirs)
        at = listed
        while at > 0 and delta[at - 1] > cost:
            delta[at], which[at] = delta[at - 1], which[at - 1]
            at -= 1
        delta[at], which[at] = cost, value
        listed += 1
    return listed


@compiled
def _stood(loom: Loom, place: int, group: int) -> bool:
    """Whether the person at this place stood in that group before."""
    entry = loom.previous[place]
    while entry >= 0:
        if loom.group[entry] == group:
            return True
        entry = loom.previous[entry]
    return False


@compiled
def _merged(loom: Loom, group: int, low: int, high: int, first_merged: int) -> bool:
    """Merge with the neighbour, or with the merged group of this bucket, with which the box grows least."""
    partner, cost = -1, 0
    near, far = max(low, group - FAR), min(high, group + FAR + 1)
    merged_end = loom.ends[1]
    for at in range((far - near) + (merged_end - first_merged)):
        other = near + at if at < far - near else first_merged + at - (far - near)
        if other == group or not loom.alive[other]:
            continue
        whole = merge(loom, group, other)
        if whole < 0:
            continue
        grown = perimeter(loom, whole) * (loom.size[whole]) - perimeter(loom, other) * loom.size[other]
        if (partner < 0 or grown < cost) and offender(loom, whole)[0] == SAFE:
            partner, cost = other, grown
        part(loom, group, other)
    if partner < 0:
        return False
    return merge(loom, group, partner) >= 0


@compiled
def woven(loom: Loom, entry_group: Int32) -> tuple[int, int]:
    """Close the gaps that merged groups left; the places and groups in use. `entry_group` [e] is brought up to date."""
    past, past_groups = loom.past[0], loom.past[1]
    places, groups = loom.ends[0] - past, loom.ends[1] - past_groups
    held, person = loom.held[:places].copy(), loom.person[past : past + places].copy()
    first, size = loom.first[past_groups : past_groups + groups + 1].copy(), loom.size[past_groups:].copy()
    previous = loom.previous[past : past + places].copy()
    number, place = past_groups, past
    for group in range(groups):
        if not loom.alive[past_groups + group]:
            continue
        for source in range(first[group] - past, first[group + 1] - past):
            entry_group[held[source]] = number - past_groups
            loom.held[place - past] = held[source]
            loom.person[place], loom.previous[place], loom.group[place] = person[source], previous[source], number
            if person[source] >= 0:
                loom.latest[person[source]] = place
            place += 1
        loom.first[number + 1] = place
        loom.size[number] = size[group]
        number += 1
    return place, number
