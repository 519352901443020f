"""Intersection: the values that all releases of a person leave possible."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.view.sensitive_releases import sensitive_releases
from reanon_core.inference.view.shown_boxes import group_masks_at
from reanon_core.inference.view.value_sets import full_masks, group_masks, highest_value, mask_sizes, only_values
from reanon_core.model.arrays import Int64, UInt64
from reanon_core.model.errors import counted
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class IntersectionAttack:
    """Intersect the candidate sensitive sets of a person over the releases that show them.

    Paper: [XT07] Lemma 1: a person with one candidate left is vulnerable. The condition is sufficient, not necessary:
    counting may expose a person who has more than one candidate left (see the attack `risk`).
    """

    name: ClassVar[str] = "intersection"
    any_size: ClassVar[bool] = True
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = "who is in each release, and everyone's quasi-identifiers"
    blind_to: ClassVar[str] = (
        "people whom only counting exposes: it compares sets of values, not how often a value occurs"
    )

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people for whom exactly one value is left."""
        persons, candidates = candidates_left(history, knowledge)
        left = mask_sizes(candidates)
        exposed = np.flatnonzero(left == 1)
        return Findings(
            attack=self.name,
            of=len(persons),
            persons=persons[exposed],
            inferred=only_values(candidates[exposed]),
            confidence=np.ones(len(exposed)),
            note=_note(int(np.count_nonzero(left == 0))),
            extra={
                "mean candidates": float(left.mean()) if len(left) else 0.0,
                "fewest candidates": float(left.min()) if len(left) else 0.0,
                # Someone's value has changed, or the knowledge is wrong: the releases contradict each other.
                "without candidates": float(np.count_nonzero(left == 0)),
            },
        )


def _note(contradicted: int) -> str:
    note = "certain if no one's value changes (Lemma 1); others may still be exposed by counting"
    if contradicted:
        people = counted(contradicted, "person has", "people have")
        note += f"; {people} no value in all releases: values change, or the knowledge is wrong"
    return note


def candidates_left(history: History, knowledge: Knowledge) -> tuple[Int64, UInt64]:
    """All people ever present, and the intersection of their candidate sensitive sets, as bit masks.

    Paper: [XT07] Definition 15; by Lemma 2 the true value is among them.
    """
    persons = np.unique(np.concatenate([np.empty(0, np.int64), *(p.persons for p in knowledge.presences)]))
    history, knowledge = sensitive_releases(history, knowledge)
    releases = tuple(published.release for published in history.releases)
    values = max(len(history.schema.sensitive.values), highest_value(releases) + 1)
    candidates = full_masks(len(persons), values)
    for release, presence in zip(releases, knowledge.presences, strict=True):
        masks = group_masks(release, values)
        candidates[persons.searchsorted(presence.persons)] &= group_masks_at(presence.qi, release, masks)
    return persons, candidates
