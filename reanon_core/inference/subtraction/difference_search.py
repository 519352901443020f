"""A search over all releases: known sets are subtracted from all others until no new value is inferred."""

from dataclasses import dataclass, field

import numpy as np

from reanon_core.inference.subtraction.differences import CONFLICT, NO_VALUE, fewer, sets_of
from reanon_core.inference.subtraction.release_sets import (
    ReleaseSets,
    infer_everywhere,
    remove_known_everywhere,
    subtract_releases,
    subtract_remainders,
)
from reanon_core.inference.view.traces import Traces
from reanon_core.inference.view.value_sets import highest_value
from reanon_core.model.arrays import Int32
from reanon_core.model.history import History

ROUNDS = 4
"""How often all releases are subtracted from each other at most; whatever is inferred by then is certain."""


def search_differences(history: History, traces: Traces, *, across_releases: bool) -> "DifferenceSearch":
    """What the releases reveal about the people with these traces.

    Without `across_releases` each release is taken by itself, as if values could change between releases.
    """
    releases = tuple(published.release for published in history.releases)
    distinct = max(len(history.schema.sensitive.values), highest_value(releases) + 1)
    people = len(traces.persons)
    sets = [sets_of(release, group) for release, group in zip(releases, traces.group, strict=True)]
    search = DifferenceSearch(ReleaseSets.of(sets, people), distinct, np.full(people, NO_VALUE, dtype=np.int32))
    search.run(across_releases=across_releases)
    return search


@dataclass(eq=False)
class DifferenceSearch:
    """What is inferred so far."""

    releases: ReleaseSets
    distinct: int
    """The number of sensitive values."""
    known: Int32  # [n] the value of each person, NO_VALUE or CONFLICT
    fewest: int = 0
    """The fewest values that remain for a set of people; 0 if no set has any people."""
    contradictions: int = 0
    remainders: ReleaseSets = field(init=False)
    """Each release less all that could be subtracted from it, one release after the other."""

    def __post_init__(self) -> None:
        """Begin without remainders."""
        self.remainders = ReleaseSets.of([], len(self.known))

    @property
    def exposed(self) -> int:
        """How many people's value is known."""
        return int(np.count_nonzero(self.known >= 0))

    def run(self, *, across_releases: bool) -> None:
        """Subtract and infer until nothing new is inferred."""
        if not across_releases:
            self._note(infer_everywhere(self.releases, self.known, self.distinct))
            return
        contradicted = 0
        for turn in range(ROUNDS):
            present = len(self.releases.people)
            self._remove_known()
            before = self.exposed
            rest = self.remainders.copy()
            if turn != 1 or len(self.releases.people) < present:  # otherwise the first turn did the same
                rest, contradicted = self._less_releases()
            self.contradictions += contradicted + self._subtract_remainders(rest)
            self.remainders = rest
            if turn and before == self.exposed:
                break
        self._remove_known()
        self.contradictions += int(np.count_nonzero(self.known == CONFLICT))

    def _remove_known(self) -> None:
        """Remove everyone whose value is known and infer from what remains, again and again."""
        before = -1
        while before != (now := self.exposed):
            before = now
            inferred = self.known.copy()
            self.releases, self.remainders = (self._less_known(sets) for sets in (self.releases, self.remainders))
            for sets in (self.releases, self.remainders):
                self._note(infer_everywhere(sets, inferred, self.distinct))
            self.known = inferred

    def _less_known(self, sets: ReleaseSets) -> ReleaseSets:
        """The sets without the people whose value is known."""
        self.contradictions += remove_known_everywhere(sets, self.known)
        return sets.present()

    def _less_releases(self) -> tuple[ReleaseSets, int]:
        """Each release less all others, and the number of contradictions."""
        rest, contradictions = self.releases.copy(), 0
        for index in range(len(rest.set_of)):
            found, fewest = subtract_releases(self.releases, index, rest, self.known, self.distinct)
            contradictions += found
            self._note(fewest)
        return rest, contradictions

    def _subtract_remainders(self, rest: ReleaseSets) -> int:
        """Subtract all remainders from what is left of each other release; the number of contradictions."""
        contradictions = 0
        for index in range(len(rest.set_of)):
            found, fewest = subtract_remainders(self.remainders, index, rest, self.known, self.distinct)
            contradictions += found
            self._note(fewest)
        return contradictions

    def _note(self, fewest: int) -> None:
        """Keep the fewest values that remain for a set of people; 0 if there is no such set."""
        self.fewest = fewer(self.fewest, fewest)
