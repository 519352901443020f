"""Average group size: among how many rows a row is lost."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.model.ledger import Entry


@dataclass(frozen=True, kw_only=True)
class AverageGroupSize:
    """The mean number of rows of a group, counterfeits included; 0 for a release without groups."""

    name: ClassVar[str] = "average-group-size"

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Rows by groups."""
        groups = entry.release.boxes.count
        return entry.release.size / groups if groups else 0.0
