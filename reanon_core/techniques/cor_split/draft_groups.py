"""Draft groups: the membership of the past with the release under construction at its end, where rows still move."""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.layout import Layout
from reanon_core.compiled import compiled
from reanon_core.inference.linear.derived_correlations import Sums, SumScratch, sum_scratch
from reanon_core.inference.view.membership import END, NO_PERSON, Membership
from reanon_core.kernels.orders import counting_order
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.snapshot import Snapshot

MERGED = 4
"""The most groups of the split that may be merged into one."""


class Safety(NamedTuple):
    """What makes a group safe."""

    n: int
    """The least number of people on either side of a correlation."""
    combine: int
    """The most groups that are combined in strict mode; 0 if pairs of groups are enough."""


class BucketGroups(NamedTuple):
    """The groups that the split made of each bucket."""

    first: Int64  # [b + 1] the first group of each bucket
    values: Int64  # [b] how many values its signature has


class DraftGroups(NamedTuple):
    """The draft of a release, changed in place; scalars that change are arrays of length 1.

    A *place* is an entry of the membership. A new place holds an entry of the layout.
    """

    membership: Membership  # with room for merged groups
    past_places: int
    """How many places belong to earlier releases."""
    past_groups: int
    places: Int64  # [1] how many places are in use
    groups: Int64  # [1] how many groups are in use
    alive: Bool  # [groups] whether a new group is part of the release
    entry: Int32  # [new places] the layout's entry at each new place
    row: Int32  # [entries] row of the snapshot, or COUNTERFEIT
    qi: Int32  # [d, n]
    scales: Int64  # [d] the weight of a step on each attribute
    safety: Safety
    widest: int
    """The greatest number of values of a group of the split."""
    scratch: SumScratch
    unsafe: Sums  # [1] room for a sum that makes a group unsafe


def draft_groups(
    past: Membership,
    layout: Layout,
    entry_group: Int32,
    number: Int32,
    snapshot: Snapshot,
    scales: Int64,
    *,
    safety: Safety,
    longest: int,
) -> DraftGroups:
    """The past with the groups of the layout at its end, and room to merge every two of them.

    `number` [n] is the number of each row's person; `longest` the greatest number of releases that show one person.
    """
    entries, groups = len(layout.row), int(entry_group.max(initial=-1)) + 1
    past_places = len(past.person)
    people = max(past.people, int(number.max(initial=-1)) + 1)
    places, ids = past_places + 2 * entries, past.groups + 2 * groups
    widest = int(np.bincount(entry_group, minlength=1).max()) if entries else 1
    combined = max(2, safety.combine)
    room = MERGED * widest * combined * (longest + 2) + 16
    draft = DraftGroups(
        membership=Membership(
            person=_grown(past.person, places),
            group=_grown(past.group, places),
            previous=_grown(past.previous, places),
            first=np.concatenate([past.first, np.zeros(ids - past.groups, np.int64)]),
            size=_grown(past.size, ids),
            latest=np.concatenate([past.latest, np.full(people - past.people, END, np.int32)]),
        ),
        past_places=past_places,
        past_groups=past.groups,
        places=np.array([past_places + entries], np.int64),
        groups=np.array([past.groups + groups], np.int64),
        alive=np.zeros(ids, np.bool_),
        entry=np.empty(2 * entries, np.int32),
        row=layout.row,
        qi=snapshot.qi,
        scales=scales,
        safety=safety,
        widest=widest,
        scratch=sum_scratch(people, ids, combined, room),
        unsafe=Sums(np.empty((1, combined), np.int32), np.empty((1, combined), np.int8)),
    )
    draft.entry[:entries] = counting_order(entry_group, groups)
    _fill(draft, entry_group, number)
    return draft


def _grown(array: Int32, length: int) -> Int32:
    longer = np.empty(length, dtype=np.int32)
    longer[: len(array)] = array
    return longer


@compiled
def _fill(draft: DraftGroups, entry_group: Int32, number: Int32) -> None:
    """Enter the new groups, the entries of a group in the order of the layout: one value after the other."""
    person, group, previous, first, size, latest = draft.membership
    for place in range(draft.past_places, draft.places[0]):
        entry = draft.entry[place - draft.past_places]
        own = draft.past_groups + entry_group[entry]
        group[place] = own
        first[own + 1] = place + 1
        who = NO_PERSON if draft.row[entry] < 0 else number[draft.row[entry]]
        person[place] = who
        previous[place] = END
        if who >= 0:
            previous[place] = latest[who]
            latest[who] = place
    for own in range(draft.past_groups, draft.groups[0]):
        draft.alive[own] = True
        size[own] = first[own + 1] - first[own]


