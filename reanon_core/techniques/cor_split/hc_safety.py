"""Whether a group may be published: Figure 6 of the paper, and in strict mode what combining groups would give."""

from reanon_core.compiled import compiled
from reanon_core.inference.linear.derived_correlations import derived
from reanon_core.techniques.cor_split.draft_groups import Loom

SAFE = -1


@compiled
def offender(loom: Loom, group: int) -> tuple[int, int]:
    """An earlier group that makes this one unsafe, and how many people they may not share; SAFE if there is none.

    Paper: [RB09] Figure 6: unsafe if more than |Q| - n, and not all, of its rows stood together before.
    """
    found, surplus = _paired(loom, group)
    if found == SAFE and loom.rules[2] > 0:
        found, surplus = _combined(loom, group)
    return found, surplus


@compiled
def _paired(loom: Loom, group: int) -> tuple[int, int]:
    """The past group that shares the most rows, if it shares too many.

    In strict mode a group may neither lie inside a larger one of the past nor hold one whole (departure D3): the larger
    one less the smaller is a group that nobody published.
    """
    n, strict = loom.rules[0], loom.rules[2] > 0
    size = int(loom.size[group])
    counted, people = 0, 0
    for place in range(loom.first[group], loom.first[group + 1]):
        if loom.person[place] < 0:
            continue
        people += 1
        entry = loom.previous[place]
        while entry >= 0:
            other = loom.group[entry]
            if loom.tally[other] == 0:
                loom.touched[counted] = other
                counted += 1
            loom.tally[other] += 1
            entry = loom.previous[entry]
    found, surplus = SAFE, 0
    for i in range(counted):
        other = loom.touched[i]
        shared = int(loom.tally[other])
        loom.tally[other] = 0
        if size - n < shared < size and shared - size + n > surplus:
            found, surplus = other, shared - size + n
        nested = shared == min(size, int(loom.size[other])) and loom.size[other] != size
        if strict and nested and surplus == 0 and size - people < n:
            found, surplus = other, 1
    return found, surplus


@compiled
def _combined(loom: Loom, group: int) -> tuple[int, int]:
    """The first group that is subtracted in a sum that leaves too few people."""
    sums = derived(
        loom.person,
        loom.group,
        loom.previous,
        loom.latest,
        loom.first,
        loom.size,
        group,
        loom.rules[1],
        loom.rules[2],
        loom.weight,
        loom.tally,
        loom.stacked,
        loom.support,
        loom.touched,
        loom.combination,
        loom.signs,
    )
    if sums == 0:
        return SAFE, 0
    return int(loom.combination[0, 1]), 1
