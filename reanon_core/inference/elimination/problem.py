"""The history as a puzzle: one value for each person, and every group must show what it shows.

The rules work on one group at a time; whoever loses a value makes all their groups worth another look. A rule only ever
drops values that no solution gives, so that a value that is left alone is certain.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.known_groups import Standings
from reanon_core.model.arrays import Bool, Int8, Int32, Int64, UInt64

NOT_YET = -1


class Puzzle(NamedTuple):
    """Arrays that the rules change in place."""

    person: Int32  # [e] as in Web
    group: Int32  # [e]
    previous: Int32  # [e]
    latest: Int32  # [p]
    first: Int64  # [g + 1]
    size: Int32  # [g]
    start: Int64  # [g + 1] as in Standings
    value: Int32  # [v]
    quantity: Int32  # [v]
    domain: UInt64  # [p, words]
    queue: Int32  # [g + 1] groups to look at, a ring
    ends: Int64  # [3] where the ring begins and ends; how long the trail is
    queued: Bool  # [g]
    broken: Bool  # [g] groups that contradict the others: they are left out
    trail_person: Int32  # [t] what was overwritten, while something is tried
    trail_word: Int32  # [t]
    trail_mask: UInt64  # [t]
    assigned: Int32  # [widest] the value of each member in a matching
    used: Int32  # [values]
    wanting: Int32  # [values] the member who wants a value
    line: Int32  # [widest]
    reach: Int8  # [values + 1, values + 1]
    gone: UInt64  # [words] values to take from somebody
    flags: Int64  # [3] counting (0) or matching (1); whether correlations are used; whether changes are kept on a trail


def puzzle_of(known: Standings, *, matching: bool, correlations: bool) -> Puzzle:
    """The puzzle before any rule was used."""
    web, groups = known.web, known.web.groups
    widest = int(np.diff(web.first).max(initial=1))
    values = int(np.diff(known.start).max(initial=1))
    trail = max(1024, min(len(web.person), 1 << 22))
    return Puzzle(
        person=web.person,
        group=web.group,
        previous=web.previous,
        latest=web.latest,
        first=web.first,
        size=web.size,
        start=known.start,
        value=known.value,
        quantity=known.count,
        domain=known.domain.copy(),
        queue=np.zeros(groups + 1, np.int32),
        ends=np.zeros(3, np.int64),
        queued=np.zeros(groups, np.bool_),
        broken=np.zeros(groups, np.bool_),
        trail_person=np.empty(trail, np.int32),
        trail_word=np.empty(trail, np.int32),
        trail_mask=np.empty(trail, np.uint64),
        assigned=np.empty(widest, np.int32),
        used=np.empty(values, np.int32),
        wanting=np.empty(values, np.int32),
        line=np.empty(widest, np.int32),
        reach=np.empty((values + 1, values + 1), np.int8),
        gone=np.zeros(known.domain.shape[1], np.uint64),
        flags=np.array([matching, correlations, False], np.int64),
    )


@compiled
def look_again(queue: Int32, queued: Bool, ends: Int64, group: int) -> None:
    """Put the group on the queue, if it is not there."""
    if not queued[group]:
        queued[group] = True
        queue[ends[1]] = group
        ends[1] = (ends[1] + 1) % len(queue)


@compiled
def look_at_all(puzzle: Puzzle) -> None:
    """Put every group on the queue."""
    for group in range(len(puzzle.size)):
        look_again(puzzle.queue, puzzle.queued, puzzle.ends, group)


@compiled
def may_have(domain: UInt64, who: int, value: int) -> bool:
    """Whether the person may have the value."""
    return bool((domain[who, value >> 6] >> np.uint64(value & 63)) & np.uint64(1))


@compiled
def choices(domain: UInt64, who: int) -> int:
    """How many values the person may have."""
    total = 0
    for word in range(domain.shape[1]):
        mask = domain[who, word]
        while mask != 0:
            mask &= mask - np.uint64(1)
            total += 1
    return total


@compiled
def is_known(domain: UInt64, who: int) -> bool:
    """Whether one value is left."""
    seen = False
    for word in range(domain.shape[1]):
        mask = domain[who, word]
        if mask != 0:
            if seen or mask & (mask - np.uint64(1)) != 0:
                return False
            seen = True
    return seen


@compiled
def overwrite(puzzle: Puzzle, who: int, word: int, mask: np.uint64) -> None:
    """Change a word of somebody's set, remember it if something is being tried, and look at their groups again."""
    if puzzle.flags[2]:
        at = puzzle.ends[2]
        if at == len(puzzle.trail_person):
            return  # no room to remember: leaving a value in is always allowed
        puzzle.trail_person[at], puzzle.trail_word[at] = who, word
        puzzle.trail_mask[at] = puzzle.domain[who, word]
        puzzle.ends[2] += 1
    puzzle.domain[who, word] = mask
    entry = puzzle.latest[who]
    while entry >= 0:
        look_again(puzzle.queue, puzzle.queued, puzzle.ends, puzzle.group[entry])
        entry = puzzle.previous[entry]


@compiled
def drop(puzzle: Puzzle, who: int, gone: UInt64) -> bool:
    """Take these values from a person; false if none is left."""
    left = False
    for word in range(len(gone)):
        if puzzle.domain[who, word] & gone[word] != 0:
            overwrite(puzzle, who, word, puzzle.domain[who, word] & ~gone[word])
        left = left or puzzle.domain[who, word] != 0
    return left


@compiled
def mark(gone: UInt64, value: int) -> None:
    """Add a value to a set."""
    gone[value >> 6] |= np.uint64(1) << np.uint64(value & 63)


@compiled
def stands(group: Int32, previous: Int32, latest: Int32, who: int, wanted: int) -> bool:
    """Whether the person stands in that group."""
    entry = latest[who]
    while entry >= 0:
        if group[entry] == wanted:
            return True
        entry = previous[entry]
    return False
