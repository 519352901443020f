"""Subsets: whom any subset of the releases singles out, for an adversary who knows everyone's group."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.subtraction import search_differences
from reanon_core.inference.view.traces import UNKNOWN, Atoms, Traces, atoms_of, traces_of
from reanon_core.inference.view.value_sets import sensitive_releases
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class SubsetsAttack:
    """Compare any subset of the releases, knowing not only who is in each release but also in which group.

    The candidates for a person over some releases are the people with the same groups in them. More releases leave
    fewer candidates, so all releases together leave fewest: the person's atom. A person alone in an atom is singled
    out. Values are inferred as in `difference`, from groups that are all certain. This adversary is stronger than any
    who knows boxes and lifespans alone: if subtraction does not expose a person here, it does not there.

    Paper: [BPG] difference attack (prose).
    """

    name: ClassVar[str] = "subsets"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = "who is in each release, everyone's quasi-identifiers, and everyone's group"
    blind_to: ClassVar[str] = "what follows from values and counts other than by subtracting whole groups"

    constant_values: bool = True
    """Whether a person has the same value in all releases; if not, releases are not subtracted from each other."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everyone whose value the differences determine, and count the people who are singled out."""
        history, knowledge = sensitive_releases(history, knowledge)
        traces = traces_of(history, knowledge, tracked=True)
        atoms = atoms_of(traces, history)
        search = search_differences(history, traces, across_releases=self.constant_values)
        exposed = np.flatnonzero(search.known >= 0)
        return Findings(
            attack=self.name,
            of=len(traces.persons),
            persons=traces.persons[exposed],
            inferred=search.known[exposed],
            confidence=np.ones(len(exposed)),
            note=self._note(traces, atoms, search.contradictions),
            extra={
                "smallest candidate set": float(atoms.most.min(initial=len(traces.persons))),
                "singled out": float(_alone(atoms)),
                "atoms": float(len(atoms.size)),
                "fewest values of a rest": float(search.fewest),
                "ambiguous memberships": float(np.count_nonzero(traces.group == UNKNOWN)),
                "contradictions": float(search.contradictions),
            },
        )

    def _note(self, traces: Traces, atoms: Atoms, contradictions: int) -> str:
        smallest = int(atoms.most.min(initial=len(traces.persons)))
        note = f"the adversary knows everyone's group; {_alone(atoms):,} people are singled out, "
        note += f"the smallest candidate set has {smallest:,}; values are certain "
        note += "if no one's value changes" if self.constant_values else "within one release"
        if ambiguous := np.count_nonzero(traces.group == UNKNOWN):
            note += f"; {ambiguous:,} memberships are neither known nor certain from the boxes"
        if contradictions:
            note += f"; {contradictions:,} subtractions are inconsistent: values change, or the knowledge is wrong"
        return note


def _alone(atoms: Atoms) -> int:
    """How many people share their trace with no one, not even with people of uncertain trace."""
    return int(np.count_nonzero(atoms.most == 1))
