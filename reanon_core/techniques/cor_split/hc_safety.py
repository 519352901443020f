"""Whether a group may be published: hcSafe of the paper, and in strict mode combinations of more than two groups."""

from reanon_core.compiled import compiled
from reanon_core.inference.linear.derived_correlations import derived_sums
from reanon_core.techniques.cor_split.draft_groups import DraftGroups

SAFE = -1


@compiled
def is_safe(draft: DraftGroups, group: int) -> bool:
    """Whether the group may be published."""
    return bool(conflict(draft, group)[0] == SAFE)


@compiled
def conflict(draft: DraftGroups, group: int) -> tuple[int, int]:
    """A group that makes this one unsafe, and how many members too many they share; SAFE if there is none."""
    found, surplus = hc_conflict(draft, group)
    if found == SAFE and draft.safety.combine > 0:
        found, surplus = _sum_conflict(draft, group)
    return found, surplus


@compiled
def hc_conflict(draft: DraftGroups, group: int) -> tuple[int, int]:
    """The past group that shares the most rows, if it shares too many; how many too many.

    In strict mode a group may neither be part of a larger one of the past nor contain one (departure D3): their
    difference is a group that was never published.
    Paper: [RB09] Figure 6, hcSafe: unsafe if more than |Q| - n of its rows, but not all, were in one group before.
    """
    membership, tally, touched = draft.membership, draft.scratch.tally, draft.scratch.touched
    n, strict = draft.safety.n, draft.safety.combine > 0
    size = int(membership.size[group])
    counted, people = 0, 0
    for place in range(membership.first[group], membership.first[group + 1]):  # lines 2 to 10, all releases at once
        if membership.person[place] < 0:
            continue
        people += 1
        entry = membership.previous[place]
        while entry >= 0:
            other = membership.group[entry]
            if tally[other] == 0:
                touched[counted] = other
                counted += 1
            tally[other] += 1
            entry = membership.previous[entry]
    found, surplus = SAFE, 0
    for i in range(counted):
        other = touched[i]
        shared = int(tally[other])
        tally[other] = 0
        if size - n < shared < size and shared - size + n > surplus:  # lines 11 and 12
            found, surplus = other, shared - size + n
        nested = shared == min(size, int(membership.size[other])) and membership.size[other] != size
        if strict and nested and surplus == 0 and size - people < n:
            found, surplus = other, 1
    return found, surplus


@compiled
def _sum_conflict(draft: DraftGroups, group: int) -> tuple[int, int]:
    """The first group that is subtracted in a sum that leaves fewer than n people (departure D3)."""
    safety = draft.safety
    sums = derived_sums(draft.membership, group, safety.n - 1, safety.combine, draft.scratch, draft.unsafe)
    if sums == 0:
        return SAFE, 0
    return int(draft.unsafe.group[0, 1]), 1
