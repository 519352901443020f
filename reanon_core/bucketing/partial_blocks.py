"""Partial blocks: how new rows enter that may not be m-eligible, with few of them in a block.

Paper: none; departure D16 of m-invariance.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.bucketing.blocks import frequent_values
from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.signatures import Signature
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64

PILOT_SHARE = 4
"""One in so many of the new rows is in the pilot."""


class PartialBlock(NamedTuple):
    """The block of the most frequent values, and the new rows that go to it."""

    block: Signature
    inside: Bool  # [new rows] in the order in which they were considered


def partial_block(values: Int32, known: int, m: int, rng: np.random.Generator) -> PartialBlock | None:
    """Let new rows in one by one, and send those of the most frequent values to a block while they are too many.

    `values` [new rows] are those of the new rows in uniformly random order, `known` the number of values there are. The
    first rows, the pilot, are always let in. The block is made of the m most frequent values of the pilot, with chance
    among equals. From then on, a row with a value of the block is let in if the most frequent of these values may have
    one row more, and goes to the block otherwise; a row with another value is always let in.

    Ensures: the rows that are let in are m-eligible. None if they are not, if no row goes to the block, or if the pilot
    has fewer than m values. What happens to a row depends on the rows that were let in before it, and on whether its
    own value is in the block, but not on which of these values it is. Values have no names here: if they are permuted
    everywhere, so is the block, and None is as likely as before.
    """
    pilot = len(values) // PILOT_SHARE
    counts = np.bincount(values[:pilot], minlength=known).astype(np.int64)
    if np.count_nonzero(counts) < m:
        return None
    chosen = frequent_values(counts, counts > 0, rng)[:m]
    in_block = np.zeros(known, np.bool_)
    in_block[chosen] = True
    inside = _inside(values, pilot, counts, in_block, m)
    if not inside.any() or not is_eligible(counts, m):
        return None
    return PartialBlock(tuple(sorted(chosen.tolist())), inside)


@compiled
def _inside(values: Int32, pilot: int, counts: Int64, in_block: Bool, m: int) -> Bool:
    """Which rows go to the block; `counts` [values] are the rows of the pilot and become those of all that are let in.

    A row of the block is let in only if the most frequent of its values could have one row more, whatever its own
    value is: otherwise the values of a block would not be alike.
    """
    inside = np.zeros(len(values), dtype=np.bool_)
    total, most = pilot, np.int64(0)
    for value in range(len(counts)):
        if in_block[value]:
            most = max(most, counts[value])
    for row in range(pilot, len(values)):
        value = values[row]
        if in_block[value]:
            if (most + 1) * m > total + 1:
                inside[row] = True
                continue
            most = max(most, counts[value] + 1)
        counts[value] += 1
        total += 1
    return inside
