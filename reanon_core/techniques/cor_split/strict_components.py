"""Strict mode in small components: their groups together never correlate fewer than n people.

The new groups of a component are added one after the other. One that completes a small correlation gets a layer of
counterfeits, with which it can take part in no correlation (departure D3).
"""

import numpy as np

from reanon_core.inference.linear.components import Incidence, most_groups, small_components
from reanon_core.model.arrays import Int64
from reanon_core.techniques.cor_split.draft_groups import DraftGroups


def secure_components(draft: DraftGroups, values: Int64) -> None:
    """Add a layer to every new group that completes a correlation. `values` is the number of values of each new group.

    Requires: the past is safe, and every new group by itself.
    """
    begin, end = draft.past_groups, int(draft.groups[0])
    found = small_components(draft.membership, begin, end, draft.alive, most_groups(begin))
    for component in np.split(found, np.flatnonzero(found < 0) + 1):
        groups = sorted(int(group) for group in component if group >= 0)
        if len(groups) > 1:
            _secure(draft, groups, values)


def _secure(draft: DraftGroups, groups: list[int], values: Int64) -> None:
    begin, bound = draft.past_groups, draft.safety.n - 1
    incidence = Incidence.of(draft.membership, groups)
    if not incidence.is_searchable(list(range(len(groups))), bound):
        return
    old = [row for row, group in enumerate(groups) if group < begin]
    new = [row for row, group in enumerate(groups) if group >= begin]
    if not incidence.correlations([*old, *new], bound):
        return
    kept = old
    for row in new:
        if not incidence.correlations([*kept, row], bound):
            kept = [*kept, row]
        else:
            draft.membership.size[groups[row]] += int(values[groups[row] - begin])
