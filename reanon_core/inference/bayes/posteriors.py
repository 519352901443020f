"""Posterior knowledge (PKsv): how likely each value is for each respondent of a group, given the group's values."""

from typing import Literal

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem

Posterior = Literal["omega", "sum", "sinkhorn", "bayes"]

SMALL_GROUP = 1 << 16
"""The most multisets of values that the exact posterior enumerates for one group."""
ROUNDS = 500
CONVERGED = 1e-10
FAINT = 1e-12
"""What sinkhorn adds to impossible values, so that it converges where no assignment is possible."""


def posteriors(engine: Posterior, expected: Float64, group: Int32, values: Int64) -> Float64:
    """PKsv: the posterior of each respondent [n, values] once the groups are published.

    `expected` [n, values] is the knowledge before the release, `group` [n] the group of each respondent, `values`
    [groups, values] how often each value occurs in each group.

    Paper: [RPB12] Definition 3.

    Ensures: every row sums up to 1.

    Raises: InvalidParameter if a group is too large for the exact posterior.
    """
    if engine == "omega":
        return omega(expected, group, values)
    if engine == "sum":
        return sum_of_degrees(expected, group, values)
    return _each_group(_sinkhorn if engine == "sinkhorn" else _bayes, expected, group, values)


@compiled
def omega(expected: Float64, group: Int32, values: Int64) -> Float64:
    """The Omega-estimate: each occurrence of a value is divided among the respondents in proportion to `expected`.

    A value that is expected of no respondent is divided evenly. A respondent of whom no value of the group is expected
    gets the frequencies of the group.

    Paper: [RPB12] Section 5.2, after Li, Li and Zhang (2009), whose text we have not compared with.
    """
    rows, width = expected.shape
    size, column = _sums_of_groups(expected, group, values.shape)
    posterior = np.zeros((rows, width))
    for row in range(rows):
        own = group[row]
        total = 0.0
        for value in range(width):
            if values[own, value] > 0:
                if column[own, value] > 0:
                    share = values[own, value] * (expected[row, value] / column[own, value])
                else:
                    share = values[own, value] / size[own]
                posterior[row, value] = share
                total += share
        _normalise(posterior[row], values[own], total)
    return posterior


@compiled
def sum_of_degrees(expected: Float64, group: Int32, values: Int64) -> Float64:
    """The paper's own posterior, in which the degree of a configuration is a sum, in closed form.

    Let w be the degree of a single association of a respondent and a tuple, R the sum over the respondent, C over the
    tuple and T over all. Then the respondent has the tuple with probability [w + (T - R - C + w) / (k - 1)] / T.

    Paper: [RPB12] Algorithm 2.
    """
    rows, width = expected.shape
    size, column = _sums_of_groups(expected, group, values.shape)
    degree = np.zeros(len(values))
    for own in range(len(values)):
        for value in range(width):
            degree[own] += values[own, value] * column[own, value]
    posterior = np.zeros((rows, width))
    for row in range(rows):
        own = group[row]
        mine = 0.0
        for value in range(width):
            mine += values[own, value] * expected[row, value]
        total = 0.0
        if degree[own] > 0:
            for value in range(width):
                if values[own, value] > 0:
                    weight = expected[row, value]
                    if size[own] > 1:
                        weight += max(0.0, degree[own] - mine - column[own, value] + weight) / (size[own] - 1)
                    posterior[row, value] = values[own, value] * weight / degree[own]
                    total += posterior[row, value]
        _normalise(posterior[row], values[own], total)
    return posterior


@compiled
def _sums_of_groups(expected: Float64, group: Int32, shape: tuple[int, int]) -> tuple[Int64, Float64]:
    """How many respondents each group has, and what is expected of them together, value by value."""
    size, column = np.zeros(shape[0], dtype=np.int64), np.zeros(shape)
    for row in range(len(group)):
        size[group[row]] += 1
        for value in range(shape[1]):
            column[group[row], value] += expected[row, value]
    return size, column


@compiled
def _normalise(row: Float64, values: Int64, total: float) -> None:
    """Normalise the row, in place; without any mass it gets the frequencies of the group."""
    shown = values.sum()
    for value in range(len(row)):
        if total > 0:
            row[value] /= total
        elif shown > 0:
            row[value] = values[value] / shown


def _each_group(engine, expected: Float64, group: Int32, values: Int64) -> Float64:  # type: ignore[no-untyped-def]
    posterior = np.zeros(expected.shape)
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(len(values) + 1))
    for own in range(len(values)):
        rows, shown = order[ends[own] : ends[own + 1]], np.flatnonzero(values[own])
        if len(rows) and len(shown):
            mine = engine(expected[np.ix_(rows, shown)], values[own, shown])
            posterior[np.ix_(rows, shown)] = mine / mine.sum(axis=1, keepdims=True)
    return posterior


def _sinkhorn(weights: Float64, count: Int64) -> Float64:
    """Scale rows and columns in turn until each respondent has one value and each value its number of respondents."""
    scaled = weights + FAINT
    share = count * (len(weights) / count.sum())  # with counterfeits there are more tuples than respondents
    for _ in range(ROUNDS):
        scaled *= share / scaled.sum(axis=0)
        rows = scaled.sum(axis=1, keepdims=True)
        scaled /= rows
        if np.abs(rows - 1).max() < CONVERGED:
            break
    return scaled


def _bayes(weights: Float64, count: Int64) -> Float64:
    """The exact posterior of independent respondents: the degree of a configuration is a product (departure D1).

    A forward-backward pass over the respondents, whose states are the multisets of values that are left. A value that
    is left in c tuples can be chosen in c ways.
    """
    states = int(np.prod(count + 1))
    if states > SMALL_GROUP:
        rule = f"have at most {SMALL_GROUP:,} multisets for the exact posterior"
        raise InvalidParameter(Problem("a group", rule, f"{states:,}", "take omega or sinkhorn"))
    shape = tuple(int(c) + 1 for c in count)
    left = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    forward = [np.zeros(shape)]
    forward[0][tuple(int(c) for c in count)] = 1.0
    for row in weights:
        after = np.zeros(shape)
        for value, weight in enumerate(row):
            more, less = _slices(len(shape), value)
            after[less] += weight * (forward[-1] * left[value])[more]
        forward.append(after / max(after.sum(), np.finfo(float).tiny))
    posterior = np.zeros(weights.shape)
    backward = np.ones(shape)
    for at in range(len(weights) - 1, -1, -1):
        before = np.zeros(shape)
        for value, weight in enumerate(weights[at]):
            more, less = _slices(len(shape), value)
            step = weight * left[value][more] * backward[less]
            posterior[at, value] = (forward[at][more] * step).sum()
            before[more] += step
        backward = before / max(before.max(), np.finfo(float).tiny)
        if posterior[at].sum() <= 0:
            return np.broadcast_to(count / count.sum(), weights.shape)
    return posterior


def _slices(dimensions: int, value: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The multisets that contain the value, and the same with one less of it."""
    whole = [slice(None)] * dimensions
    more, less = whole.copy(), whole.copy()
    more[value], less[value] = slice(1, None), slice(None, -1)
    return tuple(more), tuple(less)
