"""What the ledger says about a series, for its steward: exposure, one example, churn, drift. All of it is private."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.inference.view.value_sets import BITS, mask_sizes
from reanon_core.model.errors import ReanonError
from reanon_core.model.ledger import Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_dagster.lab.baseline import NAIVE, baseline_entries
from reanon_dagster.lab.compared_techniques import compared_techniques
from reanon_dagster.report.exposure import Candidates

if TYPE_CHECKING:
    from reanon_core.model.arrays import Int64
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
