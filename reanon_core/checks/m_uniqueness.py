"""m-uniqueness: every group has m or more rows, all with distinct sensitive values."""

from dataclasses import dataclass
from typing import ClassVar

from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.readable import silent_verdict, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

BREACHES = """
SELECT count(*) AS groups, coalesce(min(size), 0) AS "smallest group",
       count(*) FILTER (size < $m) AS "groups too small",
       count(*) FILTER (distinct_values < size) AS "groups that repeat a value",
       count(*) FILTER (size < $m OR distinct_values < size) AS wrong
FROM groups
"""


def breaches_of_uniqueness(release: JudgedRelease, m: int) -> tuple[int, dict[str, float]]:
    """How many groups violate m-uniqueness, and by what.

    Paper: [XT07] Definition 17, first part.
    """
    found = release.numbers(BREACHES, m=m)
    return found.pop("wrong"), found


@dataclass(frozen=True, kw_only=True)
class MUniqueness(QueryCheck):
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

    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the groups that are too small or repeat a value."""
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        if release.silent:
            return silent_verdict(self.name), memory
        wrong, observed = breaches_of_uniqueness(release, self.m)
        sentence = f"every group has at least {self.m} rows, all with different sensitive values"
        return Verdict(self.name, wrong == 0, wrong, observed, sentence=sentence), memory
