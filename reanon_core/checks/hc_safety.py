"""hc-safety: no groups correlate fewer than n people with as many others, over the whole history."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.group_components import judge_components
from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.known_signatures import NO_ONE
from reanon_core.checks.membership_table import Appearances, MembershipTable, same_values
from reanon_core.checks.readable import unreadable_verdict
from reanon_core.checks.signed_sums import smallest_sums
from reanon_core.checks.weak_m_invariance import invariance_sentence, judge_invariance
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

Observed = dict[str, float]


def historical_correlations(known: MembershipTable, groups: int, n: int) -> tuple[Bool, Observed]:
    """Which of the latest `groups` have a historical correlation of fewer than n people, and numbers about them.

    The full intersection of two groups leaves the smallest correlated sets. A counterfeit counts as a row of its group,
    and was in no earlier group.
    Paper: [RB09] Definition 3; [RB09] Definition 7.
    """
    smallest, close = _smallest_sets(known.appearances, known.groups - groups, n)
    correlated = smallest[smallest > 0]
    unsafe = (smallest > 0) & (smallest < n)
    return unsafe, {
        "groups with a correlation": len(correlated),
        "smallest correlated set": int(correlated.min()) if len(correlated) else 0,
        "hc-unsafe groups": int(np.count_nonzero(unsafe)),
        CLOSE: int(np.count_nonzero(close)),
    }


CLOSE = "groups that share all but a few people with an earlier group"
"""What the test of the paper's program refuses, which is stricter than the definition."""


@compiled
def _smallest_sets(known: Appearances, first: int, n: int) -> tuple[Int64, Int64]:
    """The size of the smallest correlated set of each new group, 0 if it has none; and whether Figure 6 refuses it.

    Paper: [RB09] Figure 6: refused if |Q| - n < l < |Q| for the most rows l that were in one group of some release.
    """
    group, before, start, rows = known.group, known.before, known.start, known.rows
    smallest = np.zeros(len(start) - 1 - first, dtype=np.int64)
    close = np.zeros(len(smallest), dtype=np.int64)
    buffer = np.empty(64, dtype=np.int32)
    for new in range(first, len(start) - 1):
        size = rows[new + 1] - rows[new]
        filled = 0
        for appearance in range(start[new], start[new + 1]):
            earlier = before[appearance]
            while earlier >= 0:
                if filled == len(buffer):
                    longer = np.empty(2 * filled, dtype=np.int32)
                    longer[:filled] = buffer
                    buffer = longer
                buffer[filled] = group[earlier]
                filled += 1
                earlier = before[earlier]
        met = np.sort(buffer[:filled])
        run = 0
        for i in range(filled):
            run += 1
            if i + 1 < filled and met[i + 1] == met[i]:
                continue
            rest = size - run
            run = 0
            if rest == 0:
                continue
            if rest < n:
                close[new - first] = 1
            if (smallest[new - first] == 0 or rest < smallest[new - first]) and same_values(known, new, met[i]):
                smallest[new - first] = rest
    return smallest, close


