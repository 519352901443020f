"""Merge the classes of a tree of cuts that fail a criterion with their siblings."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.mondrian_criterion import Criterion, satisfies
from reanon_core.model.arrays import Bool, Int32, Int64


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
