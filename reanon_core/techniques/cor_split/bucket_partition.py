"""Phase 4: balanced buckets become groups that are hc-safe against the whole history.

Where a group of the split is unsafe, it exchanges rows with its neighbours in the order of the split. They are
neighbours in space, so boxes hardly grow. A group that no exchange makes safe is merged with a neighbour. A group that
no merge makes safe gets a layer of counterfeits, which always helps.

In strict mode the groups of a small component together never correlate fewer than n people. The new groups of a
component are added one after the other. One that completes a small correlation gets a layer of counterfeits, with which
it can take part in no correlation (departure D3).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from reanon_core.bucketing.bucket_split import split_buckets
from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.compiled import compiled
from reanon_core.inference.linear.components import Incidence, most_groups, small_components
from reanon_core.inference.view.membership import Membership
from reanon_core.kernels.orders import presorted
from reanon_core.kernels.ranks import dense_ranks
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.attribute_scales import length_scales
from reanon_core.techniques.cor_split.cor_partition import SortedEntries, cor_partition
from reanon_core.techniques.cor_split.draft_groups import (
    BucketGroups,
    DraftGroups,
    Safety,
    compact,
    draft_groups,
    exchange,
    merge,
    perimeter,
    undo_merge,
)
from reanon_core.techniques.cor_split.hc_safety import conflict, is_safe
from reanon_core.techniques.cor_split.state import CorSplitState

NEAR, FAR = 4, 32
"""How many groups to either side are tried for an exchange: first the near ones, then all up to the far ones."""
Partition = Literal["repair", "paper"]


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


class Bucket(NamedTuple):
    """The groups of one bucket that the split made."""

    begin: int
    end: int
    values: int


class Exchanges(NamedTuple):
    """Scratch space for the rows that two groups may exchange, one for each value."""

    value: Int64  # [values] in ascending order of cost
    cost: Int64  # [values]
    best: Int64  # [values] the values of the best exchange so far


@compiled
def repair(draft: DraftGroups, buckets: BucketGroups) -> None:
    """Make every new group safe.

    Paper: none; departure D1, in place of Figure 5.
    """
    reach = np.array([NEAR, FAR])  # literals would compile everything once more
    longest = 1
    for values in buckets.values:
        longest = max(longest, values)
    scratch = Exchanges(np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64))
    for at in range(len(buckets.values)):
        bucket = Bucket(buckets.first[at], buckets.first[at + 1], buckets.values[at])
        first_merged = draft.groups[0]
        left = 0
        for group in range(bucket.begin, bucket.end):
            if is_safe(draft, group):
                continue
            if not _exchange_rows(draft, group, bucket, reach[0], scratch) and not _exchange_rows(
                draft, group, bucket, reach[1], scratch
            ):
                left += 1
        if left == 0:
            continue
        for group in range(bucket.begin, bucket.end):
            if not draft.alive[group] or is_safe(draft, group):
                continue
            if not _merge_with_neighbour(draft, group, bucket, first_merged):
                draft.membership.size[group] += bucket.values


@compiled
def _exchange_rows(draft: DraftGroups, group: int, bucket: Bucket, reach: int, scratch: Exchanges) -> bool:
    """Exchange rows with the neighbour with which that costs least, if it makes both groups safe."""
    first = draft.membership.first
    unsafe_with, surplus = conflict(draft, group)
    own = perimeter(draft, group)
    partner, cost, moved = -1, 0, 0
    for distance in range(1, reach + 1):
        for other in (group - distance, group + distance):
            if other < bucket.begin or other >= bucket.end or not draft.alive[other]:
                continue
            before = own + perimeter(draft, other)
            listed = _rank_exchanges(draft, group, other, unsafe_with, bucket.values, scratch)
            taken = 0
            for i in range(min(listed, bucket.values - 1)):
                exchange(draft, first[group] + scratch.value[i], first[other] + scratch.value[i])
                taken += 1
                if taken < surplus:
                    continue
                more = perimeter(draft, group) + perimeter(draft, other) - before
                if partner >= 0 and more >= cost:
                    break
                if is_safe(draft, group) and is_safe(draft, other):
                    partner, cost, moved = other, more, taken
                    scratch.best[:taken] = scratch.value[:taken]
                    break
            for i in range(taken):
                exchange(draft, first[group] + scratch.value[i], first[other] + scratch.value[i])
        if partner >= 0 and distance >= NEAR:
            break
    for i in range(moved):
        exchange(draft, first[group] + scratch.best[i], first[partner] + scratch.best[i])
    return partner >= 0


@compiled
def _rank_exchanges(
    draft: DraftGroups, group: int, other: int, unsafe_with: int, values: int, scratch: Exchanges
) -> int:
    """Rank the values whose row in the group was in the conflicting one, by the cost of exchanging that row alone."""
    first, value, cost = draft.membership.first, scratch.value, scratch.cost
    listed = 0
    for candidate in range(values):
        mine, theirs = first[group] + candidate, first[other] + candidate
        if not _was_in(draft, mine, unsafe_with):
            continue
        exchange(draft, mine, theirs)
        alone = perimeter(draft, group) + perimeter(draft, other)
        exchange(draft, mine, theirs)
        at = listed
        while at > 0 and cost[at - 1] > alone:
            cost[at], value[at] = cost[at - 1], value[at - 1]
            at -= 1
        cost[at], value[at] = alone, candidate
        listed += 1
    return listed


@compiled
def _was_in(draft: DraftGroups, place: int, group: int) -> bool:
    """Whether the person at this place was in that group before."""
    entry = draft.membership.previous[place]
    while entry >= 0:
        if draft.membership.group[entry] == group:
            return True
        entry = draft.membership.previous[entry]
    return False


@compiled
def _merge_with_neighbour(draft: DraftGroups, group: int, bucket: Bucket, first_merged: int) -> bool:
    """Merge with the neighbour, or the merged group of this bucket, with which the box grows least."""
    size = draft.membership.size
    partner, cost = -1, 0
    near, far = max(bucket.begin, group - FAR), min(bucket.end, group + FAR + 1)
    merged_end = draft.groups[0]
    for at in range((far - near) + (merged_end - first_merged)):
        other = near + at if at < far - near else first_merged + at - (far - near)
        if other == group or not draft.alive[other]:
            continue
        whole = merge(draft, group, other)
        if whole < 0:
            continue
        growth = perimeter(draft, whole) * size[whole] - perimeter(draft, other) * size[other]
        if (partner < 0 or growth < cost) and is_safe(draft, whole):
            partner, cost = other, growth
        undo_merge(draft, group, other)
    if partner < 0:
        return False
    return merge(draft, group, partner) >= 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Buckets:
    """The balanced buckets of a release, and the number of each row's person in the membership."""

    layout: Layout
    signatures: Signatures
    number: Int32  # [n]
    extent: Int64  # [2, d]


