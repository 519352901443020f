"""Phase 4: split every balanced bucket into groups with small boxes."""

import numpy as np

from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.kernels.counting_sort import presorted
from reanon_core.kernels.dense_ranks import dense_ranks
from reanon_core.kernels.packed_ranks import pack_ranks
from reanon_core.kernels.split import split
from reanon_core.model.arrays import MISSING, Int32, Int64


def split_buckets(qi: Int32, layout: Layout, signatures: Signatures, low: Int64, scales: Int64) -> Int32:
    """The group of each entry of the layout; every group has one entry of each value of its signature.

    `low` [d] is the least code of each attribute, `scales` [d] the weight of a step on it. Lengths are normalised by
    the domain and scaled to integers (departure D4 of m-invariance), so that the same rows give the same groups on any
    machine.
    Paper: [XT07] Section 4.3.
    """
    entries = len(layout.row)
    if entries == 0:
        return np.empty(0, np.int32)
    attributes = len(qi)
    ranks = np.empty((attributes, entries), dtype=np.int32)
    order = np.empty((attributes, entries), dtype=np.int32)
    places = []
    counterfeit = layout.row == COUNTERFEIT
    for attribute in range(attributes):
        codes = qi[attribute, layout.row]
        codes[counterfeit] = MISSING
        ranks[attribute], occurring = dense_ranks(codes)
        order[attribute] = presorted(ranks[attribute], len(occurring), layout.starts)
        places.append((occurring - low[attribute]) * scales[attribute])
    place = np.zeros((attributes, max(len(p) for p in places) + 1), dtype=np.int64)
    for attribute, positions in enumerate(places):
        place[attribute, : len(positions)] = positions
    bucket_start = layout.starts[signatures.offsets]
    return split(order, pack_ranks(ranks, place.shape[1]), place, bucket_start, np.diff(signatures.offsets))
