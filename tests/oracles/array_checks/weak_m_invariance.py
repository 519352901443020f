"""Weak m-invariance: every group shows m or more values equally often, and each person keeps their signature."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oracles.array_checks.groups import (
    ValueCounts,
    distinct_values,
    group_sizes,
    hosting_groups,
    largest_counts,
    size_summary,
    unreadable,
    unreadable_verdict,
    value_counts,
)
from oracles.array_checks.signature_lists import SignatureLists
from oracles.array_checks.signature_table import SignatureTable
from reanon_core.checks.coded_memory import coded_memory
from reanon_core.model.arrays import Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class Evenness:
    """The groups of one release that violate weak m-uniqueness."""

    violations: int
    observed: dict[str, float]


def judge_evenness(counts: ValueCounts, sizes: Int64, m: int) -> Evenness:
    """Count the groups with fewer than m values, or with values that do not occur equally often.

    Paper: [RB09] Definition 5.
    """
    distinct, most = distinct_values(counts), largest_counts(counts)
    few, uneven = distinct < m, distinct * most != sizes
    return Evenness(
        violations=int(np.count_nonzero(few | uneven)),
        observed={
            **size_summary(sizes),
            "groups with too few values": int(np.count_nonzero(few)),
            "groups whose values are uneven": int(np.count_nonzero(uneven)),
            "groups that repeat values": int(np.count_nonzero(most > 1)),
        },
    )


def judge_invariance(
    entry: Entry, known: SignatureTable | SignatureLists, m: int, *, episodes: bool
) -> tuple[int, dict[str, float], SignatureTable | SignatureLists]:
    """Violations, observed numbers, and the table with this release in it.

    Paper: [RB09] Definition 6, with erratum E1.
    """
    counts = value_counts(entry)
    even = judge_evenness(counts, group_sizes(entry.release), m)
    comparison = known.compare(entry.trace.persons, counts, hosting_groups(entry))
    moved = int(np.count_nonzero(comparison.overlapping if episodes else comparison.different))
    observed: dict[str, float] = {
        **even.observed,
        "people": len(entry.trace.persons),
        "people compared": int(np.count_nonzero(comparison.known)),
        "people with another signature": moved,
    }
    return even.violations + moved, observed, comparison.after


def invariance_sentence(m: int, *, episodes: bool) -> str:
    """The rule in words, as manifests state it."""
    rule = "everybody's signatures are equal or share no value" if episodes else "everybody always has the same values"
    return f"every group shows at least {m} values, all equally often, and {rule}"


@dataclass(frozen=True, kw_only=True)
class WeakMInvariance:
    """Every group shows at least m values equally often, and each person has the same signature in all releases.

    Paper: [RB09] Definition 6.
    """

    name: ClassVar[str] = "weak-m-invariance"
    needs_knowledge: ClassVar[bool] = False

    m: int
    """The least number of values of a group; at least 2."""
    episodes: bool = False
    """Whether a person's sensitive value may change: signatures are then pairwise equal or disjoint."""

    def __post_init__(self) -> None:
        """Validate the range."""
        if self.m < 2:
            raise InvalidParameter(Problem("m", "be at least 2", str(self.m)))

    def initial_memory(self) -> Memory:
        """The memory before the first release."""
        return SignatureTable.empty().packed()

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge the groups, and compare each person's signature with all earlier ones."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        violations, observed, after = judge_invariance(
            entry, SignatureTable.restored(memory), self.m, episodes=self.episodes
        )
        sentence = invariance_sentence(self.m, episodes=self.episodes)
        return Verdict(self.name, violations == 0, violations, observed, sentence=sentence), after.packed()
