"""Known groups: the memberships that are certain to an adversary, the values of groups, and those people may have."""

from dataclasses import dataclass
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np

from reanon_core.inference.view.box_lookup import group_masks_at
from reanon_core.inference.view.membership import Membership
from reanon_core.inference.view.traces import traces_of
from reanon_core.inference.view.value_sets import BITS, full_masks, group_masks, highest_value, sensitive_releases
from reanon_core.model.arrays import Int32, Int64, UInt64
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, eq=False)
class KnownGroups:
    """The membership of a history, the values of its groups, and the values that each person may have at the start."""

    persons: Int64  # [p] ascending
    membership: Membership
    """Only people whose group is certain are entered; the other rows of a group belong to unidentified people."""
    start: Int64  # [g + 1] the values of each group
    value: Int32  # [v] ascending within a group
    count: Int32  # [v] how many rows of the group show it
    domain: UInt64  # [p, words] bit masks
    compromised: Int64  # [c] positions in `persons`
    uncertain: int
    """How many memberships are uncertain."""
    values: int
    """The number of sensitive values."""


_latest: WeakKeyDictionary[History, tuple[ReferenceType[Knowledge], KnownGroups]] = WeakKeyDictionary()
"""The answer for each history that is in use, with the knowledge that it is for: several attacks ask for it in turn."""


def known_groups(history: History, knowledge: Knowledge) -> KnownGroups:
    """What the adversary knows before any elimination.

    A person may have the values that all their groups show; where several boxes contain a person, the values that any
    of these boxes shows. A compromised person has the known value.
    """
    kept = _latest.get(history)
    if kept is None or kept[0]() is not knowledge:
        kept = ref(knowledge), _known_groups(history, knowledge)
        _latest[history] = kept
    return kept[1]


def _known_groups(history: History, knowledge: Knowledge) -> KnownGroups:
    history, knowledge = sensitive_releases(history, knowledge)
    releases = tuple(published.release for published in history.releases)
    values = max(len(history.schema.sensitive.values), highest_value(releases) + 1, 1)
    persons = np.unique(np.concatenate([np.empty(0, np.int64), *(p.persons for p in knowledge.presences)]))
    domain = full_masks(len(persons), values)
    membership, uncertain = Membership.empty(len(persons)), 0
    lengths, listed, counts = [np.zeros(1, np.int64)], [], []
    groups = _certain_groups(history, knowledge)
    for release, presence, group in zip(releases, knowledge.presences, groups, strict=True):
        masks = group_masks(release, values)
        place = persons.searchsorted(presence.persons)
        certain = group >= 0
        uncertain += int(np.count_nonzero(~certain))
        domain[place[certain]] &= masks[group[certain]]
        if not certain.all():
            domain[place[~certain]] &= group_masks_at(presence.qi[:, ~certain], release, masks)
        order = np.argsort(group[certain], kind="stable")
        sizes = np.bincount(group[certain], minlength=release.boxes.count)
        first = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        rows = np.bincount(release.group, minlength=release.boxes.count).astype(np.int32)
        membership = membership.extended(place[certain][order].astype(np.int32), first, rows, len(persons))
        keys = release.group.astype(np.int64) * values + release.sensitive
        pairs, count = np.unique(keys, return_counts=True)
        lengths.append(np.bincount(pairs // values, minlength=release.boxes.count))
        listed.append((pairs % values).astype(np.int32))
        counts.append(count.astype(np.int32))
    at, code = _compromised(persons, knowledge)
    domain[at] = 0
    domain[at, code // BITS] = np.uint64(1) << (code % BITS).astype(np.uint64)
    none = np.empty(0, np.int32)
    return KnownGroups(
        persons=persons,
        membership=membership,
        start=np.cumsum(np.concatenate(lengths)),
        value=np.concatenate([none, *listed]),
        count=np.concatenate([none, *counts]),
        domain=domain,
        compromised=at,
        uncertain=uncertain,
        values=values,
    )


def _certain_groups(history: History, knowledge: Knowledge) -> list[Int32]:
    """The group of each person present in each release; negative where it is uncertain."""
    traces = traces_of(history, knowledge, tracked=True)
    return [
        row[traces.persons.searchsorted(presence.persons)]
        for row, presence in zip(traces.group, knowledge.presences, strict=True)
    ]


def _compromised(persons: Int64, knowledge: Knowledge) -> tuple[Int64, Int32]:
    """The positions and values of the compromised people in the history."""
    known = knowledge.compromised
    place = persons.searchsorted(known.persons)
    here = place < len(persons)
    here[here] = persons[place[here]] == known.persons[here]
    return place[here], known.values[here]
