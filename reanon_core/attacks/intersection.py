"""Intersection: the values that all releases of a person leave possible."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from reanon_core.inference.view.box_lookup import PointMasks
from reanon_core.inference.view.value_sets import full_masks, highest_value, mask_sizes, only_values, sensitive_releases
from reanon_core.model.arrays import Int32, Int64, UInt64
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
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = "who is in each release, and everyone's quasi-identifiers"
    blind_to: ClassVar[str] = (
        "people whom only counting exposes: it compares sets of values, not how often a value occurs"
    )

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people for whom exactly one value is left."""
        return self.run_in_parts(history, (knowledge,))

    def run_in_parts(self, history: History, parts: Iterable[Knowledge]) -> Findings:
        """The same, given what is known of some people at a time."""
        candidates = CandidateSets(history)
        tally = _Tally()
        for knowledge in parts:
            tally.add(*candidates.left(knowledge))
        return tally.findings(self.name)


@dataclass
class _Tally:
    """What is left of the people so far."""

    people: int = 0
    total: int = 0
    fewest: int | None = None
    contradicted: int = 0
    persons: list[Int64] = field(default_factory=list)
    inferred: list[Int32] = field(default_factory=list)

    def add(self, persons: Int64, candidates: UInt64) -> None:
        """Count some people and their candidates."""
        if not len(persons):
            return
        left = mask_sizes(candidates)
        exposed = np.flatnonzero(left == 1)
        self.people += len(persons)
        self.total += int(left.sum())
        self.fewest = int(left.min()) if self.fewest is None else min(self.fewest, int(left.min()))
        self.contradicted += int(np.count_nonzero(left == 0))
        self.persons.append(persons[exposed])
        self.inferred.append(only_values(candidates[exposed]))

    def findings(self, attack: str) -> Findings:
        """The people for whom exactly one value is left."""
        persons = np.concatenate([np.empty(0, np.int64), *self.persons])
        return Findings(
            attack=attack,
            of=self.people,
            persons=persons,
            inferred=np.concatenate([np.empty(0, np.int32), *self.inferred]),
            confidence=np.ones(len(persons)),
            note=_note(self.contradicted),
            extra={
                "mean candidates": self.total / self.people if self.people else 0.0,
                "fewest candidates": float(self.fewest or 0),
                # Someone's value has changed, or the knowledge is wrong: the releases contradict each other.
                "without candidates": float(self.contradicted),
            },
        )


def _note(contradicted: int) -> str:
    note = "certain if no one's value changes (Lemma 1); others may still be exposed by counting"
    if contradicted:
        people = counted(contradicted, "person has", "people have")
        note += f"; {people} no value in all releases: values change, or the knowledge is wrong"
    return note


@dataclass(frozen=True, eq=False)
class CandidateSets:
    """The releases of a history, ready to say which values they leave possible for any people."""

    history: History
    _masks: dict[int, PointMasks] = field(default_factory=dict)

    @cached_property
    def _values(self) -> int:
        name = self.history.schema.sensitive.name
        releases = tuple(one.release for one in self.history.releases if one.release.shows(name))
        return max(len(self.history.schema.sensitive.values), highest_value(releases) + 1)

    def left(self, knowledge: Knowledge) -> tuple[Int64, UInt64]:
        """All people who are known, and the intersection of their candidate sensitive sets, as bit masks.

        Paper: [XT07] Definition 15; by Lemma 2 the true value is among them.
        """
        persons = np.unique(np.concatenate([np.empty(0, np.int64), *(p.persons for p in knowledge.presences)]))
        history, knowledge = sensitive_releases(self.history, knowledge)
        candidates = full_masks(len(persons), self._values)
        for number, (published, presence) in enumerate(zip(history.releases, knowledge.presences, strict=True)):
            if number not in self._masks:
                self._masks[number] = PointMasks(published.release, self._values)
            candidates[persons.searchsorted(presence.persons)] &= self._masks[number].at(presence.qi)
        return persons, candidates


def candidates_left(history: History, knowledge: Knowledge) -> tuple[Int64, UInt64]:
    """All people ever present, and the intersection of their candidate sensitive sets, as bit masks.

    Paper: [XT07] Definition 15.
    """
    return CandidateSets(history).left(knowledge)
