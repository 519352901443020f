"""m-invariance: a person who is published again has the same signature again."""

from dataclasses import dataclass
from typing import ClassVar

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.known_signatures import NO_ONE, compare_signatures
from reanon_core.checks.m_uniqueness import breaches_of_uniqueness
from reanon_core.checks.readable import silent_verdict, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class MInvariance(QueryCheck):
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
        return NO_ONE

    @coded_memory
    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge the groups, compare each person's signature with all earlier ones, and remember it.

        Ensures: a signature that violates the rule is remembered too, so that the person stays a violation.
        """
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        if release.silent:
            return silent_verdict(self.name), memory
        wrong, observed = breaches_of_uniqueness(release, self.m)
        compared, after = compare_signatures(release, memory, episodes=self.episodes)
        observed |= compared.observed
        violations = wrong + compared.moved
        verdict = Verdict(self.name, violations == 0, violations, observed, sentence=self._sentence())
        return verdict, after

    def _sentence(self) -> str:
        rule = (
            "everybody's signatures are equal or share no value"
            if self.episodes
            else "everybody has the same signature in every release"
        )
        return f"every group has at least {self.m} rows, all with different sensitive values, and {rule}"
