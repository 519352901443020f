"""Linear: equations between the values of few people, found by adding and subtracting groups."""

from dataclasses import dataclass, replace
from typing import ClassVar

from reanon_core.attacks.compromised import elimination_findings
from reanon_core.inference.elimination.problem import enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import UNBOUNDED, propagate
from reanon_core.inference.linear.equations import equation_table, exclude_by_equations, find_equations
from reanon_core.inference.view.known_groups import known_groups
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class LinearAttack:
    """Derive equations from sums of groups, and exclude values by these, by groups and by pairs of groups.

    An equation says by which values two small sets of people differ; if by none, the sets are correlated. The search
    finds every sum of up to `combine` groups with weights +1 and -1, and in small components every vector of the row
    space of the incidence of groups and people. Beyond that nothing is decided.

    Paper: none; it goes beyond [RB09] (departure D3 of Cor-Split).
    """

    name: ClassVar[str] = "linear"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = (
        "who is in each release, everyone's quasi-identifiers, and the values of people who are declared compromised"
    )
    blind_to: ClassVar[str] = "in large components, sums of more than four groups"

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
        equations = find_equations(known, self.smaller_than, self.combine)
        table = equation_table(equations, known.values)
        problem = value_problem(known, matching=True, correlations=True)
        enqueue_all(problem)
        propagate(problem, UNBOUNDED)
        while exclude_by_equations(problem, table):
            propagate(problem, UNBOUNDED)
        caveat = f"equations not decided beyond {self.combine} groups; others may still be exposed"
        found = elimination_findings(self.name, known, problem, knowledge, caveat)
        correlations = [equation for equation in equations if not equation.difference]
        # A side with unidentified rows excludes nothing, whatever its size.
        sizes = [
            len(side)
            for equation in correlations
            for side, rows in zip(equation.sides, equation.unidentified, strict=True)
            if not rows
        ]
        more = {
            "correlations": float(len(correlations)),
            "correlations that need more than two groups": float(sum(one.groups != 2 for one in correlations)),
            "smallest correlated set": float(min(sizes, default=0)),
        }
        return replace(found, extra={**found.extra, **more})
