"""Propagation: constraint propagation over the whole history, as far as polynomial time allows."""

from dataclasses import dataclass, replace
from typing import ClassVar

from reanon_core.attacks.compromised import elimination_findings
from reanon_core.inference.elimination.problem import enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import EFFORT, UNBOUNDED, propagate, shave
from reanon_core.inference.view.known_groups import known_groups
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge

SMALL = 2_000
"""In a history of at most so many people, every value of every person is tried, as deep as the effort allows."""


@dataclass(frozen=True, kw_only=True)
class PropagationAttack:
    """Every group is a global-cardinality constraint on its people, and each person has one value in all releases.

    Generalized arc consistency of every group, historical correlations, and shaving (a value that leads to a
    contradiction is excluded), to a fixpoint. The rules include those of the paper and the intersection attack. A
    reported exposure is certain; a person who is not reported may still be exposed.

    Paper: [RB09] Section 2, and beyond it.
    """

    name: ClassVar[str] = "propagation"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = (
        "who is in each release, everyone's quasi-identifiers, and the values of people who are declared compromised"
    )
    blind_to: ClassVar[str] = "in large histories, contradictions that are more than a few groups away"

    shaving: bool = True
    """Whether values are tried."""
    correlations: bool = True
    """Whether historical correlations are used in addition to the groups."""
    widest: int = 3
    """In large histories, values are tried only for people with at most so many left."""
    steps: int = 48
    """In large and in long histories, the most groups that one trial examines."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people for whom exactly one value is left."""
        known = known_groups(history, knowledge)
        problem = value_problem(known, matching=True, correlations=self.correlations)
        enqueue_all(problem)
        propagate(problem, UNBOUNDED)
        found = elimination_findings(self.name, known, problem, knowledge, "others may still be exposed")
        if not self.shaving:
            return found
        before, tried = found.exposed, 0
        problem.effort[0] = 0
        if len(known.persons) <= SMALL:
            while dropped := shave(problem, known.values, UNBOUNDED, self.steps):
                tried += dropped
            limited = f"most values tried {self.steps} groups deep; " if problem.effort[0] > EFFORT else ""
            caveat = f"{limited}others may still be exposed"
        else:
            for widest in range(2, self.widest + 1):
                tried += shave(problem, widest, self.steps, self.steps)
            caveat = (
                f"values tried for people with at most {self.widest} left, {self.steps} groups deep; "
                "others may still be exposed"
            )
        found = elimination_findings(self.name, known, problem, knowledge, caveat)
        more = {"dropped by trying": float(tried), "exposed by trying": float(found.exposed - before)}
        return replace(found, extra={**found.extra, **more})