@compiled
def exchange(draft: DraftGroups, one: int, other: int) -> None:
    """Exchange the contents of two new places."""
    entry, past = draft.entry, draft.past_places
    person, previous, latest = draft.membership.person, draft.membership.previous, draft.membership.latest
    entry[one - past], entry[other - past] = entry[other - past], entry[one - past]
    person[one], person[other] = person[other], person[one]
    previous[one], previous[other] = previous[other], previous[one]
    if person[one] >= 0:
        latest[person[one]] = one
    if person[other] >= 0:
        latest[person[other]] = other


@compiled
def merge(draft: DraftGroups, one: int, other: int) -> int:
    """Replace two groups by a new one with the members of both; -1 if it would be too large, or there is no room."""
    entry, past = draft.entry, draft.past_places
    person, group, previous, first, size, latest = draft.membership
    place, whole = draft.places[0], draft.groups[0]
    needed = first[one + 1] - first[one] + first[other + 1] - first[other]
    if needed > MERGED * draft.widest or place + needed > len(person) or whole == len(size):
        return -1
    for part in (one, other):
        for source in range(first[part], first[part + 1]):
            entry[place - past] = entry[source - past]
            person[place], previous[place] = person[source], previous[source]
            group[place] = whole
            if person[place] >= 0:
                latest[person[place]] = place
            place += 1
        draft.alive[part] = False
    first[whole] = draft.places[0]
    first[whole + 1] = place
    size[whole] = size[one] + size[other]
    draft.alive[whole] = True
    draft.places[0], draft.groups[0] = place, whole + 1
    return int(whole)


@compiled
def undo_merge(draft: DraftGroups, one: int, other: int) -> None:
    """Undo the latest merge, which was that of these two groups."""
    person, first, latest = draft.membership.person, draft.membership.first, draft.membership.latest
    draft.groups[0] -= 1
    draft.alive[draft.groups[0]] = False
    draft.places[0] = first[draft.groups[0]]
    for part in (one, other):
        draft.alive[part] = True
        for place in range(first[part], first[part + 1]):
            if person[place] >= 0:
                latest[person[place]] = place


@compiled
def perimeter(draft: DraftGroups, group: int) -> int:
    """The sum of the scaled side lengths of the group's box."""
    begin, end = draft.membership.first[group], draft.membership.first[group + 1]
    total = 0
    for attribute in range(len(draft.qi)):
        low, high = 2**31, -(2**31)
        for place in range(begin, end):
            row = draft.row[draft.entry[place - draft.past_places]]
            if row >= 0 and draft.qi[attribute, row] != MISSING:
                code = int(draft.qi[attribute, row])
                low, high = min(low, code), max(high, code)
        if low <= high:
            total += (high - low) * draft.scales[attribute]
    return int(total)


@compiled
def compact(draft: DraftGroups, entry_group: Int32) -> tuple[int, int]:
    """Close the gaps that merged groups left; the places and groups in use. `entry_group` [e] is brought up to date."""
    past, past_groups = draft.past_places, draft.past_groups
    person, group, previous, first, size, latest = draft.membership
    places, groups = draft.places[0] - past, draft.groups[0] - past_groups
    old_entry, old_person = draft.entry[:places].copy(), person[past : past + places].copy()
    old_first, old_size = first[past_groups : past_groups + groups + 1].copy(), size[past_groups:].copy()
    old_previous = previous[past : past + places].copy()
    number, place = past_groups, past
    for old in range(groups):
        if not draft.alive[past_groups + old]:
            continue
        for source in range(old_first[old] - past, old_first[old + 1] - past):
            entry_group[old_entry[source]] = number - past_groups
            draft.entry[place - past] = old_entry[source]
            person[place], previous[place], group[place] = old_person[source], old_previous[source], number
            if old_person[source] >= 0:
                latest[old_person[source]] = place
            place += 1
        first[number + 1] = place
        size[number] = old_size[old]
        number += 1
    return place, number
