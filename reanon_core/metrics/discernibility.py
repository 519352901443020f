"""Discernibility: from how many rows each row cannot be distinguished."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.metrics.published_part import shared_boxes
from reanon_core.model.ledger import Entry


@dataclass(frozen=True, kw_only=True)
class Discernibility:
    """The sum of the squared group sizes, counterfeits included; in a decoupled release, of people who share a box.

    Withheld rows are not penalized by default, so a release that withholds many looks better than it is.
    """

    name: ClassVar[str] = "discernibility"
    quick: ClassVar[bool] = True

    penalize: bool = False
    """Whether each withheld row counts as indistinguishable from all rows of the table."""

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Sum the squares."""
        sizes = np.bincount(shared_boxes(entry).release.group).astype(np.float64)
        penalty = entry.withheld * entry.snapshot.answer().size if self.penalize else 0
        return float(sizes @ sizes) + penalty
