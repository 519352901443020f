"""Difference: what remains for the other people of a group when a known part of it is subtracted."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.subtraction import search_differences
from reanon_core.inference.view.traces import ABSENT, UNKNOWN, Traces, atoms_of, traces_of
from reanon_core.inference.view.value_sets import sensitive_releases
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class DifferenceAttack:
    """Subtract whole groups of some releases from a group of another, and infer the values of the remaining people.

    The remaining people share the remaining values; if only one value remains, it is theirs. People whose value is
    inferred are subtracted in turn. Only groups whose members are certain from the published boxes are subtracted, so
    every exposure is certain, but not every certain exposure is found (see the attack `risk`).

    Paper: [BPG] difference attack (prose).
    """

    name: ClassVar[str] = "difference"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = "who is in each release, and everyone's quasi-identifiers"
    blind_to: ClassVar[str] = (
        "groups whose members are not certain from the published boxes; where boxes overlap it finds little"
    )

    constant_values: bool = True
    """Whether a person has the same value in all releases; if not, releases are not subtracted from each other."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everyone whose value the differences determine."""
        history, knowledge = sensitive_releases(history, knowledge)
        traces = traces_of(history, knowledge)
        search = search_differences(history, traces, across_releases=self.constant_values)
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
        shown, ambiguous = np.count_nonzero(traces.group != ABSENT), np.count_nonzero(traces.group == UNKNOWN)
        assumption = "if no one's value changes" if self.constant_values else "within one release"
        note = f"certain {assumption}; more people may be exposed"
        if ambiguous:
            note += f"; {ambiguous:,} of {shown:,} memberships were not used, because the boxes leave them open"
        if contradictions:
            note += f"; {contradictions:,} subtractions are inconsistent: values change, or the knowledge is wrong"
        return note
