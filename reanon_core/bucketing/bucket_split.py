"""Phase 4: split every balanced bucket into groups with small boxes.

Buckets do not depend on each other, so they are split part by part, in several threads. A group's number depends on its
bucket alone: every group is one layer, so a bucket has as many groups as layers.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.kernels.counting_sort import presorted
from reanon_core.kernels.dense_ranks import dense_ranks
from reanon_core.kernels.packed_ranks import pack_ranks
from reanon_core.kernels.split import split
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.threads import in_threads

PART_ENTRIES = 1 << 18
"""A part of several buckets has at most so many entries: enough to be worth its start, and few enough for memory."""


class Part(NamedTuple):
    """Consecutive buckets that are split together."""

    first: int
    end: int
    """The first bucket behind it."""


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
    first_group = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(start) // np.maximum(lists, 1))])

    def split_part(part: Part) -> None:
        begin, end = start[part.first], start[part.end]
        slots = slice(signatures.offsets[part.first], signatures.offsets[part.end] + 1)
        of_part = _split_entries(
            qi,
            layout.row[begin:end],
            layout.starts[slots] - begin,
            start[part.first : part.end + 1] - begin,
            lists[part.first : part.end],
            low,
            scales,
        )
        group[begin:end] = of_part + np.int32(first_group[part.first])

    parts = _parts(start)
    in_threads(split_part, parts, [int(start[part.end] - start[part.first]) for part in parts])
    return group


def _parts(start: Int64) -> list[Part]:
    """The buckets in parts of at most PART_ENTRIES entries; a larger bucket is a part of its own."""
    parts: list[Part] = []
    first = 0
    for bucket in range(1, len(start)):
        last = bucket == len(start) - 1
        if last or start[bucket + 1] - start[first] > PART_ENTRIES:
            if start[bucket] > start[first]:
                parts.append(Part(first, bucket))
            first = bucket
    return parts


def _split_entries(
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
