"""Compromised: the values that a few compromised people exclude for the others, by the rules of the paper."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.elimination.problem import ValueProblem, enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import UNBOUNDED, propagate
from reanon_core.inference.view.known_groups import KnownGroups, known_groups
from reanon_core.inference.view.value_sets import mask_sizes, only_values
from reanon_core.model.errors import counted
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class CompromisedAttack:
    """Exclude values by compromised people and by historical correlations, until nothing changes.

    Paper: [RB09] Definitions 2 and 4: ct-pvr and hc-pvr to their fixpoint. A person with one value left counts as
    compromised from then on.
    """

    name: ClassVar[str] = "compromised"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = (
        "who is in each release, everyone's quasi-identifiers, and the values of people who are declared compromised"
    )
    blind_to: ClassVar[str] = "what follows from more than two groups at a time"

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people for whom exactly one value is left."""
        known = known_groups(history, knowledge)
        problem = value_problem(known, matching=False, correlations=True)
        enqueue_all(problem)
        propagate(problem, UNBOUNDED)
        return elimination_findings(
            self.name, known, problem, knowledge, "others may still be exposed (see propagation)"
        )


def elimination_findings(
    attack: str, known: KnownGroups, problem: ValueProblem, knowledge: Knowledge, caveat: str
) -> Findings:
    """The findings of an elimination: who has one value left and was not compromised, and how many values are gone."""
    uncompromised = np.ones(len(known.persons), np.bool_)
    uncompromised[known.compromised] = False
    left = mask_sizes(problem.domain)
    exposed = np.flatnonzero(uncompromised & (left == 1))
    others = left[uncompromised]
    excluded = mask_sizes(known.domain)[uncompromised] - others
    broken = int(np.count_nonzero(problem.broken))
    return Findings(
        attack=attack,
        of=int(np.count_nonzero(uncompromised)),
        persons=known.persons[exposed],
        inferred=only_values(problem.domain[exposed]),
        confidence=np.ones(len(exposed)),
        note=_note(known, knowledge, broken, caveat),
        extra={
            "compromised people": float(len(known.compromised)),
            "mean candidates": float(others.mean()) if len(others) else 0.0,
            "people who lost a candidate": float(np.count_nonzero(excluded > 0)),
            "candidates excluded": float(excluded.sum()),
            "uncertain memberships": float(known.uncertain),
            "contradictions": float(broken),
        },
    )


def _note(known: KnownGroups, knowledge: Knowledge, broken: int, caveat: str) -> str:
    compromised = (
        f"{counted(len(known.compromised), 'compromised person', 'compromised people')}"
        if len(known.compromised)
        else "no one is declared compromised"
    )
    groups = "groups known" if knowledge.groups_known else "groups derived from boxes"
    note = f"{compromised}, {groups}; certain if no one's value changes; {caveat}"
    if not knowledge.groups_known and known.uncertain:
        note += f"; ignores {known.uncertain:,} memberships that the boxes leave uncertain"
    if broken:
        groups = counted(broken, "group contradicts", "groups contradict")
        note += f"; {groups} the others: values change, or the knowledge is wrong"
    return note
