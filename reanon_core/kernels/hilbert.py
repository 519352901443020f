"""The Hilbert curve, along which points that are close in many dimensions are close, and groups of consecutive rows.

Consecutive rows become a group as soon as they are enough, close and alike enough.

Source: J. Skilling, "Programming the Hilbert curve" (2004): the transpose form, by exchanges and inversions of bits.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.group_distances import Ground, earth_mover, jensen_shannon
from reanon_core.model.arrays import MISSING, Float64, Int8, Int32, Int64, UInt64

INDEX_BITS = 62
"""The most bits of an index."""
DIGIT_BITS = 11
"""The bits that one pass of the radix sort reads."""
ROUNDING = 1e-12
FEW, FAR, UNLIKE = 1, 2, 3
"""Why a row has no group: too few rows or values, too far from the table, beliefs that diverge too much."""


def hilbert_bits(span: Int64) -> int:
    """The bits of each attribute: enough to distinguish all codes, if an index has room for them."""
    widest = max(1, int(span.max(initial=0)))
    return max(1, min(widest.bit_length(), INDEX_BITS // max(1, len(span))))


@compiled
def hilbert_indices(qi: Int32, low: Int64, span: Int64, bits: int) -> UInt64:
    """The index of each point on the curve; `qi` [d, n] holds codes from `low` to `low + span`.

    Every attribute is scaled to the whole side of the cube. A missing value counts as the lowest code.
    """
    attributes, rows = qi.shape
    indices = np.zeros(rows, dtype=np.uint64)
    x = np.empty(attributes, dtype=np.int64)
    side = (np.int64(1) << bits) - 1
    for row in range(rows):
        for attribute in range(attributes):
            x[attribute] = 0
            if qi[attribute, row] != MISSING and span[attribute] > 0:
                steps = min(max(np.int64(qi[attribute, row]) - low[attribute], 0), span[attribute])
                x[attribute] = steps * side // span[attribute]
        _transpose(x, bits)
        index = np.uint64(0)
        for bit in range(bits - 1, -1, -1):
            for attribute in range(attributes):
                index = (index << np.uint64(1)) | np.uint64((x[attribute] >> bit) & 1)
        indices[row] = index
    return indices


@compiled
def _transpose(x: Int64, bits: int) -> None:
    """Coordinates to the transposed index, in place."""
    last = len(x) - 1
    mask = np.int64(1) << (bits - 1)
    while mask > 1:  # undo the excess work of the inverse, from the highest bit down
        below = mask - 1
        for i in range(len(x)):
            if x[i] & mask:
                x[0] ^= below
            else:
                exchange = (x[0] ^ x[i]) & below
                x[0] ^= exchange
                x[i] ^= exchange
        mask >>= 1
    for i in range(1, len(x)):  # Gray encode
        x[i] ^= x[i - 1]
    flip, mask = np.int64(0), np.int64(1) << (bits - 1)
    while mask > 1:
        if x[last] & mask:
            flip ^= mask - 1
        mask >>= 1
    for i in range(len(x)):
        x[i] ^= flip


@compiled
def stable_order(keys: UInt64, bits: int) -> Int64:
    """The stable order of keys with `bits` bits, by radix sort."""
    order, spare = np.arange(len(keys)), np.empty(len(keys), dtype=np.int64)
    count = np.zeros((1 << DIGIT_BITS) + 1, dtype=np.int64)
    for shift in range(0, bits, DIGIT_BITS):
        count[:] = 0
        for i in range(len(keys)):
            count[((keys[i] >> np.uint64(shift)) & np.uint64((1 << DIGIT_BITS) - 1)) + 1] += 1
        for digit in range(1 << DIGIT_BITS):
            count[digit + 1] += count[digit]
        for i in range(len(keys)):
            digit = (keys[order[i]] >> np.uint64(shift)) & np.uint64((1 << DIGIT_BITS) - 1)
            spare[count[digit]] = order[i]
            count[digit] += 1
        order, spare = spare, order
    return order


class View(NamedTuple):
    """The rows of a view along the curve, with the adversary's revised knowledge (RBKsv) of each."""

    expected: Float64  # [n, values] sums up to 1
    entropy: Float64  # [n] of each row of `expected`, in bits
    sensitive: Int32  # [n]


class Thresholds(NamedTuple):
    """What every group must satisfy."""

    k: int
    """The least number of rows."""
    ell: int
    """The least number of distinct sensitive values."""
    t: float
    """The greatest earth mover's distance from the table."""
    j: float
    """The greatest Jensen-Shannon divergence, in bits."""
    max_run: int
    """How many rows are tried as one group before the first of them is skipped; 0 for all."""


class NearbyGroups(NamedTuple):
    """Where a row that was left over looks for a group."""

    groups: int
    """How many groups along the curve are tried, half of them on each side."""
    passes: int
    """How often a row is tried; groups grow meanwhile."""


