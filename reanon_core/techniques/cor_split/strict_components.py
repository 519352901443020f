"""Strict mode on small components: nothing that all their groups say together may tie fewer than n people.

The groups of a small component are taken one after the other; one that would complete a small correlation gets a layer
of counterfeits, with which it can take part in none. Departure D3.
"""

import numpy as np

from reanon_core.inference.linear.components import Incidence, most_groups, small_components
from reanon_core.model.arrays import Int64
from reanon_core.techniques.cor_split.draft_groups import Loom


def settle_components(loom: Loom, lists: Int64) -> int:
    """Give a layer to every new group that completes a correlation; how many. `lists` is the number of values by group.

    Requires: the past is safe, and every new group by itself.
    """
    begin, end = int(loom.past[1]), int(loom.ends[1])
    found = small_components(
        loom.person,
        loom.group,
        loom.previous,
        loom.latest,
        loom.first[: end + 1],
        begin,
        end,
        loom.alive,
        most_groups(begin),
    )
    layers = 0
    for component in np.split(found, np.flatnonzero(found < 0) + 1):
        groups = sorted(int(group) for group in component if group >= 0)
        if len(groups) > 1:
            layers += _settle(loom, groups, lists)
    return layers


def _settle(loom: Loom, groups: list[int], lists: Int64) -> int:
    begin, bound = int(loom.past[1]), int(loom.rules[1])
    people = [loom.person[loom.first[group] : loom.first[group + 1]] for group in groups]
    members = [part[part >= 0].tolist() for part in people]
    fakes = [int(loom.size[group]) - len(listed) for group, listed in zip(groups, members, strict=True)]
    incidence = Incidence(members, fakes)
    if not incidence.decided(list(range(len(groups))), bound):
        return 0
    old = [row for row, group in enumerate(groups) if group < begin]
    new = [row for row, group in enumerate(groups) if group >= begin]
    if not incidence.correlations([*old, *new], bound):
        return 0
    kept, layers = old, 0
    for row in new:
        if not incidence.correlations([*kept, row], bound):
            kept = [*kept, row]
        else:
            loom.size[groups[row]] += int(lists[groups[row] - begin])
            layers += 1
    return layers
