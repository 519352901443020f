"""Shared boxes: every box of a release is shared by k rows."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oracles.array_checks.groups import unreadable, unreadable_verdict
from oracles.array_checks.person_rows import unreadable_person_rows
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, kw_only=True)
class SharedBoxes:
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

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the rows of each box."""
        if lost := unreadable(entry) + unreadable_person_rows(entry):
            return unreadable_verdict(self.name, lost), memory
        rows = entry.release.person_rows
        box, count = (entry.release.group, entry.release.boxes.count) if rows is None else (rows.box, rows.boxes.count)
        sizes = np.bincount(box, minlength=count)
        small = int(np.count_nonzero(sizes < self.k))
        smallest = int(sizes.min()) if len(sizes) else 0
        observed: dict[str, float] = {"boxes": count, "smallest box": smallest, "boxes too small": small}
        sentence = f"every box is shared by at least {self.k} rows"
        return Verdict(self.name, small == 0, small, observed, sentence=sentence), memory