@dataclass(frozen=True, eq=False, kw_only=True)
class SafeGroups:
    """The groups of a release, and the membership with them at its end."""

    layout: Layout
    """With the layers of counterfeits that were added."""
    entry_group: Int32  # [e]
    membership: Membership


def partition_buckets(
    snapshot: Snapshot,
    buckets: Buckets,
    state: CorSplitState,
    safety: Safety,
    partition: Partition,
    rng: np.random.Generator,
) -> SafeGroups:
    """Split the buckets, and make every group safe by Figure 5 (`paper`) or by departure D1 (`repair`)."""
    layout, signatures, extent = buckets.layout, buckets.signatures, buckets.extent
    scales = length_scales(extent[1] - extent[0], layout.deepest)
    entry_group = split_buckets(snapshot.qi, layout, signatures, extent[0], scales)
    longest = int(state.times.max(initial=0)) + 1
    draft = draft_groups(
        state.membership, layout, entry_group, buckets.number, snapshot, scales, safety=safety, longest=longest
    )
    values = np.diff(signatures.offsets)
    depth = np.diff(layout.starts[signatures.offsets]) // values
    first = state.membership.groups + np.concatenate([np.zeros(1, np.int64), np.cumsum(depth)])
    split = BucketGroups(first, values)
    if partition == "paper":
        cor_partition(draft, split, _sorted_entries(snapshot, layout, rng))
    else:
        repair(draft, split)
    if safety.combine and safety.n > 1:
        secure_components(draft, _values_of_groups(draft, split))
    places, groups = compact(draft, entry_group)
    layered, layered_group = _with_layers(layout, entry_group, signatures, draft, groups)
    return SafeGroups(layout=layered, entry_group=layered_group, membership=_membership(draft, places, groups))


