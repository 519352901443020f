"""Phase 4: balanced buckets become groups that are hc-safe against the whole history."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.bucketing.bucket_split import split_buckets
from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.phases import Arrangement
from reanon_core.bucketing.signatures import Signatures
from reanon_core.inference.view.membership import Web
from reanon_core.kernels.counting_sort import presorted
from reanon_core.kernels.dense_ranks import dense_ranks
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import MISSING, Int32, Int64, UInt64
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.cor_split.cor_partition import cor_partition
from reanon_core.techniques.cor_split.draft_groups import Loom, loom_of
from reanon_core.techniques.cor_split.group_repair import repair, woven
from reanon_core.techniques.cor_split.state import CorSplitState
from reanon_core.techniques.cor_split.strict_components import settle_components

Partition = Literal["repair", "paper"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What makes a group safe, and how groups are found."""

    n: int
    combine: int
    """How many groups are combined at most; 0 if pairs are enough."""
    partition: Partition


@dataclass(frozen=True, eq=False, kw_only=True)
class Partitioned:
    """The groups of a release, and the web with them at its end."""

    layout: Layout
    """With the layers of counterfeits that had to be added."""
    entry_group: Int32  # [e]
    web: Web


def partitioned(
    snapshot: Snapshot,
    arranged: Arrangement,
    state: CorSplitState,
    number: Int32,
    low: Int64,
    scales: Int64,
    rules: Rules,
    rng: np.random.Generator,
) -> Partitioned:
    """Split the buckets and make every group hc-safe.

    Paper: [RB09] Figure 5 (`paper`); departure D1 (`repair`).
    """
    layout, signatures = arranged.layout, arranged.signatures
    entry_group = split_buckets(snapshot.qi, layout, signatures, low, scales)
    longest = int(state.times.max(initial=0)) + 1
    wanted = (rules.n, rules.n - 1, rules.combine)
    loom = loom_of(state.web, layout, entry_group, number, snapshot.qi, scales, wanted, longest)
    lists = np.diff(signatures.offsets)
    depth = np.diff(layout.starts[signatures.offsets]) // lists
    begin = state.web.groups + np.concatenate([np.zeros(1, np.int64), np.cumsum(depth)])
    if rules.partition == "paper":
        cor_partition(loom, begin, lists, _sorted_lists(snapshot, layout), layout.starts, _coins(len(layout.row), rng))
    else:
        repair(loom, begin, lists)
    if rules.combine and rules.n > 1:
        settle_components(loom, _values_of_groups(loom, begin, lists))
    places, groups = woven(loom, entry_group)
    layered = _with_layers(layout, entry_group, signatures, loom, groups)
    return Partitioned(layout=layered[0], entry_group=layered[1], web=_web_of(loom, places, groups))


def _sorted_lists(snapshot: Snapshot, layout: Layout) -> Int32:
    """The entries of every slot sorted by each attribute [d, e], rows without a value first."""
    order = np.empty((len(snapshot.qi), len(layout.row)), np.int32)
    for attribute, codes in enumerate(snapshot.qi):
        laid_out = np.where(layout.row >= 0, codes[layout.row], MISSING).astype(np.int32)
        ranks, occurring = dense_ranks(laid_out)
        order[attribute] = presorted(ranks, len(occurring), layout.starts)
    return order


def _coins(count: int, rng: np.random.Generator) -> UInt64:
    """Random words for discarding rows: a function of a fresh key, like all that shows in a release."""
    return siphash_words(np.arange(max(1, count)), fresh_key(rng))


def _values_of_groups(loom: Loom, begin: Int64, lists: Int64) -> Int64:
    """The number of values of each new group, merged ones included."""
    past = int(loom.past[1])
    values = np.zeros(int(loom.ends[1]) - past, np.int64)
    split = np.repeat(lists, np.diff(begin))
    values[: len(split)] = split
    entry_group = np.empty(len(loom.row), np.int64)
    places = loom.group[loom.past[0] : loom.past[0] + len(loom.row)] - past
    entry_group[loom.held[: len(places)]] = places
    merged = np.arange(past + len(split), int(loom.ends[1]))
    values[len(split) :] = values[entry_group[loom.held[loom.first[merged] - loom.past[0]]]]
    return values


def _with_layers(
    layout: Layout, entry_group: Int32, signatures: Signatures, loom: Loom, groups: int
) -> tuple[Layout, Int32]:
    """The layout with a counterfeit of every value for each layer that a group was given."""
    past = int(loom.past[1])
    places = np.diff(loom.first[past : groups + 1])
    lacking = loom.size[past:groups] - places
    short = np.flatnonzero(lacking)
    if not len(short):
        return layout, entry_group
    any_entry = loom.held[loom.first[past + short] - loom.past[0]]
    signature_of_slot = np.repeat(np.arange(signatures.count), np.diff(signatures.offsets))
    slots, owners = [], []
    for group, signature in zip(short.tolist(), signature_of_slot[layout.slot[any_entry]].tolist(), strict=True):
        own = np.arange(signatures.offsets[signature], signatures.offsets[signature + 1], dtype=np.int32)
        layers = int(lacking[group]) // len(own)
        slots.append(np.tile(own, layers))
        owners.append(np.full(layers * len(own), group, np.int32))
    slot = np.concatenate([layout.slot, *slots])
    row = np.concatenate([layout.row, np.full(len(slot) - len(layout.row), COUNTERFEIT, np.int32)])
    return Layout(row, slot, layout.starts), np.concatenate([entry_group, *owners])


def _web_of(loom: Loom, places: int, groups: int) -> Web:
    """The web that the loom has made."""
    return Web(
        loom.person[:places],
        loom.group[:places],
        loom.previous[:places],
        loom.first[: groups + 1],
        loom.size[:groups],
        loom.latest,
    )
