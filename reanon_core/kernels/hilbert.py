"""The Hilbert curve, which maps points that are close in many dimensions to indices that are close.

Source: J. Skilling, "Programming the Hilbert curve" (2004): the transpose form, by exchanges and inversions of bits.
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Int32, Int64, UInt64

INDEX_BITS = 62
"""The most bits of an index."""
DIGIT_BITS = 11
"""The bits that one pass of the radix sort reads."""


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
