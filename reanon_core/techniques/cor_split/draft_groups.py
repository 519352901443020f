"""The loom: the web of the past with the release in the making at its end, where rows may still change places."""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.layout import Layout
from reanon_core.compiled import compiled
from reanon_core.inference.view.membership import NOBODY, Web
from reanon_core.kernels.counting_sort import counting_order
from reanon_core.model.arrays import MISSING, Bool, Int8, Int16, Int32, Int64

MERGED = 4
"""How many groups of the split may be merged into one."""


class Loom(NamedTuple):
    """Arrays that are changed in place. A *place* is an entry of the web; new ones hold an entry of the layout."""

    person: Int32  # [places] as in Web, with room for merged groups
    group: Int32  # [places]
    previous: Int32  # [places]
    latest: Int32  # [people]
    first: Int64  # [groups + 1]
    size: Int32  # [groups]
    alive: Bool  # [groups] whether a new group is part of the release
    held: Int32  # [places - past] the layout's entry at each new place
    past: Int64  # [2] places and groups of the past
    ends: Int64  # [2] places and groups in use
    row: Int32  # [entries] row of the snapshot, or COUNTERFEIT
    qi: Int32  # [d, n]
    scales: Int64  # [d]
    rules: Int64  # [4] n; how many people a derived correlation may leave; how many groups are combined; most values
    tally: Int16  # [groups] zeros between calls
    touched: Int32  # [room]
    weight: Int8  # [people] zeros between calls
    support: Int32  # [room]
    stacked: Int32  # [combined + 1, room]
    combination: Int32  # [1, combined]
    signs: Int8  # [1, combined]


def loom_of(
    web: Web,
    layout: Layout,
    entry_group: Int32,
    number: Int32,
    qi: Int32,
    scales: Int64,
    rules: tuple[int, int, int],
    longest: int,
) -> Loom:
    """The web with the groups of the layout at its end, and room to merge every two of them.

    `number` [n] is the number of each row's person; `longest` the greatest number of releases that show one person.
    """
    entries, groups = len(layout.row), int(entry_group.max(initial=-1)) + 1
    past, past_groups = len(web.person), web.groups
    people = max(web.people, int(number.max(initial=-1)) + 1)
    places, ids = past + 2 * entries, past_groups + 2 * groups
    widest = int(np.bincount(entry_group, minlength=1).max()) if entries else 1
    combined = max(2, rules[2])
    room = MERGED * widest * combined * (longest + 2) + 16

    def grown(array: Int32, length: int) -> Int32:
        longer = np.empty(length, dtype=np.int32)
        longer[: len(array)] = array
        return longer

    loom = Loom(
        person=grown(web.person, places),
        group=grown(web.group, places),
        previous=grown(web.previous, places),
        latest=np.concatenate([web.latest, np.full(people - web.people, -1, np.int32)]),
        first=np.concatenate([web.first, np.zeros(ids - past_groups, np.int64)]),
        size=grown(web.size, ids),
        alive=np.zeros(ids, np.bool_),
        held=np.empty(2 * entries, np.int32),
        past=np.array([past, past_groups], np.int64),
        ends=np.array([past + entries, past_groups + groups], np.int64),
        row=layout.row,
        qi=qi,
        scales=scales,
        rules=np.array([*rules, widest], np.int64),
        tally=np.zeros(ids, np.int16),
        touched=np.empty(room, np.int32),
        weight=np.zeros(people, np.int8),
        support=np.empty(room, np.int32),
        stacked=np.empty((combined + 1, room), np.int32),
        combination=np.empty((1, combined), np.int32),
        signs=np.empty((1, combined), np.int8),
    )
    loom.held[:entries] = counting_order(entry_group, groups)
    _set_up(loom, entry_group, number)
    return loom


@compiled
def _set_up(loom: Loom, entry_group: Int32, number: Int32) -> None:
    """Put the entries of every group side by side, in the order of the layout: one value after the other."""
    past, past_groups = loom.past[0], loom.past[1]
    for place in range(past, loom.ends[0]):
        entry = loom.held[place - past]
        group = past_groups + entry_group[entry]
        loom.group[place] = group
        loom.first[group + 1] = place + 1
        who = NOBODY if loom.row[entry] < 0 else number[loom.row[entry]]
        loom.person[place] = who
        loom.previous[place] = -1
        if who >= 0:
            loom.previous[place] = loom.latest[who]
            loom.latest[who] = place
    for group in range(past_groups, loom.ends[1]):
        loom.alive[group] = True
        loom.size[group] = loom.first[group + 1] - loom.first[group]


@compiled
def exchange(loom: Loom, one: int, other: int) -> None:
    """Let two new places change what they hold."""
    past = loom.past[0]
    loom.held[one - past], loom.held[other - past] = loom.held[other - past], loom.held[one - past]
    loom.person[one], loom.person[other] = loom.person[other], loom.person[one]
    loom.previous[one], loom.previous[other] = loom.previous[other], loom.previous[one]
    if loom.person[one] >= 0:
        loom.latest[loom.person[one]] = one
    if loom.person[other] >= 0:
        loom.latest[loom.person[other]] = other


@compiled
def merge(loom: Loom, one: int, other: int) -> int:
    """A new group of the members of two, which are no more; -1 if it would be too large, or there is no room."""
    place, group = loom.ends[0], loom.ends[1]
    needed = loom.first[one + 1] - loom.first[one] + loom.first[other + 1] - loom.first[other]
    if needed > MERGED * loom.rules[3] or place + needed > len(loom.person) or group == len(loom.size):
        return -1
    for part in (one, other):
        for source in range(loom.first[part], loom.first[part + 1]):
            loom.held[place - loom.past[0]] = loom.held[source - loom.past[0]]
            loom.person[place], loom.previous[place] = loom.person[source], loom.previous[source]
            loom.group[place] = group
            if loom.person[place] >= 0:
                loom.latest[loom.person[place]] = place
            place += 1
        loom.alive[part] = False
    loom.first[group] = loom.ends[0]
    loom.first[group + 1] = place
    loom.size[group] = loom.size[one] + loom.size[other]
    loom.alive[group] = True
    loom.ends[0], loom.ends[1] = place, group + 1
    return int(group)


@compiled
def part(loom: Loom, one: int, other: int) -> None:
    """Undo the latest merge."""
    loom.ends[1] -= 1
    loom.alive[loom.ends[1]] = False
    loom.ends[0] = loom.first[loom.ends[1]]
    for group in (one, other):
        loom.alive[group] = True
        for place in range(loom.first[group], loom.first[group + 1]):
            if loom.person[place] >= 0:
                loom.latest[loom.person[place]] = place


@compiled
def perimeter(loom: Loom, group: int) -> int:
    """The sum of the scaled lengths of the group's box."""
    total = 0
    for attribute in range(len(loom.qi)):
        low, high = 2**31, -(2**31)
        for place in range(loom.first[group], loom.first[group + 1]):
            row = loom.row[loom.held[place - loom.past[0]]]
            if row >= 0 and loom.qi[attribute, row] != MISSING:
                code = int(loom.qi[attribute, row])
                low, high = min(low, code), max(high, code)
        if low <= high:
            total += (high - low) * loom.scales[attribute]
    return int(total)
