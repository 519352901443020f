"""How much of an attack's findings is true, and of its posteriors: added by the judge, who knows the truth."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from reanon_core.catalog import build_attack
from reanon_core.model.arrays import Float64, Int64, slices
from reanon_core.model.finding import Findings
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Entry, Ledger

if TYPE_CHECKING:
    from reanon_core.protocols import BayesianAttack

PEOPLE_AT_ONCE = 1 << 20
"""So many people of a release are looked up at a time."""


@dataclass(frozen=True)
class Gain:
    """How close the posterior of one release is to the truth.

    Paper: [RPB12] Section 7.2; Section 7.4 for the confidence. The paper averages over published rows only, which
    ignores withheld rows; two more averages count them as protected and as exposed.
    """

    gain: float
    """The mean increase of the true value's probability over its frequency in the group, as a share of the possible."""
    confidence: float
    """The mean probability of the true value."""
    withheld: int
    """Rows that were not published."""
    gain_withheld_protected: float
    """The gain over all rows, where withheld rows count 0."""
    gain_withheld_exposed: float
    """The gain over all rows, where withheld rows count 1."""


def adversary_gain(entry: Entry, persons: Int64, posterior: Float64) -> Gain:
    """Compare a posterior [n, values] about these people with the truth behind a release.

    Paper: [RPB12] Section 7.2. If all rows of a group have the same value, there is nothing to gain.

    Requires: the people are the real people whom the release shows.
    """
    if not np.array_equal(persons, entry.presence().persons):
        raise ValueError("the posterior must be about the real people of the release")
    release, rows = entry.release, entry.trace.rows[entry.trace.persons.searchsorted(persons)]
    truth = entry.snapshot.sensitive[entry.snapshot.persons.searchsorted(persons)]
    shown = np.zeros((release.boxes.count, posterior.shape[1]))
    np.add.at(shown, (release.group, release.sensitive), 1)
    group = release.group[rows]
    frequency = shown[group, truth] / np.maximum(shown[group].sum(axis=1), 1)
    probability = posterior[np.arange(len(truth)), truth]
    gained = np.where(frequency < 1, (probability - frequency) / np.where(frequency < 1, 1 - frequency, 1), 0.0)
    withheld = entry.withheld
    total = max(1, len(persons) + withheld)
    return Gain(
        gain=float(gained.mean()) if len(gained) else 0.0,
        confidence=float(probability.mean()) if len(probability) else 0.0,
        withheld=withheld,
        gain_withheld_protected=float(gained.sum() / total),
        gain_withheld_exposed=float((gained.sum() + withheld) / total),
    )


def gains(ledger: Ledger, beliefs: Iterable[tuple[Int64, Float64]]) -> Iterator[Gain]:
    """The gain release by release, from the people and the posterior of each."""
    for entry, (persons, posterior) in zip(ledger.entries, beliefs, strict=True):
        yield adversary_gain(entry, persons, posterior)


def with_truth(findings: Findings, ledger: Ledger, knowledge: Knowledge | Callable[[], Knowledge]) -> Findings:
    """The findings with the number of true ones; those of an attack with posteriors also with what it gains.

    Only the latter need the knowledge again, which may therefore be a function.
    """
    findings = _with_true_count(findings, ledger)
    attack = build_attack(findings.attack)
    if not attack.has_posteriors:
        return findings
    known = knowledge if isinstance(knowledge, Knowledge) else knowledge()
    return _with_gain(findings, cast("BayesianAttack", attack), ledger, known)


def _with_true_count(findings: Findings, ledger: Ledger) -> Findings:
    """How many of the exposed people had the inferred value, in some release.

    An attack that takes a person's value for constant can be wrong where values change.
    """
    true = np.zeros(findings.exposed, dtype=np.bool_)
    order = np.argsort(findings.persons, kind="stable")
    persons, inferred = findings.persons[order], findings.inferred[order]
    for entry in ledger.entries if findings.exposed else ():
        for part in slices(len(entry.trace.persons), PEOPLE_AT_ONCE):
            traced = entry.trace.persons[part]
            place = persons.searchsorted(traced)
            hit = np.flatnonzero(place < len(persons))
            hit = hit[persons[place[hit]] == traced[hit]]
            actual = entry.snapshot.sensitive[entry.snapshot.persons.searchsorted(traced[hit])]
            true[place[hit]] |= actual == inferred[place[hit]]
        entry.forget_pages()
    right = int(np.count_nonzero(true))
    some_false = f"{findings.note}; {right:,} of these {findings.exposed:,} are true"
    note = findings.note if right == findings.exposed else some_false
    return replace(findings, note=note, extra={**findings.extra, "conclusions that are true": float(right)})


def _with_gain(findings: Findings, attack: "BayesianAttack", ledger: Ledger, knowledge: Knowledge) -> Findings:
    """The adversary's gain and confidence, where there are groups to measure them from."""
    if not all(entry.release.grouped for entry in ledger.entries):
        note = f"{findings.note}; the releases have no groups, so there is no gain over a group's frequencies"
        return replace(findings, note=note)
    beliefs = attack.beliefs(ledger.history(), knowledge)
    measured = list(gains(ledger, ((believed.persons, believed.posterior) for believed in beliefs)))
    last, most = measured[-1], max(measured, key=lambda gain: gain.gain)
    note = f"{findings.note}; the gain over the groups' frequencies is {last.gain:.2f} now, {most.gain:.2f} at most"
    extra = {
        **findings.extra,
        "adversary gain": last.gain,
        "greatest adversary gain": most.gain,
        "adversary gain, withheld protected": last.gain_withheld_protected,
        "adversary gain, withheld exposed": last.gain_withheld_exposed,
        "adversary confidence": last.confidence,
        "withheld": float(last.withheld),
    }
    return replace(findings, note=note, extra=extra)
