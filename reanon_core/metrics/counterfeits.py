"""Counterfeits: how many rows of a release are invented."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.model.ledger import Entry


@dataclass(frozen=True, kw_only=True)
class CounterfeitCount:
    """The number of counterfeits of a release.

    Paper: [XT07] Section 5.2, Figures 5 and 6.
    """

    name: ClassVar[str] = "counterfeits"
    quick: ClassVar[bool] = False

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Sum the published counts."""
        return float(entry.auxiliary.total)
