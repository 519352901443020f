"""Discernibility: how many rows each row cannot be told from."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.model.ledger import Entry


@dataclass(frozen=True, kw_only=True)
class Discernibility:
    """The sum of the squared group sizes, counterfeits included.

    Withheld rows are not penalized: a release that withholds many looks better here than it is.
    """

    name: ClassVar[str] = "discernibility"

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Sum the squares."""
        sizes = np.bincount(entry.release.group).astype(np.float64)
        return float(sizes @ sizes)
