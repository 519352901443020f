"""Query error: how far the answers of counting queries on a release are from the truth."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.metrics.published_groups import PART, add_estimates, densities, published_groups
from reanon_core.metrics.published_part import domains, published_part
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Boxes, PersonRows, Release

BLOCK = 4096
"""How many rows are counted at a time, so that they stay in the cache for all queries."""


class PublishedBoxes(NamedTuple):
    """The boxes of a release, and the groups of the rows that each of them stands for."""

    low: Int32  # [d, b]
    high: Int32  # [d, b]
    density: Float64  # [b] one over the number of points in the box; 0 if it is in no range
    begin: Int64  # [b + 1] where the groups of a box begin
    group: Int32  # [rows]


class PublishedValues(NamedTuple):
    """The sensitive values of each group."""

    begin: Int64  # [g + 1] where the values of a group begin
    values: Int32  # [rows]
    weight: Float64  # [g] how many real people a value stands for, in each row of `PublishedBoxes`


@dataclass(frozen=True, kw_only=True)
class CountingQueryError:
    """The median relative error of random counting queries with a range for every attribute.

    Paper: [XT07] Section 5.2, Utility of the Published Data. Queries whose true answer is 0 are left out, because
    their relative error is undefined; the metric is 0 if no query is left. The truth is the whole snapshot, so withheld
    rows are errors.
    """

    name: ClassVar[str] = "query-error"
    quick: ClassVar[bool] = True

    queries: int = 1000
    """The number of random queries; at least 1."""
    theta: float = 0.1
    """The expected selectivity: the share of the rows that a query would select if values were uniform."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        problems = []
        if self.queries < 1:
            problems.append(Problem("queries", "be at least 1", str(self.queries)))
        if not 0 < self.theta <= 1:
            problems.append(Problem("theta", "be above 0 and at most 1", str(self.theta)))
        require(problems, InvalidParameter)

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:
        """Draw the queries, answer each from the snapshot and from the release, and compare."""
        errors = self.relative_errors(entry, rng)
        return float(np.median(errors)) if len(errors) else 0.0

    def relative_errors(self, entry: Entry, rng: np.random.Generator) -> Float64:
        """The relative error of each query whose true answer is not 0."""
        entry = published_part(entry)
        low, high = random_ranges(entry, self.queries, self.theta, rng)
        actual = true_counts(entry, low, high)
        selected = actual > 0
        if not selected.any():
            return np.empty(0, np.float64)
        estimate = estimated_counts(entry, low[:, selected], high[:, selected])
        errors: Float64 = np.abs(actual[selected] - estimate) / actual[selected]
        return errors


def random_ranges(entry: Entry, queries: int, theta: float, rng: np.random.Generator) -> tuple[Int32, Int32]:
    """The first and last code of each range, int32[d + 1, queries]; the sensitive attribute is the last row.

    Paper: [XT07] Section 5.2: a range covers |A| theta^(1/(d+1)) of the |A| codes of its attribute, rounded to
    at least one code, anywhere in the domain.
    """
    first, last = domains(entry.snapshot)
    first = np.append(first, 0)
    last = np.append(last, max(0, len(entry.snapshot.schema.sensitive.values) - 1))
    size = last - first + 1
    width = np.clip(np.rint(size * theta ** (1 / len(size))).astype(np.int64), 1, size)
    low = first[:, None] + rng.integers(0, (size - width + 1)[:, None], size=(len(size), queries))
    return low.astype(np.int32), (low + width[:, None] - 1).astype(np.int32)


def true_counts(entry: Entry, low: Int32, high: Int32) -> Int64:
    """The answer of each query on the snapshot; a missing value is in no range."""
    snapshot = entry.snapshot
    if snapshot.selected is None:
        return _true_counts(snapshot.qi, snapshot.sensitive, low, high)
    counts = np.zeros(low.shape[1], np.int64)
    for start in range(0, snapshot.size, PART):
        here = start + np.flatnonzero(snapshot.selected[start : start + PART])
        counts += _true_counts(snapshot.qi[:, here], snapshot.sensitive[here], low, high)
    return counts


