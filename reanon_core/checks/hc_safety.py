"""hc-safety: no two groups correlate fewer than n people with as many others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.membership_table import Appearances, MembershipTable, same_values
from reanon_core.checks.readable import unreadable, unreadable_verdict
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class HistoricalCorrelations:
    """The historical correlations of the groups of one release with all earlier groups."""

    unsafe: int
    """Groups with a historical correlation of fewer than n people."""
    observed: dict[str, float]


def historical_correlations(known: MembershipTable, groups: int, n: int) -> HistoricalCorrelations:
    """Find the correlated sets of the latest `groups`, and count the unsafe groups.

    The full intersection of two groups leaves the smallest correlated sets. A counterfeit counts as a row of its group,
    and was in no earlier group.
    Paper: [RB09] Definition 3; [RB09] Definition 7.
    """
    smallest, refused = _smallest_sets(known.appearances, known.groups - groups, n)
    correlated = smallest[smallest > 0]
    unsafe = int(np.count_nonzero(correlated < n))
    return HistoricalCorrelations(
        unsafe=unsafe,
        observed={
            "groups with a correlation": len(correlated),
            "smallest correlated set": int(correlated.min()) if len(correlated) else 0,
            "hc-unsafe groups": unsafe,
            "groups that Figure 6 refuses": int(np.count_nonzero(refused)),
        },
    )


@compiled
def _smallest_sets(known: Appearances, first: int, n: int) -> tuple[Int64, Int64]:
    """The size of the smallest correlated set of each new group, 0 if it has none; and whether Figure 6 refuses it.

    Paper: [RB09] Figure 6: refused if |Q| - n < l < |Q| for the most rows l that were in one group of some release.
    """
    group, before, start, rows = known.group, known.before, known.start, known.rows
    smallest = np.zeros(len(start) - 1 - first, dtype=np.int64)
    refused = np.zeros(len(smallest), dtype=np.int64)
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
                refused[new - first] = 1
            if (smallest[new - first] == 0 or rest < smallest[new - first]) and same_values(known, new, met[i]):
                smallest[new - first] = rest
    return smallest, refused


@dataclass(frozen=True, kw_only=True)
class HcSafety:
    """Sets of people whom two groups of different releases correlate have at least n members.

    Paper: [RB09] Definition 7.
    """

    name: ClassVar[str] = "hc-safety"
    needs_knowledge: ClassVar[bool] = False

    n: int
    """The least size of a correlated set; at least 1."""

    def __post_init__(self) -> None:
        """Validate the range."""
        if self.n < 1:
            raise InvalidParameter(Problem("n", "be at least 1", str(self.n)))

    def initial_memory(self) -> Memory:
        """The memory before the first release."""
        return MembershipTable.empty().packed()

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Compare every group with all earlier groups that share people with it."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        known = MembershipTable.restored(memory).extended(entry)
        found = historical_correlations(known, entry.release.boxes.count, self.n)
        sizes = np.bincount(entry.release.group, minlength=entry.release.boxes.count)
        sentence = f"no two groups of different releases tie fewer than {self.n} people to as many others"
        smallest = int(sizes.min()) if len(sizes) else 0
        observed = {"groups": len(sizes), "smallest group": smallest, **found.observed}
        return Verdict(self.name, found.unsafe == 0, found.unsafe, observed, sentence=sentence), known.packed()
