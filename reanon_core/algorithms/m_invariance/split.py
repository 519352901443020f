"""Phase 4: split every balanced bucket into groups with small boxes."""

import math

import numpy as np

from reanon_core.bucketing.moving import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.kernels.counting import presorted
from reanon_core.kernels.lanes import lane_width, pack_lanes
from reanon_core.kernels.ranks import dense_ranks
from reanon_core.kernels.split import split
from reanon_core.model.arrays import MISSING, Int32, Int64

COST_BITS = 62
"""Costs stay below 2 to this power, so that int64 arithmetic is exact."""


def split_buckets(qi: Int32, layout: Layout, signatures: Signatures, extent: Int64) -> Int32:
    """The group of each entry of the layout; every group has one entry of each value of its signature.

    Paper: [XT07] Section 4.3. Lengths are normalised by the domain and scaled to integers (departure D4), so that
    the same rows give the same groups on any machine.
    """
    entries = len(layout.row)
    if entries == 0:
        return np.empty(0, np.int32)
    attributes = len(qi)
    ranks = np.empty((attributes, entries), dtype=np.int32)
    order = np.empty((attributes, entries), dtype=np.int32)
    scales = length_scales(extent[1] - extent[0], int(np.diff(layout.starts).max()))
    places = []
    fake = layout.row == COUNTERFEIT
    for attribute in range(attributes):
        codes = qi[attribute, layout.row]
        codes[fake] = MISSING
        ranks[attribute], occurring = dense_ranks(codes)
        order[attribute] = presorted(ranks[attribute], len(occurring), layout.starts)
        places.append((occurring - extent[0, attribute]) * scales[attribute])
    place = np.zeros((attributes, max(len(p) for p in places) + 1), dtype=np.int64)
    for attribute, positions in enumerate(places):
        place[attribute, : len(positions)] = positions
    width = lane_width(place.shape[1])
    bucket_start = layout.starts[signatures.offsets]
    return split(order, pack_lanes(ranks, width), width, place, bucket_start, np.diff(signatures.offsets))


def length_scales(spans: Int64, layers: int) -> Int64:
    """Integer weights that make lengths on different attributes comparable: length * weight / L is in [0, 1].

    L is the least common multiple of the spans, so that costs are exact; where it would overflow, a power of two, and
    the weights are rounded.
    """
    room = 1 << (COST_BITS - max(1, layers * len(spans)).bit_length())
    positive = [int(span) for span in spans if span > 0]
    common = math.lcm(*positive) if positive else 1
    common = min(common, room)
    return np.array([max(1, round(common / int(span))) if span > 0 else 0 for span in spans], dtype=np.int64)
