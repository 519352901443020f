"""Propagation: the history as a puzzle of everybody's values, solved as far as polynomial time goes."""

from dataclasses import dataclass, replace
from typing import ClassVar

from reanon_core.attacks.compromised import told
from reanon_core.inference.elimination.problem import look_at_all, puzzle_of
from reanon_core.inference.elimination.propagation import UNBOUNDED, shave, solve
from reanon_core.inference.view.known_groups import standings
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge

SMALL = 2_000
"""In a history of so few people every value of everybody is tried out, as far as it leads."""


@dataclass(frozen=True, kw_only=True)
class PropagationAttack:
    """Every group is a global-cardinality constraint on its people, and everybody has one value for all releases.

    Generalized arc consistency of every group, historical correlations, and shaving (a value that leads to a
    contradiction is no value), to a fixpoint. It contains the paper's rules and the intersection attack. A reported
    exposure is certain; no report is no proof.
    Paper: [RB09] Section 2; specification, C13.
    """

    name: ClassVar[str] = "propagation"
    any_size: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False

    shaving: bool = True
    """Whether values are tried out."""
    correlations: bool = True
    """Whether historical correlations are used besides the groups themselves."""
    widest: int = 3
    """In large histories, only people with at most so many values left are tried."""
    steps: int = 48
    """In large histories, how many groups a trial looks at at most."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everybody for whom exactly one value is left."""
        known = standings(history, knowledge)
        puzzle = puzzle_of(known, matching=True, correlations=self.correlations)
        look_at_all(puzzle)
        solve(puzzle, UNBOUNDED)
        found = told(self.name, known, puzzle, knowledge, "others may still be exposed")
        if not self.shaving:
            return found
        before, tried = found.exposed, 0
        if len(known.persons) <= SMALL:
            while dropped := shave(puzzle, known.values, UNBOUNDED):
                tried += dropped
            caveat = "others may still be exposed"
        else:
            for widest in range(2, self.widest + 1):
                tried += shave(puzzle, widest, self.steps)
            caveat = (
                f"values tried out for people with at most {self.widest} left, {self.steps} groups deep; "
                "others may still be exposed"
            )
        found = told(self.name, known, puzzle, knowledge, caveat)
        more = {"dropped by trying": float(tried), "exposed by trying": float(found.exposed - before)}
        return replace(found, extra={**found.extra, **more})
