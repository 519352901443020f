"""Average group size: how many rows share the same generalized values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.metrics.published_part import shared_boxes
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry


@dataclass(frozen=True, kw_only=True)
class AverageGroupSize:
    """The mean number of rows in a group, counterfeits included; 0 for a release without groups.

    In a decoupled release it is the mean number of people who share a box.
    """

    name: ClassVar[str] = "average-group-size"
    quick: ClassVar[bool] = True

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Divide rows by groups."""
        release = shared_boxes(entry).release
        return release.size / release.boxes.count if release.boxes.count else 0.0


@dataclass(frozen=True, kw_only=True)
class NormalizedGroupSize:
    """C_AVG: the mean number of rows in a group, divided by k; 1 is best."""

    name: ClassVar[str] = "c-avg"
    quick: ClassVar[bool] = False

    k: int = 1
    """The k of the release; 1 gives the average group size itself."""

    def __post_init__(self) -> None:
        """Check the range."""
        if self.k < 1:
            raise InvalidParameter(Problem("k", "be at least 1", str(self.k)))

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:
        """Divide rows by groups and by k."""
        return AverageGroupSize().measure(entry, rng) / self.k
