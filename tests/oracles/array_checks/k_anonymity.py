"""k-anonymity: every row shares its generalized values with at least k - 1 others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oracles.array_checks.groups import group_sizes, size_summary, unreadable, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every group has at least k rows, counterfeits included.

    Paper: [XT07] Section 1, after Samarati and Sweeney.
    """

    name: ClassVar[str] = "k-anonymity"
    needs_knowledge: ClassVar[bool] = False

    k: int
    """The least number of rows in a group; at least 2."""

    def __post_init__(self) -> None:
        """Check the range."""
        if self.k < 2:
            raise InvalidParameter(Problem("k", "be at least 2", str(self.k)))

    def initial_memory(self) -> Memory:
        """Empty, because each release is judged by itself."""
        return {}

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the groups that are too small."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        sizes = group_sizes(entry.release)
        small = int(np.count_nonzero(sizes < self.k))
        verdict = Verdict(
            self.name,
            holds=small == 0,
            violations=small,
            observed={**size_summary(sizes), "groups too small": small},
            sentence=f"every group has at least {self.k} rows",
        )
        return verdict, memory
