"""Phase 4: split every balanced bucket into groups with small boxes.

Buckets do not depend on each other, so they are split part by part, in several threads. A group's number depends on its
bucket alone: every group is one layer, so a bucket has as many groups as layers.

The lists of a bucket that is too large for one split are cut by rank first, each attribute in turn. A list is cut
without a look at any other, and no sensitive value is looked at, so a list can be cut wherever it is. Every part of a
bucket takes the same number of entries from each list.

Paper: none for the cuts by rank; departure D18 of m-invariance.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.kernels.orders import counting_order, presorted
from reanon_core.kernels.ranks import dense_ranks, pack_ranks
from reanon_core.kernels.split import split
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.threads import in_threads

MOST_ENTRIES = 1 << 18
"""A bucket of more entries is cut. It is a constant, because the groups depend on it: boxes of a census of four million
people are 0.2% longer than without cuts."""
PART_ENTRIES = 1 << 18
"""A part of several buckets has at most so many entries: enough to be worth its start, and few enough for memory."""


def part_depths(depth: int, lists: int) -> list[int]:
    """How many entries of each list every part of a bucket takes; one part if the bucket is not too large."""
    if lists * depth <= MOST_ENTRIES or depth < 2:
        return [depth]
    lower = _lower_half(depth)
    return [*part_depths(lower, lists), *part_depths(depth - lower, lists)]


def parts_of_list(codes: Int32, lists: int) -> Int32:
    """The part of each entry of a list, in the order of the list.

    `codes` [d, entries] are those of the attributes that vary; ties are broken by the order of the list.
    """
    part = np.empty(codes.shape[1], dtype=np.int32)
    waiting, done = [(np.arange(codes.shape[1]), 0)], 0
    while waiting:
        entries, level = waiting.pop()
        if lists * len(entries) <= MOST_ENTRIES or len(entries) < 2:
            part[entries] = done
            done += 1
            continue
        lower = _lower_half(len(entries))
        if len(codes):
            ascending = np.argsort(codes[level % len(codes), entries], kind="stable")
            first, second = np.sort(ascending[:lower]), np.sort(ascending[lower:])
        else:
            first, second = np.arange(lower), np.arange(lower, len(entries))
        waiting += [(entries[second], level + 1), (entries[first], level + 1)]
    return part


def varying(scales: Int64) -> Int64:
    """The attributes on which a cut can tell people apart; `scales` [d] is the weight of a step, 0 if there is none."""
    return np.flatnonzero(scales > 0)


def _lower_half(entries: int) -> int:
    return (entries + 1) // 2


class Part(NamedTuple):
    """Entries that are split together: whole buckets, or a part of one that is too large."""

    entries: slice | Int32
    list_start: Int64  # [lists + 1] where each list begins
    bucket_start: Int64  # [buckets + 1]
    lists: Int64  # [buckets] the number of lists of each bucket
    first_group: int

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.bucket_start[-1])


def split_buckets(qi: Int32, layout: Layout, signatures: Signatures, low: Int64, scales: Int64) -> Int32:
    """The group of each entry of the layout; every group has one entry of each value of its signature.

    `low` [d] is the least code of each attribute, `scales` [d] the weight of a step on it. Lengths are normalised by
    the domain and scaled to integers (departure D4 of m-invariance), so that the same rows give the same groups on any
    machine.
    Paper: [XT07] Section 4.3.
    """
    group = np.empty(len(layout.row), dtype=np.int32)
    start = layout.starts[signatures.offsets]  # [buckets + 1] the first entry of each bucket
    lists = np.diff(signatures.offsets)
    depth = np.diff(start) // np.maximum(lists, 1)
    first_group = np.concatenate([np.zeros(1, np.int64), np.cumsum(depth)])

    def split_part(part: Part) -> None:
        row = layout.row[part.entries]
        of_part = split_entries(qi, row, part.list_start, part.bucket_start, part.lists, low, scales)
        group[part.entries] = of_part + np.int32(part.first_group)

    parts: list[Part] = []
    for first, end in bucket_runs(start, PART_ENTRIES):
        begin = start[first]
        slots = slice(signatures.offsets[first], signatures.offsets[end] + 1)
        if end - first == 1 and len(part_depths(int(depth[first]), int(lists[first]))) > 1:
            parts += _cut_parts(qi, layout, slots, int(first_group[first]), varying(scales))
            continue
        bucket_start, of_buckets = start[first : end + 1] - begin, lists[first:end]
        entries = slice(begin, start[end])
        parts.append(Part(entries, layout.starts[slots] - begin, bucket_start, of_buckets, int(first_group[first])))
    in_threads(split_part, parts, [part.size for part in parts])
    return group


def bucket_runs(start: Int64, most: int) -> list[tuple[int, int]]:
    """Consecutive buckets with at most so many entries together, or one larger bucket: the first, and the one behind.

    `start` [buckets + 1] is the first entry of each bucket. Runs without entries are left out.
    """
    most = min(most, MOST_ENTRIES)  # a bucket that is cut is alone
    runs: list[tuple[int, int]] = []
    first = 0
    for bucket in range(1, len(start)):
        last = bucket == len(start) - 1
        if last or start[bucket + 1] - start[first] > most:
            if start[bucket] > start[first]:
                runs.append((first, bucket))
            first = bucket
    return runs


def _cut_parts(qi: Int32, layout: Layout, slots: slice, first_group: int, attributes: Int64) -> list[Part]:
    """The parts of a bucket that is too large, whose lists begin at these slots."""
    starts = layout.starts[slots]
    lists = len(starts) - 1

    def cut(number: int) -> Int32:
        row = layout.row[starts[number] : starts[number + 1]]
        return parts_of_list(entry_codes(qi[attributes], row), lists)

    part_of = np.concatenate(in_threads(cut, range(lists), [1] * lists))
    depths = part_depths(len(part_of) // lists, lists)
    in_parts = (counting_order(part_of, len(depths)) + starts[0]).astype(np.int32)
    parts, at = [], 0
    for depth in depths:
        entries = in_parts[at * lists : (at + depth) * lists]
        list_start = np.arange(lists + 1, dtype=np.int64) * depth
        parts.append(Part(entries, list_start, list_start[[0, -1]], np.array([lists]), first_group + at))
        at += depth
    return parts


def entry_codes(qi: Int32, row: Int32) -> Int32:
    """The codes of the rows of these entries, int32[d, entries]; a counterfeit has none."""
    codes = qi[:, row]
    codes[:, row == COUNTERFEIT] = MISSING
    return codes


def split_entries(
    qi: Int32, row: Int32, list_start: Int64, bucket_start: Int64, lists: Int64, low: Int64, scales: Int64
) -> Int32:
    """The group of each entry of some buckets, numbered from 0.

    `row` [e] is the row of each entry, `list_start` [slots + 1] and `bucket_start` [b + 1] say where lists and buckets
    begin, `lists` [b] is the number of lists of each bucket.
    """
    ranks = np.empty((len(qi), len(row)), dtype=np.int32)
    order = np.empty((len(qi), len(row)), dtype=np.int32)
    places = []
    counterfeit = row == COUNTERFEIT
    for attribute in range(len(qi)):
        codes = qi[attribute, row]
        codes[counterfeit] = MISSING
        ranks[attribute], occurring = dense_ranks(codes)
        order[attribute] = presorted(ranks[attribute], len(occurring), list_start)
        places.append((occurring - low[attribute]) * scales[attribute])
    place = np.zeros((len(qi), max(len(p) for p in places) + 1), dtype=np.int64)
    for attribute, positions in enumerate(places):
        place[attribute, : len(positions)] = positions
    return split(order, pack_ranks(ranks, place.shape[1]), place, bucket_start, lists)
