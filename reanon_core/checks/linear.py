"""The linear check: correlations of few people that sums and differences of groups reveal."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.group_components import judge_components
from reanon_core.checks.membership_table import MembershipTable
from reanon_core.checks.readable import unreadable, unreadable_verdict
from reanon_core.checks.signed_sums import smallest_sums
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class Linear:
    """No sum of groups with weights +1 and -1 leaves fewer than n people on either side.

    The check is exact for sums of up to `combine` groups with the same values, of which one is new. Small components of
    such groups are decided exactly, for any weights and any number of groups, by a search of the whole row space.
    Beyond that nothing is decided, and the observed numbers say for how many groups.
    Paper: none; it goes beyond [RB09] (departure D3 of Cor-Split).
    """

    name: ClassVar[str] = "linear"
    needs_knowledge: ClassVar[bool] = False

    n: int
    """The least number of people on either side of a derived correlation; at least 1."""
    combine: int = 4
    """The greatest number of groups in a sum; 2 to 6."""

    def __post_init__(self) -> None:
        """Validate the ranges."""
        problems = []
        if self.n < 1:
            problems.append(Problem("n", "be at least 1", str(self.n)))
        if not 2 <= self.combine <= 6:
            problems.append(Problem("combine", "be from 2 to 6", str(self.combine)))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """The memory before the first release."""
        return MembershipTable.empty().packed()

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Search every sum that contains a new group."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        known = MembershipTable.restored(memory).extended(entry)
        first = known.groups - entry.release.boxes.count
        if self.n == 1:  # a side without people is no correlation
            sums, decided = np.zeros(known.groups - first, np.int64), np.ones(known.groups - first, np.bool_)
            correlated = decided & False
        else:
            sums = smallest_sums(known, first, self.n - 1, self.combine)
            correlated, decided = judge_components(known, first, self.n - 1)
        unsafe = (sums > 0) | correlated
        violations = int(np.count_nonzero(unsafe))
        observed: dict[str, float] = {
            "groups": len(sums),
            "groups with a derived correlation that is too small": violations,
            "smallest derived correlation": int(sums[sums > 0].min()) if (sums > 0).any() else 0,
            "groups decided wholly": int(np.count_nonzero(decided)),
            f"groups not decided beyond {self.combine} groups": int(np.count_nonzero(~decided)),
        }
        sentence = (
            f"no sum of up to {self.combine} groups leaves fewer than {self.n} people on a side, and none at all where "
            f"few groups hang together"
        )
        return Verdict(self.name, violations == 0, violations, observed, sentence=sentence), known.packed()
