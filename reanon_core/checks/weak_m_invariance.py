"""Weak m-invariance: every group shows m or more values equally often, and each person keeps their signature."""

from dataclasses import dataclass
from typing import ClassVar

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.known_signatures import NO_ONE, compare_signatures
from reanon_core.checks.readable import silent_verdict, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

UNEVEN = """
SELECT count(*) AS groups, coalesce(min(size), 0) AS "smallest group",
       count(*) FILTER (distinct_values < $m) AS "groups with too few values",
       count(*) FILTER (distinct_values * most <> size) AS "groups whose values are uneven",
       count(*) FILTER (most > 1) AS "groups that repeat values",
       count(*) FILTER (distinct_values < $m OR distinct_values * most <> size) AS wrong
FROM groups
"""
"""The groups that violate weak m-uniqueness."""


def judge_invariance(
    release: JudgedRelease, memory: Memory, m: int, *, episodes: bool
) -> tuple[int, dict[str, float], Memory]:
    """Violations, observed numbers, and what to remember of everyone's signatures.

    Paper: [RB09] Definitions 5 and 6, with erratum E1.
    """
    found = release.numbers(UNEVEN, m=m)
    wrong = found.pop("wrong")
    compared, after = compare_signatures(release, memory, episodes=episodes)
    return wrong + compared.moved, {**found, **compared.observed}, after


def invariance_sentence(m: int, *, episodes: bool) -> str:
    """The rule in words, as manifests state it."""
    rule = "everybody's signatures are equal or share no value" if episodes else "everybody always has the same values"
    return f"every group shows at least {m} values, all equally often, and {rule}"


@dataclass(frozen=True, kw_only=True)
class WeakMInvariance(QueryCheck):
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
        return NO_ONE

    @coded_memory
    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge the groups, and compare each person's signature with all earlier ones."""
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        if release.silent:
            return silent_verdict(self.name), memory
        violations, observed, after = judge_invariance(release, memory, self.m, episodes=self.episodes)
        sentence = invariance_sentence(self.m, episodes=self.episodes)
        return Verdict(self.name, violations == 0, violations, observed, sentence=sentence), after
