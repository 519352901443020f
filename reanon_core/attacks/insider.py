"""Insider: one person tells their value, and the rules of the paper exclude it for others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.elimination.problem import ValueProblem, enqueue, enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import UNBOUNDED, propagate
from reanon_core.inference.view.known_groups import KnownGroups, known_groups
from reanon_core.inference.view.value_sets import BITS, mask_sizes, only_values
from reanon_core.model.arrays import Int64, UInt64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Compromised, Knowledge

MOST_EFFORT = 500_000_000
"""About how many groups and entries are looked at before no further insider is tried."""


@dataclass(frozen=True, kw_only=True)
class InsiderAttack:
    """Expose the people whom one person makes certain who tells their value: by the worst of those who were tried.

    For each of some people alone, the attack `compromised` with this person's value added to what the adversary knows
    already. Only those count who were not certain without them.
    Paper: [RB09] Definitions 2 and 4, with one compromised person.
    """

    name: ClassVar[str] = "insider"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = (
        "who is in each release, everyone's quasi-identifiers, the groups if they are declared as known, and one "
        "person's value"
    )
    blind_to: ClassVar[str] = "insiders who were not tried, and what follows from more than two groups at a time"

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people whom the worst insider makes certain, and how many the others do.

        Raises: InvalidParameter if no one's value is at hand.
        """
        insiders = Compromised.none() if knowledge.insiders is None else knowledge.insiders()
        known = known_groups(history, knowledge)
        place = known.persons.searchsorted(insiders.persons)
        if knowledge.insiders is None or (len(known.persons) and not len(place)):
            raise InvalidParameter(
                Problem(
                    "the attack insider", "be given people's values", help="audit a series of reanon, not files alone"
                )
            )
        problem = value_problem(known, matching=False, correlations=True)
        enqueue_all(problem)
        propagate(problem, UNBOUNDED)
        start, broken = problem.domain.copy(), problem.broken.copy()
        certain = mask_sizes(start) == 1
        made: list[int] = []
        worst, exposed = start, np.empty(0, np.int64)
        for person, value in zip(place.tolist(), insiders.values.tolist(), strict=True):
            if problem.effort[0] > MOST_EFFORT:
                break
            problem.domain[:], problem.broken[:] = start, broken
            _tell(problem, person, value)
            new = (mask_sizes(problem.domain) == 1) & ~certain
            new[person] = False
            made.append(int(np.count_nonzero(new)))
            if made[-1] > len(exposed):
                worst, exposed = problem.domain.copy(), np.flatnonzero(new)
        return _findings(self.name, known, knowledge, made, exposed, worst)


def _tell(problem: ValueProblem, person: int, value: int) -> None:
    """Leave a person one value, and exclude by it until nothing changes."""
    problem.domain[person] = 0
    problem.domain[person, value // BITS] = np.uint64(1) << np.uint64(value % BITS)
    entry = int(problem.membership.latest[person])
    while entry >= 0:
        enqueue(problem.queue, int(problem.membership.group[entry]))
        entry = int(problem.membership.previous[entry])
    propagate(problem, UNBOUNDED)


def _findings(
    attack: str, known: KnownGroups, knowledge: Knowledge, made: list[int], exposed: Int64, worst: UInt64
) -> Findings:
    median = float(np.median(made)) if made else 0.0
    share = float(np.mean(np.array(made) > 0)) if made else 0.0
    groups = "groups known" if knowledge.groups_known else "groups derived from boxes"
    return Findings(
        attack=attack,
        of=len(known.persons),
        persons=known.persons[exposed],
        inferred=only_values(worst[exposed]),
        confidence=np.ones(len(exposed)),
        note=f"{groups}; {len(made):,} people were tried, each alone: the worst makes {len(exposed):,} others certain, "
        f"the median {median:,.0f}, and {share:.0%} make anyone certain; if no one's value changes",
        extra={
            "insiders tried": float(len(made)),
            "others made certain by the worst insider": float(len(exposed)),
            "others made certain by the median insider": median,
            "share of insiders who make anyone certain": share,
        },
    )
