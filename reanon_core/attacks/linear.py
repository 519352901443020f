"""Linear: sets of people that have the same values, found by adding groups to and subtracting them from each other."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reanon_core.attacks.compromised import elimination_findings
from reanon_core.inference.elimination.problem import enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import UNBOUNDED, propagate
from reanon_core.inference.linear.correlation_rules import exclude_by_derived_correlations, find_correlations
from reanon_core.inference.view.known_groups import known_groups
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class LinearAttack:
    """Derive correlations from sums of groups, and exclude values by these, by groups and by pairs of groups.

    The search finds every sum of up to `combine` groups with weights +1 and -1, and in small components every vector of
    the row space of the incidence of groups and people. Beyond that nothing is decided.
    Paper: none; it goes beyond [RB09] (departure D3 of Cor-Split).
    """

    name: ClassVar[str] = "linear"
    any_size: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False

    combine: int = 4
    """The greatest number of groups in a sum; 2 to 6."""
    smaller_than: int = 3
    """The search is for sets of fewer people than this."""

    def __post_init__(self) -> None:
        """Validate the ranges."""
        problems = []
        if not 2 <= self.combine <= 6:
            problems.append(Problem("combine", "be from 2 to 6", str(self.combine)))
        if self.smaller_than < 2:
            problems.append(Problem("smaller_than", "be at least 2", str(self.smaller_than)))
        require(problems, InvalidParameter)

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people for whom exactly one value is left, and count the correlations."""
        known = known_groups(history, knowledge)
        correlations = find_correlations(known, self.smaller_than, self.combine)
        problem = value_problem(known, matching=True, correlations=True)
        enqueue_all(problem)
        propagate(problem, UNBOUNDED)
        while exclude_by_derived_correlations(problem, correlations):
            propagate(problem, UNBOUNDED)
        caveat = f"correlations not decided beyond {self.combine} groups; others may still be exposed"
        found = elimination_findings(self.name, known, problem, knowledge, caveat)
        # A side with unidentified rows excludes nothing, whatever its size.
        sizes = np.diff(correlations.start)[correlations.closed == 1]
        more = {
            "correlations": float(len(correlations.groups)),
            "correlations that need more than two groups": float(np.count_nonzero(correlations.groups != 2)),
            "smallest correlated set": float(sizes.min()) if len(sizes) else 0.0,
        }
        return replace(found, extra={**found.extra, **more})
