"""Derived correlations: signed sums of groups in which nearly everyone cancels.

A group states how many of its people have each value. Add some groups and subtract others: the people who are left with
a weight form an equation. If the added and the subtracted groups show the same values, the people on either side have
the same values. Two groups give the historical correlations of [RB09]; more groups undo merges and close chains.

The search is exact for sums with weights +1 and -1 of at most `most` groups. What exceeds the bound on one side must be
cancelled by the groups still to come, so one of them cancels its share. Only such groups are tried, and they are found
through the people whom they cancel.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Int8, Int16, Int32, Int64

ADDED, SUBTRACTED = 0, 1
"""The two sides of a sum."""


class SumScratch(NamedTuple):
    """The sum under construction, and scratch space for its search. `room` is the most people or groups it can meet."""

    weight: Int8  # [people] the weight of each person in the sum; zeros between calls
    support: Int32  # [room] people who have, or had, a weight
    chosen: Int32  # [most] the groups of the sum
    sign: Int8  # [most] and their signs
    left: Int64  # [2] the weight that is left on each side
    fixed: Int64  # [2] the part of it that can never cancel: rows of no identified person
    candidates: Int32  # [most + 1, room] the groups to try at each depth
    tally: Int16  # [groups] how many people of one side a group has; zeros between calls
    touched: Int32  # [room] the groups with a tally


class Sums(NamedTuple):
    """Room for the sums that a search finds."""

    group: Int32  # [sums, most] the groups of each sum, -1 beyond the last
    sign: Int8  # [sums, most]


@compiled
def sum_scratch(people: int, groups: int, most: int, room: int) -> SumScratch:
    """Scratch space for sums of at most `most` groups."""
    return SumScratch(
        np.zeros(people, np.int8),
        np.empty(room, np.int32),
        np.zeros(most, np.int32),
        np.zeros(most, np.int8),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.empty((most + 1, room), np.int32),
        np.zeros(groups, np.int16),
        np.empty(room, np.int32),
    )


@compiled
def derived_sums(membership: Membership, start: int, bound: int, most: int, scratch: SumScratch, found: Sums) -> int:
    """Find sums that begin with +`start` and leave at most `bound` on each side, but not nothing; how many.

    The search stops when `found` is full. Rows of no identified person never cancel.
    """
    chosen, sign, left = scratch.chosen, scratch.sign, scratch.left
    number, at = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    left[:] = 0
    scratch.fixed[:] = 0
    total, held = 0, 0
    chosen[0], sign[0] = start, 1
    held = _add(membership, scratch, start, 1, held)
    depth = 1
    number[1] = _list_candidates(membership, scratch, bound, most, 1, held)
    while depth > 0:
        if at[depth] == number[depth]:
            at[depth] = 0
            depth -= 1
            _remove(membership, scratch, chosen[depth], sign[depth])
            continue
        other = scratch.candidates[depth, at[depth]]
        at[depth] += 1
        chosen[depth] = other
        held = _add(membership, scratch, other, sign[depth], held)
        if left[ADDED] <= bound and left[SUBTRACTED] <= bound:
            if left[ADDED] + left[SUBTRACTED] > 0:
                found.group[total, :] = -1
                for i in range(depth + 1):
                    found.group[total, i], found.sign[total, i] = chosen[i], sign[i]
                total += 1
                if total == len(found.group):
                    break
            _remove(membership, scratch, other, sign[depth])
        elif depth + 1 < most:
            depth += 1
            number[depth] = _list_candidates(membership, scratch, bound, most, depth, held)
        else:
            _remove(membership, scratch, other, sign[depth])
    for i in range(held):
        scratch.weight[scratch.support[i]] = 0
    return total


@compiled
def _add(membership: Membership, scratch: SumScratch, group: int, sign: int, held: int) -> int:
    """Add a group to the sum; how many people are in the support then, those without a weight included."""
    weight, support = scratch.weight, scratch.support
    people = 0
    for entry in range(membership.first[group], membership.first[group + 1]):
        person = membership.person[entry]
        if person < 0:
            continue
        people += 1
        if weight[person] == 0:
            known = False
            for i in range(held):
                known = known or support[i] == person
            if not known:
                support[held] = person
                held += 1
        _shift(weight, person, sign, scratch.left)
    side = ADDED if sign > 0 else SUBTRACTED
    scratch.left[side] += membership.size[group] - people
    scratch.fixed[side] += membership.size[group] - people
    return held


@compiled
def _remove(membership: Membership, scratch: SumScratch, group: int, sign: int) -> None:
    """Remove a group from the sum."""
    people = 0
    for entry in range(membership.first[group], membership.first[group + 1]):
        if membership.person[entry] >= 0:
            people += 1
            _shift(scratch.weight, membership.person[entry], -sign, scratch.left)
    side = ADDED if sign > 0 else SUBTRACTED
    scratch.left[side] -= membership.size[group] - people
    scratch.fixed[side] -= membership.size[group] - people


@compiled
def _shift(weight: Int8, person: int, sign: int, left: Int64) -> None:
    """Change a person's weight by one, and what is left on the sides accordingly."""
    if weight[person] * sign < 0:
        left[ADDED if weight[person] > 0 else SUBTRACTED] -= 1
    else:
        left[ADDED if sign > 0 else SUBTRACTED] += 1
    weight[person] += sign


@compiled
def _list_candidates(membership: Membership, scratch: SumScratch, bound: int, most: int, depth: int, held: int) -> int:
    """List the groups of which every sum that continues this one has one next; how many. Sets sign[depth], their sign.

    The groups to come must cancel what exceeds the bound on the heavier side, so one of them cancels its share.
    """
    left = scratch.left
    if scratch.fixed[ADDED] > bound or scratch.fixed[SUBTRACTED] > bound:
        return 0
    side = ADDED if left[ADDED] >= left[SUBTRACTED] else SUBTRACTED
    to_come = most - depth
    if left[1 - side] > bound:
        to_come -= 1  # one of them must go to the other side
    if to_come <= 0:
        return 0
    share = (left[side] - bound + to_come - 1) // to_come
    last = depth + 1 == most
    if last and left[side] == left[1 - side]:
        return 0
    scratch.sign[depth] = -1 if side == ADDED else 1
    counted = _count_members(membership, scratch, side, held)
    listed = scratch.candidates[depth]
    total = 0
    for i in range(counted):
        other = scratch.touched[i]
        cancels = scratch.tally[other]
        scratch.tally[other] = 0
        if cancels < share or (last and membership.size[other] != left[side] - left[1 - side]):
            continue
        used = False
        for j in range(depth):
            used = used or scratch.chosen[j] == other
        if not used:
            listed[total] = other
            total += 1
    return total


@compiled
def _count_members(membership: Membership, scratch: SumScratch, side: int, held: int) -> int:
    """Count for every group how many people of one side belong to it; how many groups have a tally."""
    weight, tally, touched = scratch.weight, scratch.tally, scratch.touched
    counted = 0
    for i in range(held):
        person = scratch.support[i]
        if (weight[person] > 0 and side == ADDED) or (weight[person] < 0 and side == SUBTRACTED):
            entry = membership.latest[person]
            while entry >= 0:
                other = membership.group[entry]
                if tally[other] == 0:
                    touched[counted] = other
                    counted += 1
                tally[other] += 1
                entry = membership.previous[entry]
    return counted
