"""Compromised: what a few known people give away about the others, by the rules of the paper."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.elimination.problem import Puzzle, look_at_all, puzzle_of
from reanon_core.inference.elimination.propagation import UNBOUNDED, solve
from reanon_core.inference.view.known_groups import Standings, standings
from reanon_core.inference.view.value_sets import mask_sizes, only_values
from reanon_core.model.errors import counted
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class CompromisedAttack:
    """Exclude values by compromised people and by historical correlations, until nothing changes.

    Paper: [RB09] Definitions 2 and 4: ct-pvr and hc-pvr to their fixpoint. Whose set has shrunk to one value is known
    from then on, as if compromised.
    """

    name: ClassVar[str] = "compromised"
    any_size: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everybody for whom exactly one value is left."""
        known = standings(history, knowledge)
        puzzle = puzzle_of(known, matching=False, correlations=True)
        look_at_all(puzzle)
        solve(puzzle, UNBOUNDED)
        return told(self.name, known, puzzle, knowledge, "others may still be exposed (see propagation)")


def told(attack: str, known: Standings, puzzle: Puzzle, knowledge: Knowledge, caveat: str) -> Findings:
    """The findings of a puzzle: who has one value left and was not known before, and how far the sets shrank."""
    stranger = np.ones(len(known.persons), np.bool_)
    stranger[known.compromised] = False
    left = mask_sizes(puzzle.domain)
    exposed = np.flatnonzero(stranger & (left == 1))
    others = left[stranger]
    shrunk = mask_sizes(known.domain)[stranger] - others
    broken = int(np.count_nonzero(puzzle.broken))
    return Findings(
        attack=attack,
        of=int(np.count_nonzero(stranger)),
        persons=known.persons[exposed],
        inferred=only_values(puzzle.domain[exposed]),
        confidence=np.ones(len(exposed)),
        note=_note(known, knowledge, broken, caveat),
        extra={
            "compromised people": float(len(known.compromised)),
            "mean candidates": float(others.mean()) if len(others) else 0.0,
            "people who lost a candidate": float(np.count_nonzero(shrunk > 0)),
            "candidates excluded": float(shrunk.sum()),
            "uncertain memberships": float(known.uncertain),
            "contradictions": float(broken),
        },
    )


def _note(known: Standings, knowledge: Knowledge, broken: int, caveat: str) -> str:
    whom = (
        f"{counted(len(known.compromised), 'compromised person', 'compromised people')}"
        if len(known.compromised)
        else "nobody is declared compromised"
    )
    groups = "groups known" if knowledge.groups_known else "groups known as far as boxes tell"
    note = f"{whom}, {groups}; certain if nobody's value changes; {caveat}"
    if not knowledge.groups_known and known.uncertain:
        note += f"; blind to {known.uncertain:,} memberships, which the boxes leave open"
    if broken:
        note += f"; {counted(broken, 'group contradicts', 'groups contradict')} the others: values change"
    return note
