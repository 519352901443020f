"""Intersection: what all releases that show a person leave as possible for them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.view.box_lookup import stabbed_union
from reanon_core.inference.view.sensitive_releases import speaking
from reanon_core.inference.view.value_sets import full_masks, group_masks, highest_value, mask_sizes, only_values
from reanon_core.model.arrays import Int64, UInt64
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class IntersectionAttack:
    """Intersect the candidate sensitive sets of a person over the releases that show them.

    Paper: [XT07] Definition 15 and Lemma 1. The lemma is sufficient, not necessary: a person with more than
    one candidate left may still be certain by counting (see `risk`).
    """

    name: ClassVar[str] = "intersection"
    any_size: ClassVar[bool] = True
    has_posteriors: ClassVar[bool] = False

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everybody for whom exactly one value is left."""
        persons, candidates = candidates_left(history, knowledge)
        left = mask_sizes(candidates)
        exposed = np.flatnonzero(left == 1)
        return Findings(
            attack=self.name,
            of=len(persons),
            persons=persons[exposed],
            inferred=only_values(candidates[exposed]),
            confidence=np.ones(len(exposed)),
            note="certain where one value is left (Lemma 1); others may still be exposed by counting",
            extra={
                "mean candidates": float(left.mean()) if len(left) else 0.0,
                "fewest candidates": float(left.min()) if len(left) else 0.0,
                # Nothing is left where the releases contradict each other: the person's value has changed.
                "without candidates": float(np.count_nonzero(left == 0)),
            },
        )


def candidates_left(history: History, knowledge: Knowledge) -> tuple[Int64, UInt64]:
    """Everybody ever present, and the values that all their releases leave, as bit masks.

    Paper: [XT07] Definition 15 and Lemma 2: a person's true value is among them.
    """
    persons = np.unique(np.concatenate([np.empty(0, np.int64), *(p.persons for p in knowledge.presences)]))
    history, knowledge = speaking(history, knowledge)
    releases = tuple(published.release for published in history.releases)
    values = max(len(history.schema.sensitive.values), highest_value(releases) + 1)
    candidates = full_masks(len(persons), values)
    for release, presence in zip(releases, knowledge.presences, strict=True):
        masks = group_masks(release, values)
        candidates[persons.searchsorted(presence.persons)] &= stabbed_union(presence.qi, release.boxes, masks)
    return persons, candidates
