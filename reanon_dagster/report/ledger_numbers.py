"""What the ledger says about a series, for its steward: exposure, one example, churn, drift and margins.

All of it is private. The margins compare original and published: the frequencies of each column and of each pair of
columns, which are true counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.inference.view.value_sets import BITS, mask_sizes
from reanon_core.model.arrays import MISSING, Float64, Int32, Int64
from reanon_core.model.coding import decode
from reanon_core.model.errors import ReanonError
from reanon_core.model.history import Published
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.release import ALL_MISSING
from reanon_core.model.schema import QuasiIdentifier
from reanon_core.model.snapshot import Snapshot
from reanon_dagster.lab.baseline import NAIVE, baseline_entries
from reanon_dagster.lab.compared_techniques import compared_techniques
from reanon_dagster.report.exposure import Candidates
from reanon_dagster.report.pages.release_numbers import box_of_rows, row_weights

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True)
class Churn:
    """How the people of one snapshot differ from those of the one before."""

    release: str
    people: int
    new: int
    returned: int
    left: int
    changed: int
    """How many of those who stayed have another sensitive value."""
    drift: float
    """How far the sensitive values are from those before: total variation, 0 the same, 1 all others."""


@dataclass(frozen=True)
class Step:
    """What the releases so far leave possible for the example person."""

    release: str
    present: bool
    series: list[str]
    naive: list[str]


def naive_ledger(series: "Series", ledger: Ledger) -> Ledger | None:
    """The same snapshots published in the naive way; None if even that cannot be done."""
    parameters = compared_techniques(series, [NAIVE])[0].parameters
    tables = [entry.snapshot.in_table().answer() for entry in ledger.entries]
    try:
        return Ledger(tuple(baseline_entries(NAIVE, parameters, tables, np.random.default_rng(0))))
    except ReanonError:
        return None


def example(
    ledger: Ledger,
    releases: Sequence[str],
    own: Sequence[Candidates],
    naive: Sequence[Candidates],
) -> list[Step]:
    """Release by release, what is left for the person who is in most releases and whom the naive way protects least.

    Nothing if no release has people.
    """
    values = ledger.entries[-1].snapshot.schema.sensitive.values
    persons, masks = naive[-1]
    if not len(persons):
        return []
    present = np.zeros(len(persons), np.int64)
    for entry in ledger.entries:
        present += np.isin(persons, entry.trace.persons)
    chosen = int(persons[np.lexsort((persons, mask_sizes(masks), -present))[0]])
    return [
        Step(
            release,
            bool(np.isin(chosen, entry.trace.persons)),
            _values(one, chosen, values),
            _values(other, chosen, values),
        )
        for release, entry, one, other in zip(releases, ledger.entries, own, naive, strict=True)
    ]


def _values(found: Candidates, person: int, values: Sequence[str]) -> list[str]:
    """The values that are left for a person, in alphabetical order; none before the person is in a release."""
    persons, masks = found
    place = int(persons.searchsorted(person))
    if place >= len(persons) or persons[place] != person:
        return []
    words = [int(word) for word in masks[place]]
    return sorted(value for code, value in enumerate(values) if words[code // BITS] >> (code % BITS) & 1)


def churn(releases: Sequence[str], snapshots: Sequence[Snapshot]) -> list[Churn]:
    """Who joined, returned, left and changed, release by release."""
    known: Int64 = np.empty(0, np.int64)
    found: list[Churn] = []
    for at, (release, snapshot) in enumerate(zip(releases, snapshots, strict=True)):
        here = snapshot.persons
        before = snapshots[at - 1] if at else None
        last = np.empty(0, np.int64) if before is None else before.persons
        returned = np.count_nonzero(np.isin(here, known)) - np.count_nonzero(np.isin(here, last))
        found.append(
            Churn(
                release,
                len(here),
                new=int(np.count_nonzero(~np.isin(here, known))),
                returned=int(returned),
                left=int(np.count_nonzero(~np.isin(last, here))),
                changed=0 if before is None else _changed(before, snapshot),
                drift=0.0 if before is None else _drift(before, snapshot),
            )
        )
        known = np.union1d(known, here)
    return found


def _changed(before: Snapshot, now: Snapshot) -> int:
    _, then, here = np.intersect1d(before.persons, now.persons, assume_unique=True, return_indices=True)
    return int(np.count_nonzero(before.sensitive[then] != now.sensitive[here]))


def _drift(before: Snapshot, now: Snapshot) -> float:
    """Half the sum of the differences of shares."""
    width = len(now.schema.sensitive.values)
    one, two = (np.bincount(table.sensitive, minlength=width) / max(1, table.size) for table in (before, now))
    return float(np.abs(one - two).sum() / 2)


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
