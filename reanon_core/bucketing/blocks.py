"""Blocks: how new rows that are not m-eligible enter the buckets, whatever value is too frequent.

Paper: none; departure D13 of m-invariance.
"""

from itertools import pairwise

import numpy as np

from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import Bool, Int64


def value_blocks(pool: Int64, known: Bool, m: int, rng: np.random.Generator) -> list[Signature]:
    """Disjoint signatures for the most frequent values of the new rows: runs of m or more values of similar frequency.

    Every new row with a value of a block goes to it, and counterfeits fill the shortages, so runs of similar counts are
    cheap. The other rows are m-eligible. `known` [values] says which values are declared or were shown before. Fewer
    than m values are joined by known ones.

    Ensures: a permutation of the counts within one block leaves the probability of these blocks unchanged. That is why
    chance decides between values of equal count, and why only known values may join: a value that no new row has
    could not be published otherwise. An empty list if there are no such blocks.
    """
    present = pool > 0
    distinct = int(present.sum())
    if distinct < m:
        if not distinct or not known[present].all() or int(known.sum()) < m:
            return []
        return [_signature(frequent_values(pool, known, rng)[:m])]
    ordered = frequent_values(pool, present, rng)
    ends = np.cumsum(run_sizes(pool[ordered], m)).tolist()
    return [_signature(ordered[start:end]) for start, end in pairwise([0, *ends])]


def run_sizes(counts: Int64, m: int) -> list[int]:
    """The sizes of the runs that become blocks: m values each, the most frequent first, until the rest is m-eligible.

    `counts` are those of the values that new rows have, in descending order. Fewer than 2 m values are one run.

    Ensures: a permutation of the values in a run changes nothing, because each rest holds all of a run or nothing.
    """
    sizes: list[int] = []
    start = 0
    while not is_eligible(counts[start:], m):
        sizes.append(m if len(counts) - start >= 2 * m else len(counts) - start)
        start += sizes[-1]
    return sizes


def unblocked_rows(pools: Int64, blocks: list[list[Signature]]) -> Int64:
    """The new rows of each region and value that are left to assignment: those whose value is in no block."""
    left = pools.copy()
    for of_region, own in zip(left, blocks, strict=True):
        of_region[[value for block in own for value in block]] = 0
    return left


def blocked_rows(signatures: Signatures, pools: Int64, blocks: list[list[Signature]]) -> tuple[Signatures, Int64]:
    """The list with the blocks of all regions, and how many rows of a region [regions, slots] go to each block.

    `pools` [regions, values] are the new rows; a region without blocks has none.
    """
    listed = dict.fromkeys(block for of_region in blocks for block in of_region)
    signatures = signatures.extended([block for block in listed if block not in signatures.number])
    blocked = np.zeros((len(pools), len(signatures.values)), np.int64)
    for region, of_region in enumerate(blocks):
        for block in of_region:
            number = signatures.number[block]
            blocked[region, signatures.offsets[number] : signatures.offsets[number + 1]] = pools[region, list(block)]
    return signatures, blocked


def frequent_values(pool: Int64, among: Bool, rng: np.random.Generator) -> Int64:
    """These values, the most frequent first, in random order where counts are equal."""
    listed = np.flatnonzero(among)
    listed = listed[keyed_permutation(len(listed), rng)]
    return listed[np.argsort(-pool[listed], kind="stable")]


def _signature(values: Int64) -> Signature:
    return tuple(sorted(values.tolist()))
