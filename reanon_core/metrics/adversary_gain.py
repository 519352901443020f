"""What an adversary's beliefs are worth, for a judge who knows the truth."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Float64, Int64
from reanon_core.model.ledger import Entry, Ledger


@dataclass(frozen=True)
class Gain:
    """The worth of the beliefs about one release.

    Paper: [RPB12] Section 7.2; Section 7.4 for the confidence. The paper's averages are over published rows only, so
    that they say nothing of the rows that were withheld: two more averages count these as protected, and as exposed.
    """

    gain: float
    """How much nearer to certainty the true value is held than by the frequencies of the group, on average."""
    confidence: float
    """How likely the true value is held, on average."""
    withheld: int
    """Rows that were not published."""
    gain_withheld_protected: float
    """The gain over all rows, withheld ones with 0."""
    gain_withheld_exposed: float
    """The gain over all rows, withheld ones with 1."""


def adversary_gain(entry: Entry, persons: Int64, posterior: Float64) -> Gain:
    """Hold beliefs [n, values] about these people against the truth behind a release.

    Paper: [RPB12] Section 7.2. A value that all rows of a group have leaves nothing to gain.

    Requires: the people are those whom the release shows; an invented one is nobody.
    """
    if not np.array_equal(persons, entry.presence().persons):
        raise ValueError("the beliefs must be about the people of the release")
    release, rows = entry.release, entry.trace.rows[entry.trace.persons.searchsorted(persons)]
    truth = entry.snapshot.sensitive[entry.snapshot.persons.searchsorted(persons)]
    shown = np.zeros((release.boxes.count, posterior.shape[1]))
    np.add.at(shown, (release.group, release.sensitive), 1)
    group = release.group[rows]
    frequency = shown[group, truth] / np.maximum(shown[group].sum(axis=1), 1)
    held = posterior[np.arange(len(truth)), truth]
    gained = np.where(frequency < 1, (held - frequency) / np.where(frequency < 1, 1 - frequency, 1), 0.0)
    withheld = entry.withheld
    total = max(1, len(persons) + withheld)
    return Gain(
        gain=float(gained.mean()) if len(gained) else 0.0,
        confidence=float(held.mean()) if len(held) else 0.0,
        withheld=withheld,
        gain_withheld_protected=float(gained.sum() / total),
        gain_withheld_exposed=float((gained.sum() + withheld) / total),
    )


def gains(ledger: Ledger, beliefs: Iterable[tuple[Int64, Float64]]) -> Iterator[Gain]:
    """The worth of beliefs release by release."""
    for entry, (persons, posterior) in zip(ledger.entries, beliefs, strict=True):
        yield adversary_gain(entry, persons, posterior)
