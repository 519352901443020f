"""Background knowledge: combine the releases through what is known about successive sensitive values."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.bayes.beliefs import Beliefs, Mode, Observation
from reanon_core.inference.bayes.posteriors import (
    Memberships,
    Posterior,
    omega_over_groups,
    possible_memberships,
    posteriors,
)
from reanon_core.inference.bayes.transition_counts import GroupFrequencies, automaton_of, estimate_knowledge
from reanon_core.inference.view.value_sets import highest_value, sensitive_releases
from reanon_core.model.arrays import Float64, Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.release import Release

SURE = 0.9
"""A person is exposed if one value has at least this posterior."""
MOST_CELLS = 1 << 27
"""The largest table of people and values: 1 GiB, and three of them exist at a time."""
MOST_PAIRS = 1 << 31
"""The most pairs of people and boxes that are compared."""


@dataclass(frozen=True, eq=False)
class ReleasePosterior:
    """The adversary's posterior (PKsv) for the people of one release."""

    persons: Int64  # [n] ascending
    posterior: Float64  # [n, values] sums up to 1


@dataclass(frozen=True, kw_only=True)
class BackgroundAttack:
    """The knowledge revision cycle: the posterior of each release is revised into the expectations for the next.

    Where no knowledge is declared, priors and transitions are estimated from the releases.

    Paper: [RPB12] Section 4.5.
    """

    name: ClassVar[str] = "background"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = True
    knows: ClassVar[str] = (
        "who is in each release, everyone's quasi-identifiers, and how likely values are and follow each other"
    )
    blind_to: ClassVar[str] = (
        "what its background knowledge does not suggest; where that is wrong, its conclusions may be too"
    )

    posterior: Posterior = "omega"
    """How a group's values are divided among its respondents."""
    mode: Mode = "product"
    """How several releases are combined."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people for whom one value is nearly certain after some release."""
        persons = np.unique(np.concatenate([np.empty(0, np.int64), *(p.persons for p in knowledge.presences)]))
        confidence, inferred = np.zeros(len(persons)), np.zeros(len(persons), dtype=np.int32)
        last = np.empty(0)
        for after in self.beliefs(history, knowledge):
            at, best = persons.searchsorted(after.persons), after.posterior.argmax(axis=1)
            last = after.posterior[np.arange(len(best)), best]
            surer = last > confidence[at]
            confidence[at[surer]], inferred[at[surer]] = last[surer], best[surer]
        exposed = np.flatnonzero(confidence >= SURE)
        exposed = exposed[np.argsort(-confidence[exposed], kind="stable")]  # the most exposed first
        return Findings(
            attack=self.name,
            of=len(persons),
            persons=persons[exposed],
            inferred=inferred[exposed],
            confidence=confidence[exposed],
            note=self._note(knowledge),
            extra={
                "mean highest confidence": float(confidence.mean()) if len(confidence) else 0.0,
                "mean confidence in the last release": float(last.mean()) if len(last) else 0.0,
                "more likely than not": float(np.count_nonzero(confidence > 0.5)),
            },
        )

    def beliefs(self, history: History, knowledge: Knowledge) -> Iterator[ReleasePosterior]:
        """The adversary's posterior after each release, in order.

        Paper: [RPB12] Section 4.5 and Algorithm 3.

        Raises: InvalidParameter if a release is too large.
        """
        history, knowledge = sensitive_releases(history, knowledge)
        releases = tuple(published.release for published in history.releases)
        values = max(1, len(history.schema.sensitive.values), highest_value(releases) + 1)
        for release, presence in zip(releases, knowledge.presences, strict=True):
            _require_small(release, presence, values)
        background = knowledge.background
        if background is None:
            background = estimate_knowledge(
                [_frequencies(*pair, values) for pair in zip(releases, knowledge.presences, strict=True)], values
            )
        automaton, beliefs = automaton_of(background, None, values), Beliefs.empty()
        for release, presence in zip(releases, knowledge.presences, strict=True):
            row_class = background.classes.of(presence.qi)
            expected = beliefs.expected(presence.persons, row_class, automaton)
            shown = _values(release, values)
            if presence.group is not None:
                posterior = posteriors(self.posterior, expected, presence.group, shown)
            else:
                posterior = omega_over_groups(expected, _members(release, presence, shown), shown)
            yield ReleasePosterior(presence.persons, posterior)
            observation = Observation(presence.persons, row_class, expected, posterior)
            beliefs = beliefs.revise(observation, automaton, self.mode)

    def _note(self, knowledge: Knowledge) -> str:
        source = (
            "transitions estimated from the releases themselves"
            if knowledge.background is None
            else _SOURCES.get(knowledge.background.source, "declared knowledge")
        )
        groups = "" if knowledge.groups_known else "; groups inferred from the boxes"
        return f"a posterior of {SURE} or more after some release; {source}{groups}"


_SOURCES = {
    "domain": "the declared transition table",
    "mined": "transitions mined from the declared corpus",
    "incremental": "transitions counted in the original tables, which an outsider does not have",
}


def _require_small(release: Release, presence: Presence, values: int) -> None:
    """Reject what would need too much memory or time."""
    people = len(presence.persons)
    if people * values > MOST_CELLS:
        rule = f"have at most {MOST_CELLS:,} people times values for the attack background"
        raise InvalidParameter(Problem("a release", rule, f"{people * values:,}", "attack a sample of the people"))
    if presence.group is None and people * release.boxes.count > MOST_PAIRS:
        rule = f"have at most {MOST_PAIRS:,} people times groups for the attack background, where groups are inferred"
        count = f"{people * release.boxes.count:,}"
        raise InvalidParameter(Problem("a release", rule, count, "attack a sample of the people"))


def _values(release: Release, values: int) -> Int64:
    """How often each value occurs in each group, [groups, values]."""
    table = np.zeros((release.boxes.count, values), dtype=np.int64)
    np.add.at(table, (release.group, release.sensitive), 1)
    return table


def _members(release: Release, presence: Presence, shown: Int64) -> Memberships:
    if presence.group is None:
        return possible_memberships(presence.qi, release.boxes, shown.sum(axis=1))
    everyone = np.arange(len(presence.persons))
    return Memberships(everyone, presence.group, np.ones(len(everyone)))


def _frequencies(release: Release, presence: Presence, values: int) -> GroupFrequencies:
    """The frequencies of each value in the groups that may contain each person."""
    shown = _values(release, values)
    frequency = shown / np.maximum(shown.sum(axis=1, keepdims=True), 1)
    members = _members(release, presence, shown)
    of_each = np.zeros((len(presence.persons), values))
    np.add.at(of_each, members.row, members.share[:, None] * frequency[members.group.astype(np.int64)])
    return GroupFrequencies(presence.persons, of_each)
