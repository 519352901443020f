"""A search over all releases: known sets are subtracted from all others until no new value is inferred."""

from dataclasses import dataclass, field

import numpy as np

from reanon_core.inference.subtraction.differences import (
    CONFLICT,
    NO_VALUE,
    PeopleSets,
    infer_values,
    remove_known,
    sets_of,
    subtract_and_infer,
)
from reanon_core.inference.subtraction.listed_sets import ListedSets, listed_sets, with_contained_sets
from reanon_core.inference.view.traces import Traces
from reanon_core.inference.view.value_sets import highest_value
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.history import History

ROUNDS = 4
"""How often all releases are subtracted from each other at most; whatever is inferred by then is certain."""


def search_differences(history: History, traces: Traces, *, across_releases: bool) -> "DifferenceSearch":
    """What the releases reveal about the people with these traces.

    Without `across_releases` each release is taken by itself, as if values could change between releases.
    """
    releases = tuple(published.release for published in history.releases)
    distinct = max(len(history.schema.sensitive.values), highest_value(releases) + 1)
    sets = [sets_of(release, group) for release, group in zip(releases, traces.group, strict=True)]
    search = DifferenceSearch(sets, distinct, np.full(len(traces.persons), NO_VALUE, dtype=np.int32))
    search.run(across_releases=across_releases)
    return search


@dataclass(eq=False)
class DifferenceSearch:
    """What is inferred so far."""

    releases: list[PeopleSets]
    distinct: int
    """The number of sensitive values."""
    known: Int32  # [n] the value of each person, NO_VALUE or CONFLICT
    fewest: int = 0
    """The fewest values that remain for a set of people; 0 if no set has any people."""
    contradictions: int = 0
    remainders: list[PeopleSets] = field(default_factory=list)
    """Each release less all that could be subtracted from it, one release after the other."""

    @property
    def exposed(self) -> int:
        """How many people's value is known."""
        return int(np.count_nonzero(self.known >= 0))

    def run(self, *, across_releases: bool) -> None:
        """Subtract and infer until nothing new is inferred."""
        if not across_releases:
            for sets in self.releases:
                self._infer(sets, np.arange(len(sets.start)), self.known)
            return
        for turn in range(ROUNDS):
            self._remove_known()
            before = self.exposed
            inside = [listed_sets(self.releases), listed_sets(self.remainders)]
            self.remainders = [self._remainder(index, inside) for index in range(len(self.releases))]
            if turn and before == self.exposed:
                break
        self._remove_known()
        self.contradictions += int(np.count_nonzero(self.known == CONFLICT))

    def _remove_known(self) -> None:
        """Remove everyone whose value is known and infer from what remains, again and again."""
        before = -1
        while before != (now := self.exposed):
            before = now
            for listed in (self.releases, self.remainders):
                for index, sets in enumerate(listed):
                    self.contradictions += remove_known(sets, self.known)
                    listed[index] = sets.present()
            inferred = self.known.copy()
            for sets in (*self.releases, *self.remainders):
                self._infer(sets, np.arange(len(sets.start)), inferred)
            self.known = inferred

    def _remainder(self, index: int, inside: list[ListedSets]) -> PeopleSets:
        """Subtract every other release from this one: each alone, and all of them in turn.

        `inside` has the sets of all releases and of all remainders. Most releases have no set inside one of this
        release and are skipped: what is subtracted makes sets smaller, so that none comes to be inside one.
        """
        sets, inferred = self.releases[index], self.known
        remainder = sets.copy()
        for source, listed in zip((self.releases, self.remainders), inside, strict=True):
            for other in np.flatnonzero(with_contained_sets(listed, sets.set_of, len(source))).tolist():
                if other != index:
                    alone = source is self.releases  # remainders alone would cost twice the time and add little
                    found = subtract_and_infer(sets, remainder, source[other], inferred, self.distinct, alone)
                    self.contradictions += found[0]
                    self._note(found[1])
        return remainder

    def _infer(self, sets: PeopleSets, which: Int64, inferred: Int32) -> None:
        self._note(infer_values(sets, which, inferred, self.distinct))

    def _note(self, fewest: int) -> None:
        """Keep the fewest values that remain for a set of people; 0 if there is no such set."""
        if fewest:
            self.fewest = min(self.fewest or fewest, fewest)