def estimated_counts(entry: Entry, low: Int32, high: Int32) -> Float64:
    """The answer of each query estimated from the release and its counterfeit counts.

    Paper: [XT07] Section 5.2: each group adds (|QI*| - c3) c1 c2. Areas are numbers of codes. A group whose
    members all lack a value is in no range of it; where some lack it, their number is unknown, and the interval
    is taken to hold for all. In a decoupled release each person adds c1 of their own box times c2 of their group.
    """
    order = np.lexsort((high[-1], low[-1]))  # so that queries with the same sensitive values follow each other
    estimates = np.zeros(len(order), np.float64)
    ranges = np.ascontiguousarray(low[:, order]), np.ascontiguousarray(high[:, order])
    if entry.release.person_rows is not None:
        estimates[order] = _decoupled_estimates(entry.release, entry.release.person_rows, *ranges)
        return estimates
    totals = np.zeros(len(order), np.float64)
    for groups in published_groups(entry):
        add_estimates(groups, *ranges, totals)
    estimates[order] = totals
    return estimates


def _decoupled_estimates(release: Release, rows: PersonRows, low: Int32, high: Int32) -> Float64:
    """Each person adds the share of their own box times that of their group's values."""
    return _estimates(_boxes_with_groups(rows.boxes, rows.box, rows.group), values_by_group(release), low, high)


def _boxes_with_groups(boxes: Boxes, box: Int32, group: Int32) -> PublishedBoxes:
    """The boxes, with the group of every row that has them."""
    order = np.argsort(box, kind="stable")
    return PublishedBoxes(
        boxes.low, boxes.high, densities(boxes), _begins(np.bincount(box, minlength=boxes.count)), group[order]
    )


def values_by_group(release: Release) -> PublishedValues:
    """The values of each group of a decoupled release, in any order, for rows that are one person each.

    Words of group and value are sorted, which is faster than rows.
    """
    size = np.bincount(release.group, minlength=release.boxes.count)
    words = release.group.astype(np.int64) << 32
    words |= release.sensitive.view(np.uint32)
    words.sort()
    return PublishedValues(_begins(size), words.astype(np.uint32).view(np.int32), 1 / np.maximum(size, 1))


def _begins(sizes: Int64) -> Int64:
    """Where each of several consecutive parts begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


@compiled
def _true_counts(qi: Int32, sensitive: Int32, low: Int32, high: Int32) -> Int64:
    counts = np.zeros(low.shape[1], dtype=np.int64)
    inside = np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, len(sensitive), BLOCK):
        rows = min(BLOCK, len(sensitive) - start)
        for query in range(low.shape[1]):
            least, most = low[-1, query], high[-1, query]
            for row in range(rows):
                inside[row] = np.uint8(sensitive[start + row] >= least) & np.uint8(sensitive[start + row] <= most)
            for attribute in range(qi.shape[0]):
                column = qi[attribute, start : start + rows]
                least, most = low[attribute, query], high[attribute, query]
                for row in range(rows):
                    inside[row] &= np.uint8(column[row] >= least) & np.uint8(column[row] <= most)
            found = 0
            for row in range(rows):
                found += inside[row]
            counts[query] += found
    return counts


@compiled
def _estimates(boxes: PublishedBoxes, published: PublishedValues, low: Int32, high: Int32) -> Float64:
    attributes, count = boxes.low.shape
    estimates = np.zeros(low.shape[1], dtype=np.float64)
    people, share = np.empty(count, dtype=np.float64), np.empty(count, dtype=np.float64)
    for query in range(low.shape[1]):
        least, most = low[attributes, query], high[attributes, query]
        if query == 0 or least != low[attributes, query - 1] or most != high[attributes, query - 1]:
            _count_people(boxes, published, least, most, people)
        share[:] = people
        for attribute in range(attributes):
            first, last = low[attribute, query], high[attribute, query]
            box_low, box_high = boxes.low[attribute], boxes.high[attribute]
            for box in range(count):
                share[box] *= max(0, min(box_high[box], last) - np.int64(max(box_low[box], first)) + 1)
        estimates[query] = share.sum()
    return estimates


@compiled
def _count_people(boxes: PublishedBoxes, published: PublishedValues, least: int, most: int, people: Float64) -> None:
    """How many people with a sensitive value in the range a point of each box stands for."""
    inside = np.empty(len(published.weight), dtype=np.float64)
    for group in range(len(inside)):
        found = 0
        for row in range(published.begin[group], published.begin[group + 1]):
            found += (published.values[row] >= least) & (published.values[row] <= most)
        inside[group] = found * published.weight[group]
    for box in range(len(people)):
        total = 0.0
        for row in range(boxes.begin[box], boxes.begin[box + 1]):
            total += inside[boxes.group[row]]
        people[box] = total * boxes.density[box]
