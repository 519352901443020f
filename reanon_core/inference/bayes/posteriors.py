"""Posterior knowledge (PKsv): how likely each value is for each respondent of a group, given the group's values.

Where the adversary does not know which group contains a person, it may be any whose box contains the person's values.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import MISSING, Float64, Int32, Int64, frozen
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.release import Boxes

Posterior = Literal["omega", "sum", "sinkhorn", "bayes"]

SMALL_GROUP = 1 << 16
"""The most multisets of values that the exact posterior enumerates for one group."""
ROUNDS = 500
CONVERGED = 1e-10
FAINT = 1e-12
"""What sinkhorn adds to impossible values, so that it converges where no assignment is possible."""
BLOCK = 1 << 22
"""How many pairs of a person and a group are compared at a time."""
ALL_MISSING = 2


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


@dataclass(frozen=True, eq=False)
class Memberships:
    """The possible groups of each person, each with a probability (`share`); the shares of a person sum up to 1."""

    row: Int64  # [m] ascending
    group: Int32  # [m]
    share: Float64  # [m]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (("row", np.int64), ("group", np.int32), ("share", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))


def possible_memberships(qi: Int32, boxes: Boxes, sizes: Int64) -> Memberships:
    """The groups whose box contains each person, `qi` [d, n], weighted by `sizes`; none for a person in no box."""
    rows, groups = [], []
    step = max(1, BLOCK // max(1, boxes.count))
    for begin in range(0, qi.shape[1], step):
        inside = np.ones((min(step, qi.shape[1] - begin), boxes.count), dtype=np.bool_)
        for attribute, codes in enumerate(qi[:, begin : begin + step]):
            low, high, missing = boxes.low[attribute], boxes.high[attribute], boxes.missing[attribute]
            within = (codes[:, None] >= low) & (codes[:, None] <= high) & (missing != ALL_MISSING)
            inside &= np.where((codes == MISSING)[:, None], missing != 0, within)
        row, group = np.nonzero(inside)
        rows.append(row + begin)
        groups.append(group)
    row = np.concatenate([np.empty(0, np.int64), *rows])
    group = np.concatenate([np.empty(0, np.int64), *groups])
    total = np.bincount(row, weights=sizes[group], minlength=qi.shape[1])
    return Memberships(row, group.astype(np.int32), sizes[group] / np.maximum(total[row], 1))


def omega_over_groups(expected: Float64, members: Memberships, values: Int64) -> Float64:
    """The Omega-estimate over all groups that may contain a person, each with its share; with one group it is `omega`.

    A person whom no group can contain keeps the knowledge from before.
    """
    row, group, share = members.row, members.group, members.share[:, None]
    column, size = np.zeros(values.shape), np.zeros(len(values))
    np.add.at(column, group, share * expected[row])
    np.add.at(size, group, members.share)
    portion = np.where(
        column[group] > 0,
        expected[row] / np.where(column[group] > 0, column[group], 1),
        1 / np.maximum(size[group], 1e-300)[:, None],
    )
    posterior = np.zeros(expected.shape)
    np.add.at(posterior, row, share * values[group] * portion)
    frequency = np.zeros(expected.shape)
    np.add.at(frequency, row, share * values[group] / np.maximum(values[group].sum(axis=1), 1)[:, None])
    total = posterior.sum(axis=1, keepdims=True)
    posterior = np.where(total > 0, posterior / np.where(total > 0, total, 1), frequency)
    unseen = posterior.sum(axis=1) == 0
    posterior[unseen] = expected[unseen] / np.maximum(expected[unseen].sum(axis=1, keepdims=True), 1e-300)
    return posterior
