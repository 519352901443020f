"""Difference: what is left for the others when a group's known part is taken out of it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.subtraction.difference_search import searched
from reanon_core.inference.subtraction.differences import NOTHING
from reanon_core.inference.view.sensitive_releases import speaking
from reanon_core.inference.view.traces import UNKNOWN, Traces, atoms_of, traces_of
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class DifferenceAttack:
    """Subtract whole groups of some releases from a group of another, and see what the rest must have.

    Whoever is left, after those who stayed or came are taken out, shares the values that are left; where that is
    one value, it is theirs. What is found is subtracted in turn. Only groups whose
    people are certain from the published boxes are subtracted, so an exposure is certain; not every certain
    exposure is found (see `risk`).
    Paper: [BPG] difference and intersection attacks over any releases; specification, Section 6.
    """

    name: ClassVar[str] = "difference"
    any_size: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False

    constant_values: bool = True
    """Whether a person has one value in all releases; if not, releases are not subtracted from each other."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everybody whose rest has one value."""
        history, knowledge = speaking(history, knowledge)
        traces = traces_of(history, knowledge)
        search = searched(history, traces, together=self.constant_values)
        exposed = np.flatnonzero(search.known >= 0)
        atoms = atoms_of(traces, history)
        return Findings(
            attack=self.name,
            of=len(traces.persons),
            persons=traces.persons[exposed],
            inferred=search.known[exposed],
            confidence=np.ones(len(exposed)),
            note=self._note(traces, search.contradictions),
            extra={
                "smallest candidate set": float(atoms.most.min(initial=len(traces.persons))),
                "fewest values of a rest": float(search.fewest),
                "atoms": float(len(atoms.size)),
                "ambiguous memberships": float(np.count_nonzero(traces.group == UNKNOWN)),
                "contradictions": float(search.contradictions),
            },
        )

    def _note(self, traces: Traces, contradictions: int) -> str:
        shown, ambiguous = np.count_nonzero(traces.group != NOTHING), np.count_nonzero(traces.group == UNKNOWN)
        assumption = "if nobody's value changes" if self.constant_values else "within one release"
        note = f"certain {assumption}; others may be exposed too"
        if ambiguous:
            note += f"; blind to {ambiguous:,} of {shown:,} memberships, which the boxes leave open"
        if contradictions:
            note += f"; {contradictions:,} subtractions do not add up: values change, or the knowledge is wrong"
        return note
