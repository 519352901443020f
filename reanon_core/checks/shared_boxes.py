"""Shared boxes: every box of a release is shared by k rows."""

from dataclasses import dataclass
from typing import ClassVar

from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.readable import unreadable_person_rows, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

SHARED = """
SELECT count(*) AS boxes, coalesce(min(size), 0) AS "smallest box", count(*) FILTER (size < $k) AS "boxes too small"
FROM ({sizes})
"""
OF_GROUPS = "SELECT size FROM groups"
OF_PEOPLE = """
SELECT coalesce(size, 0) AS size
FROM person_boxes LEFT JOIN (SELECT box, count(*) AS size FROM person_rows GROUP BY box) USING (box)
"""


@dataclass(frozen=True, kw_only=True)
class SharedBoxes(QueryCheck):
    """Every box is shared by at least k rows: the rows of people if the release is decoupled, else those of groups.

    That is a width in one release. What all releases together leave of k, `k-over-history` and the attack `location`
    measure.
    """

    name: ClassVar[str] = "shared-boxes"
    needs_knowledge: ClassVar[bool] = False

    k: int
    """The least number of rows of a box; at least 2."""

    def __post_init__(self) -> None:
        """Check the range."""
        if self.k < 2:
            raise InvalidParameter(Problem("k", "be at least 2", str(self.k)))

    def initial_memory(self) -> Memory:
        """Empty, because each release is judged by itself."""
        return {}

    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the rows of each box."""
        if lost := release.unreadable + unreadable_person_rows(release.entry):
            return unreadable_verdict(self.name, lost), memory
        sizes = OF_GROUPS if release.entry.release.person_rows is None else OF_PEOPLE
        observed = release.numbers(SHARED.format(sizes=sizes), k=self.k)
        small = int(observed["boxes too small"])
        sentence = f"every box is shared by at least {self.k} rows"
        return Verdict(self.name, small == 0, small, observed, sentence=sentence), memory
