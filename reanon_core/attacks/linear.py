"""Linear: sets of people that must have the same values, once groups are added to and subtracted from each other."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reanon_core.attacks.compromised import told
from reanon_core.inference.elimination.problem import look_at_all, puzzle_of
from reanon_core.inference.elimination.propagation import UNBOUNDED, solve
from reanon_core.inference.linear.correlation_rules import tie, ties_of
from reanon_core.inference.view.known_groups import standings
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class LinearAttack:
    """Derive correlations from sums of groups, and exclude values by them, by groups and by pairs of groups.

    Sums with weights +1 and -1 of up to `combine` groups are all found, and in small components every vector of the row
    space of the incidence of groups and people. Beyond that nothing is decided.
    Paper: none; specification of [RB09], C3.
    """

    name: ClassVar[str] = "linear"
    any_size: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False

    combine: int = 4
    """The greatest number of groups in a sum; 2 to 6."""
    smaller_than: int = 3
    """Sets of fewer people than this are looked for."""

    def __post_init__(self) -> None:
        """Hold the ranges."""
        problems = []
        if not 2 <= self.combine <= 6:
            problems.append(Problem("combine", "be from 2 to 6", str(self.combine)))
        if self.smaller_than < 2:
            problems.append(Problem("smaller_than", "be at least 2", str(self.smaller_than)))
        require(problems, InvalidParameter)

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everybody for whom exactly one value is left, and count the correlations."""
        known = standings(history, knowledge)
        ties = ties_of(known, self.smaller_than, self.combine)
        puzzle = puzzle_of(known, matching=True, correlations=True)
        look_at_all(puzzle)
        solve(puzzle, UNBOUNDED)
        while tie(puzzle, ties.start, ties.person, ties.closed):
            solve(puzzle, UNBOUNDED)
        caveat = f"correlations not decided beyond {self.combine} groups; others may still be exposed"
        found = told(self.name, known, puzzle, knowledge, caveat)
        sizes = np.diff(ties.start)[ties.closed == 1]  # beside a stranger or a counterfeit the others say little
        more = {
            "correlations": float(len(ties.groups)),
            "correlations that need more than two groups": float(np.count_nonzero(ties.groups != 2)),
            "smallest correlated set": float(sizes.min()) if len(sizes) else 0.0,
        }
        return replace(found, extra={**found.extra, **more})