@dataclass(frozen=True, kw_only=True)
class HcSafety(QueryCheck):
    """Groups of different releases tie no set of fewer than n people to as many others.

    With `strict`, nor do sums of groups with weights +1 and -1: exactly for sums of up to `combine` groups with the
    same values, of which one is new, and for small components of such groups with any weights and any number of groups.
    Beyond that nothing is decided, and the observed numbers say for how many groups.
    Paper: [RB09] Definition 7; with m also [RB09] Definition 8. `strict` goes beyond the paper (departure D3).
    """

    name: ClassVar[str] = "hc-safety"
    needs_knowledge: ClassVar[bool] = False

    n: int
    """The least size of a correlated set; at least 1, and with m at most m."""
    m: int | None = None
    """The least number of values of a group, if weak m-invariance is judged too; at least 2."""
    strict: bool = False
    """Whether sums and differences of groups are judged too; otherwise two groups at a time, as in the paper."""
    combine: int = 4
    """Strict: the greatest number of groups in a sum; 2 to 6."""
    max_lifespan: int | None = None
    """How many releases may show one person; no bound if it is left out."""
    episodes: bool = False
    """Whether a person's sensitive value may change: with m, signatures are then pairwise equal or disjoint."""

    def __post_init__(self) -> None:
        """Validate the ranges."""
        problems = []
        if self.m is not None and self.m < 2:
            problems.append(Problem("m", "be at least 2", str(self.m)))
        if self.n < 1 or (self.m is not None and self.n > max(1, self.m)):
            rule = "be at least 1" if self.m is None else f"be from 1 to m = {self.m}"
            problems.append(Problem("n", rule, str(self.n)))
        if not isinstance(self.strict, bool):
            problems.append(Problem("strict", "be true or false", str(self.strict)))
        if not 2 <= self.combine <= 6:
            problems.append(Problem("combine", "be from 2 to 6", str(self.combine)))
        if self.max_lifespan is not None and self.max_lifespan < 1:
            problems.append(Problem("max_lifespan", "be at least 1", str(self.max_lifespan)))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """The memory before the first release."""
        return {**({} if self.m is None else NO_ONE), **_renamed(MembershipTable.empty().packed())}

    @coded_memory
    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge the groups by themselves, and against all earlier releases."""
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        entry, sizes = release.entry, release.entry.release.boxes.count
        violations = 0
        after: Memory = {}
        rows = np.bincount(entry.release.group, minlength=sizes)
        observed: Observed = {"groups": sizes, "smallest group": int(rows.min()) if sizes else 0}
        if self.m is not None:
            violations, invariance, after = judge_invariance(release, memory, self.m, episodes=self.episodes)
            observed |= invariance
        known = MembershipTable.restored(_original(memory)).extended(entry)
        unsafe, correlations = historical_correlations(known, sizes, self.n)
        observed |= correlations
        if self.strict:
            summed, sums = self._sums(known, sizes)
            unsafe, observed = unsafe | summed, {**observed, **sums}
        over, observed["longest lifespan"] = self._beyond_lifespan(known, entry)
        violations += int(np.count_nonzero(unsafe)) + over
        verdict = Verdict(self.name, violations == 0, violations, observed, sentence=self._sentence())
        return verdict, {**after, **_renamed(known.packed())}

    def _sums(self, known: MembershipTable, groups: int) -> tuple[Bool, Observed]:
        """Which of the latest `groups` are in a sum that leaves fewer than n people on a side, and numbers about them.

        Paper: none (departure D3 of Cor-Split).
        """
        first = known.groups - groups
        if self.n == 1:  # a side without people is no correlation
            sums, correlated, decided = (
                np.zeros(groups, np.int64),
                np.zeros(groups, np.bool_),
                np.ones(groups, np.bool_),
            )
        else:
            sums = smallest_sums(known, first, self.n - 1, self.combine)
            correlated, decided = judge_components(known, first, self.n - 1)
        unsafe = (sums > 0) | correlated
        return unsafe, {
            "groups with a derived correlation that is too small": int(np.count_nonzero(unsafe)),
            "smallest derived correlation": int(sums[sums > 0].min()) if (sums > 0).any() else 0,
            "groups decided wholly": int(np.count_nonzero(decided)),
            f"groups not decided beyond {self.combine} groups": int(np.count_nonzero(~decided)),
        }

    def _beyond_lifespan(self, known: MembershipTable, entry: Entry) -> tuple[int, int]:
        """How many people of this release were published more often than allowed, and the longest lifespan.

        Paper: [RB09] Section 3: each tuple is released at most L times.
        """
        here = known.times[known.number[known.persons.searchsorted(entry.trace.persons)]]
        over = 0 if self.max_lifespan is None else int(np.count_nonzero(here > self.max_lifespan))
        return over, int(here.max(initial=0))

    def _sentence(self) -> str:
        rules = [] if self.m is None else [invariance_sentence(self.m, episodes=self.episodes)]
        if self.n > 1 or self.m is None:
            rules.append(f"no two groups tie fewer than {self.n} people to as many others")
        if self.strict:
            rules.append(
                f"no sum of up to {self.combine} groups leaves fewer than {self.n} people on a side, and none at all "
                f"where few groups hang together"
            )
        if self.max_lifespan is not None:
            rules.append(f"nobody is in more than {self.max_lifespan} releases")
        return "; ".join(rules)


_PREFIX = "appeared_"


def _renamed(memory: Memory) -> Memory:
    return {f"{_PREFIX}{name}": value for name, value in memory.items()}


def _original(memory: Memory) -> Memory:
    return {name.removeprefix(_PREFIX): value for name, value in memory.items() if name.startswith(_PREFIX)}
