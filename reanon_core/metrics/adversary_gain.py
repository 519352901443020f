"""How close an adversary's posterior is to the truth."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Float64, Int64
from reanon_core.model.ledger import Entry, Ledger


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
