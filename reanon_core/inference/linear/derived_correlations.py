"""Derived correlations: signed sums of groups in which nearly everybody cancels.

A group says: of each value, so many of my rows. Add some groups and subtract others; whoever is left with a weight
stands in an equation of few people. If the added and the subtracted groups have the same rows, the people on either
side have the same values. Two groups give the historical correlations of [RB09]; more groups undo merges and close
chains (specification, C3).

The search is exact for sums with weights +1 and -1 of at most `most` groups: what is left of a side must be covered by
the groups still to come, so that one of them covers its share. Only such groups are looked at, and they are found
through the people whom they cover.
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int8, Int16, Int32, Int64


@compiled
def derived(
    person: Int32,
    group: Int32,
    previous: Int32,
    latest: Int32,
    first: Int64,
    size: Int32,
    start: int,
    bound: int,
    most: int,
    weight: Int8,  # [people] zeros; left as found
    count: Int16,  # [groups] zeros; left as found
    stacked: Int32,  # [most + 1, room] candidates of each depth
    support: Int32,  # [room] people with a weight
    touched: Int32,  # [room] groups that were counted
    combination: Int32,  # [found, most] the groups of each sum, -1 beyond the last
    signs: Int8,  # [found, most]
) -> int:
    """Write down sums that begin with +`start` and leave at most `bound` on each side, but not nothing; how many.

    Stops when `combination` is full. Counterfeits and strangers never cancel.
    """
    chosen, sign = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int8)
    number, at = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    mass = np.zeros(4, dtype=np.int64)  # added, subtracted; and of these what can never cancel
    found, held = 0, 0
    chosen[0], sign[0] = start, 1
    held = _add(person, first, size, start, 1, weight, support, held, mass)
    depth = 1
    number[1] = _candidates(
        group,
        previous,
        latest,
        size,
        bound,
        most,
        1,
        chosen,
        sign,
        weight,
        count,
        support,
        held,
        mass,
        touched,
        stacked[1],
    )
    while depth > 0:
        if at[depth] == number[depth]:
            at[depth] = 0
            depth -= 1
            _remove(person, first, size, chosen[depth], sign[depth], weight, mass)
            continue
        other = stacked[depth, at[depth]]
        at[depth] += 1
        chosen[depth] = other
        held = _add(person, first, size, other, sign[depth], weight, support, held, mass)
        if mass[0] <= bound and mass[1] <= bound:
            if mass[0] + mass[1] > 0:
                combination[found, :] = -1
                for i in range(depth + 1):
                    combination[found, i], signs[found, i] = chosen[i], sign[i]
                found += 1
                if found == len(combination):
                    break
            _remove(person, first, size, other, sign[depth], weight, mass)
        elif depth + 1 < most:
            depth += 1
            number[depth] = _candidates(
                group,
                previous,
                latest,
                size,
                bound,
                most,
                depth,
                chosen,
                sign,
                weight,
                count,
                support,
                held,
                mass,
                touched,
                stacked[depth],
            )
        else:
            _remove(person, first, size, other, sign[depth], weight, mass)
    for i in range(held):
        weight[support[i]] = 0
    return found


@compiled
def _add(
    person: Int32,
    first: Int64,
    size: Int32,
    group: int,
    sign: int,
    weight: Int8,
    support: Int32,
    held: int,
    mass: Int64,
) -> int:
    """Add a group to the sum; how many people are in the support then, those without a weight included."""
    people = 0
    for entry in range(first[group], first[group + 1]):
        who = person[entry]
        if who < 0:
            continue
        people += 1
        if weight[who] == 0:
            known = False
            for i in range(held):
                known = known or support[i] == who
            if not known:
                support[held] = who
                held += 1
        _shift(weight, who, sign, mass)
    side = 0 if sign > 0 else 1
    mass[side] += size[group] - people
    mass[2 + side] += size[group] - people
    return held


@compiled
def _remove(person: Int32, first: Int64, size: Int32, group: int, sign: int, weight: Int8, mass: Int64) -> None:
    """Take a group out of the sum again."""
    people = 0
    for entry in range(first[group], first[group + 1]):
        if person[entry] >= 0:
            people += 1
            _shift(weight, person[entry], -sign, mass)
    side = 0 if sign > 0 else 1
    mass[side] -= size[group] - people
    mass[2 + side] -= size[group] - people


@compiled
def _shift(weight: Int8, who: int, sign: int, mass: Int64) -> None:
    """Move a person's weight by one, and the masses with it."""
    if weight[who] * sign < 0:
        mass[0 if weight[who] > 0 else 1] -= 1
    else:
        mass[0 if sign > 0 else 1] += 1
    weight[who] += sign


@compiled
def _candidates(
    group: Int32,
    previous: Int32,
    latest: Int32,
    size: Int32,
    bound: int,
    most: int,
    depth: int,
    chosen: Int32,
    sign: Int8,
    weight: Int8,
    count: Int16,
    support: Int32,
    held: int,
    mass: Int64,
    touched: Int32,
    listed: Int32,
) -> int:
    """The groups of which one must be in every sum that goes on from here; how many. sign[depth] is their sign.

    What is above the bound on the heavier side must be covered by the groups to come, so one of them covers its share.
    """
    if mass[2] > bound or mass[3] > bound:
        return 0
    side = 0 if mass[0] >= mass[1] else 1
    to_come = most - depth
    if mass[1 - side] > bound:
        to_come -= 1  # one of them must go to the other side
    if to_come <= 0:
        return 0
    share = (mass[side] - bound + to_come - 1) // to_come
    last = depth + 1 == most
    if last and mass[side] == mass[1 - side]:
        return 0
    sign[depth] = -1 if side == 0 else 1
    counted = _covering(group, previous, latest, side, weight, count, support, held, touched)
    total = 0
    for i in range(counted):
        other = touched[i]
        covers = count[other]
        count[other] = 0
        if covers < share or (last and size[other] != mass[side] - mass[1 - side]):
            continue
        used = False
        for j in range(depth):
            used = used or chosen[j] == other
        if not used:
            listed[total] = other
            total += 1
    return total


@compiled
def _covering(
    group: Int32,
    previous: Int32,
    latest: Int32,
    side: int,
    weight: Int8,
    count: Int16,
    support: Int32,
    held: int,
    touched: Int32,
) -> int:
    """Count for every group how many people of one side it covers; how many groups were touched."""
    counted = 0
    for i in range(held):
        who = support[i]
        if (weight[who] > 0 and side == 0) or (weight[who] < 0 and side == 1):
            entry = latest[who]
            while entry >= 0:
                other = group[entry]
                if count[other] == 0:
                    touched[counted] = other
                    counted += 1
                count[other] += 1
                entry = previous[entry]
    return counted
