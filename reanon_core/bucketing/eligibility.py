"""m-eligibility: at most one in m rows has the same value. Integer arithmetic only."""

import numpy as np

from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import Int64
from reanon_core.model.errors import NotEligible, Unpublishable


def is_eligible(counts: Int64, m: int) -> bool:
    """Whether a multiset with these value counts is m-eligible; the empty one is.

    Paper: [XT07] Section 4.1. [ST15] Definition 2.3 calls it m-diversity.
    """
    return len(counts) == 0 or int(counts.max()) * m <= int(counts.sum())


def require_eligible(counts: Int64, m: int, values: tuple[str, ...], *, blocks: bool = False) -> None:
    """Refuse new rows that are not m-eligible, naming the value, its count, the bound and the largest m that works.

    `blocks` says that there could not be any, though the series allows them.

    Raises: NotEligible.
    """
    if not is_eligible(counts, m):
        top, rows = int(counts.argmax()), int(counts.sum())
        most = int(counts[top])
        raise NotEligible(value=values[top], count=most, rows=rows, m=m, largest_m=rows // most, blocks=blocks)


def deferred(counts: Int64, m: int) -> Int64:
    """How many rows of each value to withhold so that as many rows as possible remain and are m-eligible.

    An m-eligible subset with greatest count c satisfies c * m <= sum of min(count, c). Cutting every value at the
    largest such c keeps the most rows.
    """
    low, high = 0, int(counts.max(initial=0))
    while low < high:  # c * m - sum(min(count, c)) is convex in c and 0 at 0, so the c that work are an interval from 0
        cut = (low + high + 1) // 2
        if cut * m <= int(np.minimum(counts, cut).sum()):
            low = cut
        else:
            high = cut - 1
    return counts - np.minimum(counts, low)


def padding(counts: Int64, m: int, rng: np.random.Generator) -> Int64:
    """The least number of counterfeits of each value that makes the multiset m-eligible.

    These are c = m * n_1 - rows counterfeits of the other values, none of which is raised above n_1. The values are
    random: a fixed rule would let an adversary tell counterfeits from rows.

    Raises: Unpublishable if fewer than m values are known.
    """
    if is_eligible(counts, m):
        return np.zeros_like(counts)
    if len(counts) < m:
        raise Unpublishable(
            f"not_eligible: pad needs at least m = {m} sensitive values, and {len(counts)} are known; "
            f"publish a later snapshot, with more values, under this name"
        )
    top = int(counts.max())
    lacking = m * top - int(counts.sum())
    pads = np.zeros_like(counts)
    for value in keyed_permutation(len(counts), rng):
        pads[value] = min(lacking, top - int(counts[value]))
        lacking -= int(pads[value])
    return pads
