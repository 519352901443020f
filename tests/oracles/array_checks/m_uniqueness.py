"""m-uniqueness: every group has m or more rows, all with distinct sensitive values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oracles.array_checks.groups import (
    ValueCounts,
    distinct_values,
    group_sizes,
    silent,
    silent_verdict,
    size_summary,
    unreadable,
    unreadable_verdict,
    value_counts,
)
from reanon_core.model.arrays import Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class Uniqueness:
    """The groups of one release that violate m-uniqueness."""

    violations: int
    """Groups that are too small, repeat a value, or both."""
    observed: dict[str, float]
    """The violations by kind."""


def judge_uniqueness(counts: ValueCounts, sizes: Int64, m: int) -> Uniqueness:
    """Count the groups that violate m-uniqueness, by kind.

    Paper: [XT07] Definition 17, first part.
    """
    small = sizes < m
    repeats = distinct_values(counts) < sizes
    return Uniqueness(
        violations=int(np.count_nonzero(small | repeats)),
        observed={
            **size_summary(sizes),
            "groups too small": int(np.count_nonzero(small)),
            "groups that repeat a value": int(np.count_nonzero(repeats)),
        },
    )


@dataclass(frozen=True, kw_only=True)
class MUniqueness:
    """Every group has at least m rows, all with distinct sensitive values.

    Paper: [XT07] Definition 17, first part.
    """

    name: ClassVar[str] = "m-uniqueness"
    needs_knowledge: ClassVar[bool] = False

    m: int
    """The least number of rows of a group; at least 2."""

    def __post_init__(self) -> None:
        """Validate the range."""
        if self.m < 2:
            raise InvalidParameter(Problem("m", "be at least 2", str(self.m)))

    def initial_memory(self) -> Memory:
        """Nothing: each release is judged by itself."""
        return {}

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the groups that are too small or repeat a value."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        if silent(entry):
            return silent_verdict(self.name), memory
        found = judge_uniqueness(value_counts(entry), group_sizes(entry.release), self.m)
        sentence = f"every group has at least {self.m} rows, all with different sensitive values"
        return Verdict(self.name, found.violations == 0, found.violations, found.observed, sentence=sentence), memory
