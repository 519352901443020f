"""Which techniques apply to a table, and why not the others: what the snapshots do, and what techniques declare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.catalog import TECHNIQUES
from reanon_core.model.arrays import MISSING, Bool, Int32
from reanon_core.model.errors import ReanonError, counted
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import AdversaryKind, Fit, Technique
from reanon_dagster.lab.projection import LastRows, observed_churn
from reanon_dagster.series.config import TechniqueConfig
from reanon_dagster.series.series import build_technique

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

ADVERSARIES: dict[AdversaryKind, str] = {
    "presence": "knows all releases, who is in each, and everyone's quasi-identifiers",
    "values": "knows who is in each release, everyone's quasi-identifiers, and some people's sensitive values",
    "transitions": "knows who is in each release, everyone's quasi-identifiers, and how values follow each other",
}
KNOWN: dict[AdversaryKind, str] = {
    "presence": "who is in each release",
    "values": "some people's sensitive values",
    "transitions": "how sensitive values follow each other",
}
"""What distinguishes each adversary, in a few words."""


@dataclass(frozen=True)
class Eligibility:
    """The most frequent value among the people of a release who were never there before."""

    release: str
    new: int
    most: int
    value: str
    """A value of the data: for the steward alone."""
    values: int
    """How many different values the release has."""

    @property
    def largest(self) -> int | None:
        """The largest m for which at most one in m new people shares a value; None if no one is new."""
        return self.new // self.most if self.most else None


@dataclass(frozen=True)
class TableFacts:
    """What the snapshots on the disk do, in counts."""

    people: tuple[int, ...]
    left: float
    """The share of people who are gone in the next snapshot, on average."""
    returned: float
    """The share of the people away who are back in the next snapshot, on average."""
    joined: float
    stayed: int
    """How many people are in two snapshots or more."""
    changed_values: int
    """How many of them have another sensitive value later."""
    changed_qi: int
    columns_vary: bool
    selects: bool
    eligibility: tuple[Eligibility, ...]

    @property
    def tightest(self) -> Eligibility | None:
        """The release that bounds m most; None if no release has new people."""
        bounded = [one for one in self.eligibility if one.largest is not None]
        return min(bounded, key=lambda one: one.largest or 0, default=None)

    @property
    def largest_m(self) -> int:
        """The largest m that is eligible in every release."""
        return 0 if self.tightest is None else self.tightest.largest or 0

    @property
    def fewest_values(self) -> int:
        """The number of different values in the release that has the fewest."""
        return min((one.values for one in self.eligibility if one.values), default=0)


@dataclass(frozen=True)
class Applicability:
    """Whether a technique applies to a table, and why."""

    technique: str
    reasons: tuple[str, ...]
    """Why not; nothing if it applies."""
    fit: Fit | None
    additions: Mapping[str, object] = field(default_factory=dict)
    """The parameters that this table needs."""
    largest: int = 0
    """The largest number of values that it can hide everyone among, as far as counts tell."""

    @property
    def applies(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


def table_facts(series: "Series", names: Sequence[str], snapshots: Sequence[Snapshot]) -> TableFacts:
    """Count what changes between the snapshots.

    Requires: at least one snapshot; their lists of values grow.
    """
    churn = observed_churn(snapshots)
    known = list(accumulate(snapshots[1:], LastRows.then, initial=LastRows.of(snapshots[:1])))
    times = np.unique(np.concatenate([one.persons for one in snapshots]), return_counts=True)[1]
    values, codes = set[int](), set[int]()
    for earlier, snapshot in zip(known, snapshots[1:], strict=False):
        _, before, now = np.intersect1d(earlier.persons, snapshot.persons, assume_unique=True, return_indices=True)
        persons = snapshot.persons[now]
        values.update(persons[earlier.sensitive[before] != snapshot.sensitive[now]].tolist())
        codes.update(persons[_differ(earlier.qi[:, before], snapshot.qi[:, now])].tolist())
    return TableFacts(
        people=tuple(one.size for one in snapshots),
        left=_mean([one.left for one in churn]),
        returned=_mean([one.returned for one in churn]),
        joined=_mean([one.joined for one in churn]),
        stayed=int(np.count_nonzero(times > 1)),
        changed_values=len(values),
        changed_qi=len(codes),
        columns_vary=bool(series.config.releases.columns),
        selects=bool(series.config.releases.select),
        eligibility=tuple(eligibilities(names, snapshots)),
    )


def _differ(before: Int32, now: Int32) -> Bool:
    """Which columns of two arrays [d, n] differ; a value that is missing, or whose column came later, is no change."""
    return np.asarray(((before != now) & (before != MISSING) & (now != MISSING)).any(axis=0), np.bool_)


def eligibilities(names: Sequence[str], snapshots: Sequence[Snapshot]) -> list[Eligibility]:
    """The most frequent value among the new people of each release.

    Paper: [XT07] Section 4.1: the new rows must be m-eligible.
    """
    seen, found = np.empty(0, np.int64), []
    for name, snapshot in zip(names, snapshots, strict=True):
        new = ~np.isin(snapshot.persons, seen)
        counts = np.bincount(snapshot.sensitive[new], minlength=1)
        top = int(counts.argmax())
        most = int(counts[top])
        value = snapshot.schema.sensitive.values[top] if most else ""
        found.append(Eligibility(name, int(new.sum()), most, value, len(np.unique(snapshot.sensitive))))
        seen = np.union1d(seen, snapshot.persons)
    return found


def applicability(series: "Series", facts: TableFacts, adversary: AdversaryKind) -> list[Applicability]:
    """Every technique of the catalog, those that apply first."""
    found = [_of(series, name, kind, facts, adversary) for name, kind in TECHNIQUES.items()]
    return sorted(found, key=lambda one: not one.applies)


def _of(
    series: "Series", name: str, kind: type[Technique[Any, Any]], facts: TableFacts, adversary: AdversaryKind
) -> Applicability:
    declared, fit = kind.declaration, kind.declaration.fit
    if fit is None:
        return Applicability(name, ("it does not declare for which tables it is made",), None)
    reasons = []
    if not fit.over_series and len(facts.people) > 1:
        reasons.append("it promises nothing over several releases")
    if adversary not in fit.adversaries:
        reasons.append(f"it is not made against an adversary who knows {KNOWN[adversary]}")
    if facts.columns_vary and not declared.columns_vary:
        reasons.append("its releases must all show the same columns")
    additions: dict[str, object] = {}
    changes = (
        (facts.changed_values, fit.values_change, "another sensitive value"),
        (facts.changed_qi, fit.qi_change, "other quasi-identifiers"),
    )
    for people, needed, what in changes:
        if people and needed is None:
            have = counted(people, "person has", "people have")
            reasons.append(f"{have} {what} in a later snapshot, and it cannot publish them")
        elif people and needed is not None:
            additions |= needed
    if facts.left and fit.people_leave is None:
        reasons.append("people leave, and it cannot let them go")
    elif facts.left and fit.people_leave is not None:
        additions |= fit.people_leave
    largest = facts.largest_m if fit.rations_new_rows else facts.fewest_values
    if largest < fit.least:
        if fit.goes_on and facts.fewest_values >= fit.least:
            largest = fit.least  # some of the new people are withheld
        else:
            reasons.append(_too_small(facts, fit))
    reasons += _objections(series, name, fit, additions)
    return Applicability(name, tuple(reasons), fit, additions, largest)


def _too_small(facts: TableFacts, fit: Fit) -> str:
    tightest = facts.tightest
    if fit.rations_new_rows and tightest is not None:
        return (
            f"in {tightest.release} one value has {tightest.most:,} of {tightest.new:,} new people, and with "
            f"{fit.least} values it may have at most {tightest.new // fit.least:,}"
        )
    return f"a release has only {counted(facts.fewest_values, 'value', 'values')}, and it needs {fit.least}"


def _objections(series: "Series", name: str, fit: Fit, additions: Mapping[str, object]) -> list[str]:
    """What the technique itself has against the columns of the series."""
    try:
        config = TechniqueConfig(name=name, **{**fit.parameters(fit.least), **additions})
        build_technique(config, series.background).accepts(series.schema)
    except ReanonError as error:
        return str(error).splitlines()
    return []


def _mean(shares: Sequence[float]) -> float:
    return float(np.mean(shares)) if shares else 0.0
