"""What every class of Mondrian must satisfy, and when a set of rows guarantees it for each of its parts."""

import math
from typing import NamedTuple

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int64

DISTINCT_ELL, FREQUENCY_ELL = 0, 1
"""What ell bounds: the number of distinct values, or the share of the most frequent one."""
NO_T = -1.0
"""The t of a principle without t-closeness."""
ROUNDING = 1e-12
MARGIN = 2.5
"""How many standard deviations make a cut by counts that is only likely to keep the principle."""


class Criterion(NamedTuple):
    """What every class must satisfy."""

    k: int
    ell: int
    diversity: int
    """DISTINCT_ELL or FREQUENCY_ELL."""
    t: float
    share: Float64  # [values] share of each sensitive value in the whole table


@compiled
def satisfies(counts: Int64, rows: int, criterion: Criterion) -> bool:
    """Whether a set of rows with these value counts satisfies the criterion."""
    if rows < criterion.k:
        return False
    share, ell, t = criterion.share, criterion.ell, criterion.t
    distinct, most, distance = 0, 0, 0.0
    for value in range(len(counts)):
        if counts[value]:
            distinct += 1
            most = max(most, counts[value])
        distance += abs(counts[value] / rows - share[value])
    if criterion.diversity == DISTINCT_ELL and distinct < ell:
        return False
    if criterion.diversity == FREQUENCY_ELL and most * ell > rows:
        return False
    return t == NO_T or distance / 2 <= t + ROUNDING


@compiled
def guarantees(counts: Int64, rows: int, criterion: Criterion) -> bool:
    """Whether any so many rows of a set with these value counts have the ell of the criterion. The counts are consumed.

    The worst such rows have the ell - 1 most frequent values only, or as much of the most frequent one as there is.
    """
    if criterion.diversity == FREQUENCY_ELL:
        return bool(min(counts.max(), rows) * criterion.ell <= rows)
    covered = 0
    for _ in range(criterion.ell - 1):
        most = counts.argmax()
        covered += counts[most]
        counts[most] = 0
    return bool(covered < rows)


@compiled
def makes_likely(counts: Int64, rows: int, criterion: Criterion) -> bool:
    """Whether so many rows, chosen at random from a set with these value counts, have the ell by a wide margin.

    The margin is MARGIN standard deviations: of the number of rows with a value, or of the number of values.
    """
    size = counts.sum()
    share = rows / size
    if criterion.diversity == FREQUENCY_ELL:
        spread = share * (1 - share) * size / max(1, size - 1)
        for count in counts:
            if count * share + MARGIN * math.sqrt(count * (1 - count / size) * spread) > rows / criterion.ell:
                return criterion.ell == 1
        return True
    mean, variance = 0.0, 0.0
    for count in counts:
        present = 1 - (1 - share) ** count
        mean += present
        variance += present * (1 - present)
    return bool(criterion.ell == 1 or mean - MARGIN * math.sqrt(variance) >= criterion.ell)
