"""What every class of Mondrian must satisfy, when rows guarantee it for their parts, and merging of what fails it."""

import math
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Float64, Int32, Int64

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


@compiled
def value_counts(class_of: Int32, classes: int, sensitive: Int32, values: int) -> Int64:
    """How often each value occurs in each class [classes, values]."""
    counts = np.zeros((classes, values), dtype=np.int64)
    for row, own in enumerate(class_of):
        counts[own, sensitive[row]] += 1
    return counts


@compiled
def failing_classes(counts: Int64, criterion: Criterion) -> Bool:
    """Which classes fail the criterion."""
    fails = np.empty(len(counts), dtype=np.bool_)
    for own in range(len(counts)):
        fails[own] = not satisfies(counts[own], counts[own].sum(), criterion)
    return fails


@compiled
def merged_classes(counts: Int64, depth: Int32, criterion: Criterion) -> tuple[Int32, int]:
    """The merged class of each class, and the number of merged classes; 0 if all of them together fail.

    `depth` is that of each leaf of the tree, left to right, which determines the tree. A node stays divided if both of
    its sides can be published; otherwise it is one class if it satisfies the criterion, and is left to its parent if
    not.
    """
    leaves = len(counts)
    merged = np.arange(leaves).astype(np.int32)
    tally = np.empty_like(counts)  # of the nodes on the stack
    begin, level = np.empty(leaves, dtype=np.int64), np.empty(leaves, dtype=np.int64)
    good, top = np.empty(leaves, dtype=np.bool_), 0
    for leaf in range(leaves):
        tally[top], begin[top], level[top] = counts[leaf], leaf, depth[leaf]
        good[top] = satisfies(tally[top], tally[top].sum(), criterion)
        top += 1
        while top > 1 and level[top - 1] == level[top - 2]:
            top -= 1
            tally[top - 1] += tally[top]
            level[top - 1] -= 1
            if not (good[top - 1] and good[top]):
                good[top - 1] = satisfies(tally[top - 1], tally[top - 1].sum(), criterion)
                merged[begin[top - 1] : leaf + 1] = begin[top - 1]
    if not leaves or not good[0]:
        return merged, 0
    number = -1
    for leaf in range(leaves):
        number += merged[leaf] == leaf
        merged[leaf] = number
    return merged, number + 1


@compiled
def arrangements_merged(arrangements: Int32, class_of: Int32, depth: Int32, criterion: Criterion) -> Bool:
    """For each arrangement [a, n] of values over the rows of one merged class, whether they are merged again."""
    found = np.empty(len(arrangements), dtype=np.bool_)
    for own in range(len(arrangements)):
        counts = value_counts(class_of, len(depth), arrangements[own], len(criterion.share))
        found[own] = merged_classes(counts, depth, criterion)[1] == 1
    return found
