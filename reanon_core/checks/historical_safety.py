"""(m, n)-historical safety: weak m-invariance, and correlated sets of at least n people."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.hc_safety import historical_correlations
from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.known_signatures import NO_ONE
from reanon_core.checks.membership_table import MembershipTable
from reanon_core.checks.readable import unreadable_verdict
from reanon_core.checks.weak_m_invariance import invariance_sentence, judge_invariance
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class HistoricalSafety(QueryCheck):
    """Weak m-invariance over the whole history, and every new group is hc-safe with degree n.

    Paper: [RB09] Definition 8.
    """

    name: ClassVar[str] = "historical-safety"
    needs_knowledge: ClassVar[bool] = False

    m: int
    """The least number of values of a group; at least 2."""
    n: int
    """The least size of a correlated set; 1 to m."""
    max_lifespan: int | None = None
    """How many releases may show one person; no bound if it is left out."""
    episodes: bool = False
    """Whether a person's sensitive value may change: signatures are then pairwise equal or disjoint."""

    def __post_init__(self) -> None:
        """Validate the ranges."""
        problems = []
        if self.m < 2:
            problems.append(Problem("m", "be at least 2", str(self.m)))
        if not 1 <= self.n <= max(1, self.m):
            problems.append(Problem("n", f"be from 1 to m = {self.m}", str(self.n)))
        if self.max_lifespan is not None and self.max_lifespan < 1:
            problems.append(Problem("max_lifespan", "be at least 1", str(self.max_lifespan)))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """The memory before the first release."""
        return {**NO_ONE, **_renamed(MembershipTable.empty().packed())}

    @coded_memory
    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge the groups by themselves, and against all earlier releases."""
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        violations, observed, after = judge_invariance(release, memory, self.m, episodes=self.episodes)
        entry = release.entry
        known = MembershipTable.restored(_original(memory)).extended(entry)
        found = historical_correlations(known, entry.release.boxes.count, self.n)
        over, longest = self._beyond_lifespan(known, entry)
        violations += found.unsafe + over
        observed = {**observed, **found.observed, "longest lifespan": longest}
        verdict = Verdict(self.name, violations == 0, violations, observed, sentence=self._sentence())
        return verdict, {**after, **_renamed(known.packed())}

    def _beyond_lifespan(self, known: MembershipTable, entry: Entry) -> tuple[int, int]:
        """How many people of this release were published more often than allowed, and the longest lifespan.

        Paper: [RB09] Section 3: each tuple is released at most L times.
        """
        here = known.times[known.number[known.persons.searchsorted(entry.trace.persons)]]
        over = 0 if self.max_lifespan is None else int(np.count_nonzero(here > self.max_lifespan))
        return over, int(here.max(initial=0))

    def _sentence(self) -> str:
        rules = [invariance_sentence(self.m, episodes=self.episodes)]
        if self.n > 1:
            rules.append(f"no two groups tie fewer than {self.n} people to as many others")
        if self.max_lifespan is not None:
            rules.append(f"nobody is in more than {self.max_lifespan} releases")
        return "; ".join(rules)


_PREFIX = "appeared_"


def _renamed(memory: Memory) -> Memory:
    return {f"{_PREFIX}{name}": value for name, value in memory.items()}


def _original(memory: Memory) -> Memory:
    return {name.removeprefix(_PREFIX): value for name, value in memory.items() if name.startswith(_PREFIX)}
