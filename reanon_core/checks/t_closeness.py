"""t-closeness: the values of every group are distributed nearly as in the whole release."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.groups import silent, silent_verdict, unreadable, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class TCloseness:
    """In every group the values are within t of their distribution in the release, in variation distance.

    Source: Li, Li and Venkatasubramanian, "t-closeness" (2007), with equal ground distance, for which the earth
    mover's distance is half the sum of absolute differences.
    """

    name: ClassVar[str] = "t-closeness"

    t: float
    """The greatest distance allowed."""

    def __post_init__(self) -> None:
        """Hold the range."""
        if not 0 <= self.t <= 1:
            raise InvalidParameter(Problem("t", "be between 0 and 1", str(self.t)))

    def initial_memory(self) -> Memory:
        """A release is judged by itself."""
        return {}

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Compare every group with the whole release."""
        if numbers := unreadable(entry):
            return unreadable_verdict(self.name, numbers), memory
        if silent(entry):
            return silent_verdict(self.name), memory
        release = entry.release
        values = int(release.sensitive.max(initial=-1)) + 1
        table = np.zeros((release.boxes.count, values))
        np.add.at(table, (release.group, release.sensitive), 1)
        sizes = table.sum(axis=1, keepdims=True)
        whole = table.sum(axis=0) / max(1, release.size)
        distance = np.abs(table / np.maximum(sizes, 1) - whole).sum(axis=1) / 2
        far = int((distance > self.t + ROUNDING).sum())
        verdict = Verdict(
            check=self.name,
            holds=far == 0,
            violations=far,
            observed={"greatest distance": float(distance.max(initial=0.0)), "groups": release.boxes.count},
            sentence=f"in every group the values are within {self.t} of their distribution in the whole release",
        )
        return verdict, memory
