"""k-anonymity: every row shares its generalized values with at least k - 1 others."""

from dataclasses import dataclass
from typing import ClassVar

from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.readable import unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

SMALL = """
SELECT count(*) AS groups, coalesce(min(size), 0) AS "smallest group",
       count(*) FILTER (size < $k) AS "groups too small"
FROM groups
"""


@dataclass(frozen=True, kw_only=True)
class KAnonymity(QueryCheck):
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

    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the groups that are too small."""
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        observed = release.numbers(SMALL, k=self.k)
        small = int(observed["groups too small"])
        return Verdict(
            self.name, small == 0, small, observed, sentence=f"every group has at least {self.k} rows"
        ), memory
