"""Query error: how far the answers of counting queries on a release are from the truth."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.metrics.domains import domains
from reanon_core.metrics.published_part import published_part
from reanon_core.model.arrays import Float64, Int8, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING

BLOCK = 4096
"""How many rows are counted at a time, so that they stay in the cache for all queries."""


class PublishedGroups(NamedTuple):
    """The groups of a release, or its people, with the sensitive values of their group."""

    low: Int32  # [d, g]
    high: Int32  # [d, g]
    missing: Int8  # [d, g]
    begin: Int64  # [g] where the values begin
    end: Int64  # [g]
    values: Int32  # [rows] ascending within each group
    weight: Float64  # [g] how many real people a value stands for


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
        entry = published_part(entry)
        low, high = random_ranges(entry, self.queries, self.theta, rng)
        actual = true_counts(entry, low, high)
        selected = actual > 0
        if not selected.any():
            return 0.0
        estimate = estimated_counts(entry, low, high)
        return float(np.median(np.abs(actual[selected] - estimate[selected]) / actual[selected]))


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
    truth = entry.snapshot.answer()
    return _true_counts(np.vstack([truth.qi, truth.sensitive[None]]), low, high)


def estimated_counts(entry: Entry, low: Int32, high: Int32) -> Float64:
    """The answer of each query estimated from the release and its counterfeit counts.

    Paper: [XT07] Section 5.2: each group adds (|QI*| - c3) c1 c2. Areas are numbers of codes. A group whose
    members all lack a value is in no range of it; where some lack it, their number is unknown, and the interval
    is taken to hold for all. In a decoupled release each person adds c1 of their own box times c2 of their group.
    """
    release, groups = entry.release, entry.release.boxes.count
    order = np.lexsort((release.sensitive, release.group))
    values = release.sensitive[order]
    size = np.bincount(release.group, minlength=groups)
    end = np.cumsum(size, dtype=np.int64)
    real = size.astype(np.float64)
    real[entry.auxiliary.group] -= entry.auxiliary.count
    weight = real / np.maximum(size, 1)
    boxes, rows = release.boxes, release.person_rows
    if rows is None:
        published = PublishedGroups(boxes.low, boxes.high, boxes.missing, end - size, end, values, weight)
        return _estimates(published, low, high)
    own, group = rows.boxes, rows.group
    people = PublishedGroups(
        low=own.low[:, rows.box],
        high=own.high[:, rows.box],
        missing=own.missing[:, rows.box],
        begin=(end - size)[group],
        end=end[group],
        values=values,
        weight=1 / np.maximum(size, 1)[group],
    )
    return _estimates(people, low, high)


@compiled
def _true_counts(columns: Int32, low: Int32, high: Int32) -> Int64:
    counts = np.zeros(low.shape[1], dtype=np.int64)
    inside = np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, columns.shape[1], BLOCK):
        rows = min(BLOCK, columns.shape[1] - start)
        for query in range(low.shape[1]):
            inside[:rows] = 1
            for attribute in range(columns.shape[0]):
                column = columns[attribute, start : start + rows]
                least, most = low[attribute, query], high[attribute, query]
                for row in range(rows):
                    inside[row] &= np.uint8(column[row] >= least) & np.uint8(column[row] <= most)
            found = 0
            for row in range(rows):
                found += inside[row]
            counts[query] += found
    return counts


@compiled
def _estimates(published: PublishedGroups, low: Int32, high: Int32) -> Float64:
    box_low, box_high, missing, first, last, values, weight = published
    attributes, groups = box_low.shape
    estimates = np.zeros(low.shape[1], dtype=np.float64)
    for query in range(low.shape[1]):
        least, most = low[attributes, query], high[attributes, query]
        for group in range(groups):
            share = weight[group]
            for attribute in range(attributes):
                begin = max(box_low[attribute, group], low[attribute, query])
                end = min(box_high[attribute, group], high[attribute, query])
                if end < begin or missing[attribute, group] == ALL_MISSING:
                    share = 0.0
                    break
                share *= (end - begin + 1) / (np.int64(box_high[attribute, group]) - box_low[attribute, group] + 1)
            if share == 0.0:
                continue
            for row in range(first[group], last[group]):
                if values[row] > most:
                    break
                if values[row] >= least:
                    estimates[query] += share
    return estimates
