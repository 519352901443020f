"""Subsets: whom any releases together single out, for an adversary who can follow people through them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.subtraction.difference_search import searched
from reanon_core.inference.view.sensitive_releases import speaking
from reanon_core.inference.view.traces import UNKNOWN, Atoms, Traces, atoms_of, traces_of
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class SubsetsAttack:
    """Compare any subset of the releases, knowing not only who is in each but also in which group.

    The candidates for a person over some releases are those who have the same groups in them. Over more releases they
    only become fewer, so over all of them they are fewest: the person's atom. Whoever is alone there is singled out.
    Values are concluded as in `difference`, from groups that are all certain. Stronger than any adversary who has
    boxes and lifespans alone: whom this one does not expose by subtraction, those do not either.
    Paper: [BPG] difference and intersection attacks over any releases; specification, Sections 3 and 6.
    """

    name: ClassVar[str] = "subsets"
    any_size: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False

    constant_values: bool = True
    """Whether a person has one value in all releases; if not, releases are not subtracted from each other."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everybody whose value is concluded, and count whom the releases single out."""
        history, knowledge = speaking(history, knowledge)
        traces = traces_of(history, knowledge, tracked=True)
        atoms = atoms_of(traces, history)
        search = searched(history, traces, together=self.constant_values)
        exposed = np.flatnonzero(search.known >= 0)
        return Findings(
            attack=self.name,
            of=len(traces.persons),
            persons=traces.persons[exposed],
            inferred=search.known[exposed],
            confidence=np.ones(len(exposed)),
            note=self._note(traces, atoms),
            extra={
                "smallest candidate set": float(atoms.most.min(initial=len(traces.persons))),
                "singled out": float(_alone(atoms)),
                "atoms": float(len(atoms.size)),
                "fewest values of a rest": float(search.fewest),
                "ambiguous memberships": float(np.count_nonzero(traces.group == UNKNOWN)),
                "contradictions": float(search.contradictions),
            },
        )

    def _note(self, traces: Traces, atoms: Atoms) -> str:
        smallest = int(atoms.most.min(initial=len(traces.persons)))
        note = f"the adversary knows everybody's group; {_alone(atoms):,} are alone in some comparison, "
        note += f"the smallest candidate set has {smallest:,}; values are certain "
        note += "if nobody's changes" if self.constant_values else "within one release"
        if ambiguous := np.count_nonzero(traces.group == UNKNOWN):
            note += f"; {ambiguous:,} groups are not known to it and left open by the boxes"
        return note


def _alone(atoms: Atoms) -> int:
    """How many people share their trace with nobody, not even with people of uncertain trace."""
    return int(np.count_nonzero(atoms.most == 1))
