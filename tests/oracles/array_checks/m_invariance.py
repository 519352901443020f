"""m-invariance: a person who is published again has the same signature again."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oracles.array_checks.groups import (
    group_sizes,
    hosting_groups,
    silent,
    silent_verdict,
    unreadable,
    unreadable_verdict,
    value_counts,
)
from oracles.array_checks.m_uniqueness import judge_uniqueness
from oracles.array_checks.signature_table import SignatureTable
from reanon_core.checks.coded_memory import coded_memory
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class MInvariance:
    """Every release is m-unique, and each person has the same signature in all hosting groups.

    A lifespan is the set of releases that show a person. The check therefore remembers the signature of every person
    ever published: a person who returns after a gap must have the old one.
    Paper: [XT07] Definition 17.
    """

    name: ClassVar[str] = "m-invariance"
    needs_knowledge: ClassVar[bool] = False

    m: int
    """The least number of values among which a person is hidden; at least 2."""
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
        """Judge the groups, compare each person's signature with all earlier ones, and remember it.

        Ensures: a signature that violates the rule is remembered too, so that the person stays a violation.
        """
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        if silent(entry):
            return silent_verdict(self.name), memory
        counts = value_counts(entry)
        unique = judge_uniqueness(counts, group_sizes(entry.release), self.m)
        comparison = SignatureTable.restored(memory).compare(entry.trace.persons, counts, hosting_groups(entry))
        wrong = comparison.overlapping if self.episodes else comparison.different
        moved = int(np.count_nonzero(wrong))
        observed: dict[str, float] = {
            **unique.observed,
            "people": len(entry.trace.persons),
            "people compared": int(np.count_nonzero(comparison.known)),
            "people with another signature": moved,
        }
        violations = unique.violations + moved
        verdict = Verdict(self.name, violations == 0, violations, observed, sentence=self._sentence())
        return verdict, comparison.after.packed()

    def _sentence(self) -> str:
        rule = (
            "everybody's signatures are equal or share no value"
            if self.episodes
            else "everybody has the same signature in every release"
        )
        return f"every group has at least {self.m} rows, all with different sensitive values, and {rule}"
