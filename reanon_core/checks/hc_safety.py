"""hc-safety: no two groups tie fewer than n people to as many others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.groups import size_summary, unreadable, unreadable_verdict
from reanon_core.checks.membership_table import Appearances, same_values
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class Tied:
    """How the groups of one release stand to the groups of all earlier ones."""

    unsafe: int
    """Groups with a historical correlation of fewer than n people."""
    observed: dict[str, float]


def judged_ties(known: Appearances, groups: int, n: int) -> Tied:
    """Count the unsafe groups among the latest `groups`.

    Paper: [RB09] Definitions 3 and 7, with the full intersection, which leaves the smallest sets. A counterfeit is
    nobody's row: it counts, and never stood anywhere before.
    """
    first = known.groups - groups
    smallest, refused = _smallest_ties(known.group, known.before, known.start, known.values, known.rows, first, n)
    tied = smallest[smallest > 0]
    unsafe = int(np.count_nonzero(tied < n))
    return Tied(
        unsafe=unsafe,
        observed={
            "groups with a correlation": len(tied),
            "smallest correlated set": int(tied.min()) if len(tied) else 0,
            "hc-unsafe groups": unsafe,
            "groups that Figure 6 refuses": int(np.count_nonzero(refused)),
        },
    )


@compiled
def _smallest_ties(
    group: Int32, before: Int32, start: Int64, values: Int32, rows: Int64, first: int, n: int
) -> tuple[Int64, Int64]:
    """For each new group the size of its smallest correlated set, 0 if it has none; and whether Figure 6 refuses it.

    Paper: [RB09] Figure 6: refused if |Q| - n < l < |Q| for the most rows l that stood together in some release.
    """
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
            if (smallest[new - first] == 0 or rest < smallest[new - first]) and same_values(values, rows, new, met[i]):
                smallest[new - first] = rest
    return smallest, refused


@dataclass(frozen=True, kw_only=True)
class HcSafety:
    """Sets of people whom two groups of different releases tie together have at least n members.

    Paper: [RB09] Definition 7.
    """

    name: ClassVar[str] = "hc-safety"
    needs_knowledge: ClassVar[bool] = False

    n: int
    """The least size of a correlated set; at least 1."""

    def __post_init__(self) -> None:
        """Hold the range."""
        if self.n < 1:
            raise InvalidParameter(Problem("n", "be at least 1", str(self.n)))

    def initial_memory(self) -> Memory:
        """Nobody appeared yet."""
        return Appearances.none().packed()

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Compare every group with all earlier groups that share people with it."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        known = Appearances.restored(memory).joined(entry)
        tied = judged_ties(known, entry.release.boxes.count, self.n)
        sizes = np.bincount(entry.release.group, minlength=entry.release.boxes.count)
        sentence = f"no two groups of different releases tie fewer than {self.n} people to as many others"
        observed = {**size_summary(sizes), **tied.observed}
        return Verdict(self.name, tied.unsafe == 0, tied.unsafe, observed, sentence=sentence), known.packed()
