"""Phase 4: balanced buckets become groups that are hc-safe against the whole history."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.bucketing.bucket_split import split_buckets
from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.inference.view.membership import Membership
from reanon_core.kernels.counting_sort import presorted
from reanon_core.kernels.dense_ranks import dense_ranks
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.attribute_scales import length_scales
from reanon_core.techniques.cor_split.cor_partition import SortedEntries, cor_partition
from reanon_core.techniques.cor_split.draft_groups import BucketGroups, DraftGroups, Safety, compact, draft_groups
from reanon_core.techniques.cor_split.group_repair import repair
from reanon_core.techniques.cor_split.state import CorSplitState
from reanon_core.techniques.cor_split.strict_components import secure_components

Partition = Literal["repair", "paper"]


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
