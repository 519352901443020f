"""Original against published: the frequencies of each column and of each pair of columns. Private: true counts."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from reanon_core.model.arrays import MISSING, Float64, Int32, Int64
from reanon_core.model.coding import decode
from reanon_core.model.history import Published
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING
from reanon_core.model.schema import QuasiIdentifier
from reanon_dagster.report.pages.release_numbers import box_of_rows, row_weights

BINS = 10
"""How many ranges a column is divided into, at most."""


@dataclass(frozen=True)
class Margin:
    """A column in ranges: how many people the table has in each, and how many a reader of the release expects."""

    column: str
    ranges: list[tuple[str, float, float]]
    distance: float
    """Total variation of the two distributions: 0 the same, 1 nothing in common."""


@dataclass(frozen=True, eq=False)
class _Spread:
    """A column of the table and of the release over the same ranges."""

    column: str
    labels: list[str]
    true: Int32  # [people] range of each; -1 where the value is missing
    published: Float64  # [rows, ranges] the share of each row's interval in each range


def margins(entry: Entry) -> tuple[list[Margin], list[tuple[str, str, float]]]:
    """Every quasi-identifier and the sensitive column, and the distance of every pair of columns, the worst first."""
    spreads, weights = _spreads(entry)
    found = []
    for one in spreads:
        true = np.bincount(one.true[one.true >= 0], minlength=len(one.labels)).astype(np.float64)
        estimate = weights @ one.published
        ranges = [(label, float(a), float(b)) for label, a, b in zip(one.labels, true, estimate, strict=True)]
        found.append(Margin(one.column, ranges, _distance(true, estimate)))
    pairs = [(one.column, two.column, _pair_distance(one, two, weights)) for one, two in combinations(spreads, 2)]
    return found, sorted(pairs, key=lambda pair: -pair[2])


def _spreads(entry: Entry) -> tuple[list[_Spread], Float64]:
    release, table = entry.release, entry.snapshot.in_table().answer()
    boxes, box = box_of_rows(release)
    decoupled = release.person_rows is not None
    weights = np.ones(len(box)) if decoupled else row_weights(Published(release, entry.auxiliary))
    spreads = []
    for at, column in enumerate(entry.snapshot.schema.quasi_identifiers):
        codes = table.qi[at]
        if not release.shows(column.name) or not (codes != MISSING).any():
            continue
        low, high = boxes.low[at].astype(np.int64), boxes.high[at].astype(np.int64)
        edges = _edges(column, codes)
        first, last = edges[:-1], edges[1:] - 1
        shared = np.minimum(high[:, None], last) - np.maximum(low[:, None], first) + 1
        share = np.clip(shared, 0, None) / (high - low + 1)[:, None]
        share[boxes.missing[at] == ALL_MISSING] = 0.0
        place = np.clip(np.searchsorted(edges, codes, side="right") - 1, 0, len(first) - 1)
        place[codes < edges[0]] = -1
        spreads.append(_Spread(column.name, _labels(column, first, last), place.astype(np.int32), share[box]))
    sensitive = entry.snapshot.schema.sensitive
    if release.shows(sensitive.name):
        shown = np.eye(len(sensitive.values))[release.sensitive]
        if release.person_rows is not None:  # a person has each value of the group with its share there
            counts = np.zeros((release.boxes.count, len(sensitive.values)))
            np.add.at(counts, release.group, shown)
            shown = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[release.person_rows.group]
        spreads.append(_Spread(sensitive.name, list(sensitive.values), table.sensitive, shown))
    return spreads, weights


def _edges(column: QuasiIdentifier, codes: Int32) -> Int64:
    """Where the ranges begin, and one beyond the end."""
    known = codes[codes != MISSING]
    first, last = column.bounds or (int(known.min()), int(known.max()))
    count = min(BINS, last - first + 1)
    return np.unique(np.linspace(first, last + 1, count + 1).round().astype(np.int64))


def _labels(column: QuasiIdentifier, first: Int64, last: Int64) -> list[str]:
    ends = [decode(column, np.asarray(side, np.int32)) for side in (first, last)]
    return [str(a) if a == b else f"{a} – {b}" for a, b in zip(*ends, strict=True)]


def _pair_distance(one: _Spread, two: _Spread, weights: Float64) -> float:
    known = (one.true >= 0) & (two.true >= 0)
    cells = one.true[known].astype(np.int64) * len(two.labels) + two.true[known]
    true = np.bincount(cells, minlength=len(one.labels) * len(two.labels)).astype(np.float64)
    estimate = (one.published * weights[:, None]).T @ two.published
    return _distance(true, estimate.ravel())


def _distance(true: Float64, estimate: Float64) -> float:
    """Half the sum of the differences of shares."""
    shares = [part / total if (total := part.sum()) else part for part in (true, estimate)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