class Groups(NamedTuple):
    """The group of each row, and the running sums of each group. The kernels write here."""

    group: Int32  # [n] negative for a row without a group
    reason: Int8  # [n] why a row has none: FEW, FAR or UNLIKE
    sums: Float64  # [most groups, values] the sum of `expected`
    counts: Int64  # [most groups, values] how often each sensitive value occurs
    entropy: Float64  # [most groups] the sum of the rows' entropies


@compiled
def hilbert_groups(
    order: Int64, view: View, thresholds: Thresholds, ground: Ground, written: Groups, groups: int
) -> int:
    """Form groups of consecutive rows of `order`, numbered from `groups`; returns the number after the last.

    Once a run of rows is full or ends the order, and is still unfit, its first row is skipped and the next run begins
    right after it (departure D5); with `max_run` 0 it never is. A test is left out where it cannot succeed: m more rows
    bring the divergence of q rows down to q / (q + m) of it at best, and their distance to (q distance - m) / (q + m).

    Paper: [RPB12] Algorithm 4, lines 8 to 18.
    """
    expected, entropy, sensitive = view.expected, view.entropy, view.sensitive
    k, ell, t, j, max_run = thresholds
    group, reason_of = written.group, written.reason
    values = expected.shape[1]
    sums, counts = np.zeros(values), np.zeros(values, dtype=np.int64)
    begin, end, distinct = 0, 0, 0
    total, least, reason = 0.0, float(k), FEW
    while end < len(order):
        row = order[end]
        end += 1
        distinct += 1 if counts[sensitive[row]] == 0 else 0
        counts[sensitive[row]] += 1
        total += entropy[row]
        for value in range(values):
            sums[value] += expected[row, value]
        size = end - begin
        fits = False
        if size >= least and distinct >= ell:
            distance = earth_mover(counts, size, ground)
            if distance > t + ROUNDING:
                least, reason = size * (1 + distance) / (1 + t) * (1 - 1e-9), FAR
            else:
                divergence = jensen_shannon(sums, total, size)
                fits = divergence <= j + ROUNDING
                least, reason = size * divergence / max(j, ROUNDING) * (1 - 1e-9), UNLIKE
        if fits:
            for i in range(begin, end):
                group[order[i]] = groups
            written.sums[groups], written.counts[groups], written.entropy[groups] = sums, counts, total
            groups += 1
            begin = end
        elif max_run > 0 and (size >= min(max_run, len(order) - begin) or least > min(max_run, len(order) - begin)):
            reason_of[order[begin]] = reason
            begin += 1
            end = begin
        else:
            continue
        sums[:], counts[:] = 0, 0
        total, least, reason, distinct = 0.0, float(k), FEW, 0
    for i in range(begin, end):
        reason_of[order[i]] = reason
    return groups


@compiled
def merge_leftovers(
    view: View, thresholds: Thresholds, ground: Ground, near: NearbyGroups, written: Groups, groups: int
) -> int:
    """Let every row without a group join the nearest group along the curve that stays fit; returns how many joined.

    Groups are numbered along the curve and tried on both sides in turn (departure D7). Groups grow meanwhile, so a row
    that found none is tried again in the next pass.
    """
    expected, entropy, sensitive = view.expected, view.entropy, view.sensitive
    group, sums, counts, total = written.group, written.sums, written.counts, written.entropy
    t, j = thresholds.t, thresholds.j
    rows, values = expected.shape
    size = np.zeros(groups, dtype=np.int64)
    extended = np.empty(values)
    waiting, left_group = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    count, left = 0, -1
    for row in range(rows):
        own = group[row]
        if own < 0:
            waiting[count], left_group[count] = row, left
            count += 1
            continue
        left = own
        size[own] += 1
    joined = 0
    for _ in range(near.passes):
        kept = 0
        for i in range(count):
            row = waiting[i]
            for step in range(near.groups):
                own = left_group[i] - step // 2 if step % 2 == 0 else left_group[i] + 1 + step // 2
                if own < 0 or own >= groups:
                    continue
                counts[own, sensitive[row]] += 1
                fits = earth_mover(counts[own], size[own] + 1, ground) <= t + ROUNDING
                if fits:
                    for value in range(values):
                        extended[value] = sums[own, value] + expected[row, value]
                    fits = jensen_shannon(extended, total[own] + entropy[row], size[own] + 1) <= j + ROUNDING
                if fits:
                    sums[own] = extended
                    total[own] += entropy[row]
                    size[own] += 1
                    group[row] = own
                    joined += 1
                    break
                counts[own, sensitive[row]] -= 1
            if group[row] < 0:
                waiting[kept], left_group[kept] = row, left_group[i]
                kept += 1
        if kept == count:
            break
        count = kept
    return joined