def _sorted_entries(snapshot: Snapshot, layout: Layout, rng: np.random.Generator) -> SortedEntries:
    """The entries of every slot sorted by each attribute, rows without a value first.

    The random words are a function of a fresh key, like everything random that shows in a release.
    """
    order = np.empty((len(snapshot.qi), len(layout.row)), np.int32)
    for attribute, codes in enumerate(snapshot.qi):
        laid_out = np.where(layout.row >= 0, codes[layout.row], MISSING).astype(np.int32)
        ranks, occurring = dense_ranks(laid_out)
        order[attribute] = presorted(ranks, len(occurring), layout.starts)
    return SortedEntries(order, layout.starts, siphash_words(np.arange(max(1, len(layout.row))), fresh_key(rng)))


def _values_of_groups(draft: DraftGroups, buckets: BucketGroups) -> Int64:
    """The number of values of each new group, merged ones included."""
    past, first = draft.past_groups, draft.membership.first
    values = np.zeros(int(draft.groups[0]) - past, np.int64)
    split = np.repeat(buckets.values, np.diff(buckets.first))
    values[: len(split)] = split
    entry_group = np.empty(len(draft.row), np.int64)
    groups = draft.membership.group[draft.past_places : draft.past_places + len(draft.row)] - past
    entry_group[draft.entry[: len(groups)]] = groups
    merged = np.arange(past + len(split), int(draft.groups[0]))
    values[len(split) :] = values[entry_group[draft.entry[first[merged] - draft.past_places]]]
    return values


def _with_layers(
    layout: Layout, entry_group: Int32, signatures: Signatures, draft: DraftGroups, groups: int
) -> tuple[Layout, Int32]:
    """The layout with a counterfeit of every value for each layer that was added to a group."""
    past, first = draft.past_groups, draft.membership.first
    lacking = draft.membership.size[past:groups] - np.diff(first[past : groups + 1])
    short = np.flatnonzero(lacking)
    if not len(short):
        return layout, entry_group
    any_entry = draft.entry[first[past + short] - draft.past_places]
    signature_of_slot = np.repeat(np.arange(signatures.count), np.diff(signatures.offsets))
    slots, owners = [], []
    for group, signature in zip(short.tolist(), signature_of_slot[layout.slot[any_entry]].tolist(), strict=True):
        own = np.arange(signatures.offsets[signature], signatures.offsets[signature + 1], dtype=np.int32)
        layers = int(lacking[group]) // len(own)
        slots.append(np.tile(own, layers))
        owners.append(np.full(layers * len(own), group, np.int32))
    slot = np.concatenate([layout.slot, *slots])
    row = np.concatenate([layout.row, np.full(len(slot) - len(layout.row), COUNTERFEIT, np.int32)])
    return Layout(row, slot, layout.starts, layout.values), np.concatenate([entry_group, *owners])


def _membership(draft: DraftGroups, places: int, groups: int) -> Membership:
    """The membership with the finished groups at its end."""
    made = draft.membership
    return Membership(
        person=made.person[:places],
        group=made.group[:places],
        previous=made.previous[:places],
        first=made.first[: groups + 1],
        size=made.size[:groups],
        latest=made.latest,
    ).read_only()
