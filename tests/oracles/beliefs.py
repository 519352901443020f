"""Beliefs by enumeration: every configuration of a group, every sequence of past values. For tiny tables only."""

from collections import defaultdict
from itertools import permutations, product
from math import log2

import numpy as np


def posterior_by_configurations(weights: np.ndarray, tuples: list[int], *, degree: str) -> np.ndarray:
    """Try every one-to-one correspondence of respondents and tuples; a degree is the sum or the product of weights."""
    people, values = weights.shape
    mass = np.zeros((people, values))
    for configuration in permutations(range(len(tuples)), people):
        parts = [weights[who, tuples[which]] for who, which in enumerate(configuration)]
        total = sum(parts) if degree == "sum" else float(np.prod(parts))
        for who, which in enumerate(configuration):
            mass[who, tuples[which]] += total
    return mass / mass.sum(axis=1, keepdims=True)


def expected_by_sequences(posteriors: list[np.ndarray], next_given) -> np.ndarray:
    """RBK of one person: sum over every sequence of past values of its probability times what follows it."""
    values = len(posteriors[0])
    result = np.zeros(values)
    for sequence in product(range(values), repeat=len(posteriors)):
        chance = float(np.prod([known[value] for known, value in zip(posteriors, sequence, strict=True)]))
        if chance:
            result += chance * next_given(sequence)
    return result


def counts_by_suffixes(histories: list[list[int]]) -> dict[tuple[int, ...], int]:
    """How often each sequence is a suffix of a person's history at some view."""
    counts: dict[tuple[int, ...], int] = defaultdict(int)
    for history in histories:
        for view in range(1, len(history) + 1):
            for length in range(1, view + 1):
                counts[tuple(history[view - length : view])] += 1
    return counts


def mined(histories: list[list[int]], sequence: tuple[int, ...], value: int, *, normalised: bool) -> float:
    """p(value | sequence): of all occurrences of the sequence, or of those that have a successor."""
    counts = counts_by_suffixes(histories)
    if normalised:
        of = sum(count for key, count in counts.items() if key[:-1] == sequence)
    else:
        of = counts[sequence]
    return counts[(*sequence, value)] / of if of else 0.0


def mined_row(
    histories: list[list[int]], window: tuple[int, ...], values: int, *, normalised: bool
) -> np.ndarray | None:
    """The distribution after a window; a window that was never followed drops its oldest value, and finally all."""
    while window:
        row = np.array([mined(histories, window, value, normalised=normalised) for value in range(values)])
        if row.sum() > 0:
            return row
        window = window[1:]
    return None


def divergence(rows: np.ndarray) -> float:
    """The Jensen-Shannon divergence in bits, with equal weights, from its definition."""

    def entropy(distribution: np.ndarray) -> float:
        return -sum(p * log2(p) for p in distribution if p > 0)

    return entropy(rows.mean(axis=0)) - float(np.mean([entropy(row) for row in rows]))


def moved_earth(counts: np.ndarray, share: np.ndarray, ground: np.ndarray) -> float:
    """The earth mover's distance by linear programming."""
    from scipy.optimize import linprog

    size = len(share)
    equal = np.zeros((2 * size, size * size))
    for value in range(size):
        equal[value, value * size : (value + 1) * size] = 1
        equal[size + value, value::size] = 1
    answer = linprog(ground.ravel(), A_eq=equal, b_eq=np.concatenate([counts / counts.sum(), share]), method="highs")
    return float(answer.fun)


def consecutive_groups(rows, sensitive, share, *, k, ell, t, j, max_run) -> list[int]:
    """[RPB12] Algorithm 4 with equal distances: the group of each row along the curve, or -1.

    With max_run 0 it is the paper's. Otherwise a run of rows that is full, or ends the view, skips its first row.
    """
    group, groups, begin, end = [-1] * len(rows), 0, 0, 0
    while end < len(rows):
        end += 1
        run = range(begin, end)
        counts = np.bincount(sensitive[begin:end], minlength=len(share))
        far = np.abs(counts / len(run) - share).sum() / 2 > t + 1e-12
        if len(run) >= k and np.count_nonzero(counts) >= ell and not far and divergence(rows[begin:end]) <= j + 1e-12:
            for row in run:
                group[row] = groups
            groups, begin = groups + 1, end
        elif max_run and (len(run) >= max_run or end == len(rows)):
            begin += 1
            end = begin
    return group
