"""A search through all releases: what is known is subtracted from everything else, until nothing new comes of it."""

from dataclasses import dataclass, field

import numpy as np

from reanon_core.inference.subtraction.differences import (
    CONFLICT,
    NOTHING,
    Family,
    conclude,
    contained,
    family_of,
    settle,
    subtract,
)
from reanon_core.inference.view.traces import Traces
from reanon_core.inference.view.value_sets import highest_value
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.history import History

ROUNDS = 4
"""How often all releases are subtracted from each other at most; what is found is certain at any time."""


def searched(history: History, traces: Traces, *, together: bool) -> "Search":
    """What the releases tell about people with these traces; one release at a time unless they are taken together."""
    releases = tuple(published.release for published in history.releases)
    values = max(len(history.schema.sensitive.values), highest_value(releases) + 1)
    families = [family_of(release, group) for release, group in zip(releases, traces.group, strict=True)]
    search = Search(families, values, np.full(len(traces.persons), NOTHING, dtype=np.int32))
    search.run(together=together)
    return search


@dataclass(eq=False)
class Search:
    """What is concluded so far."""

    families: list[Family]
    values: int
    known: Int32  # [n] the value of each person, NOTHING or CONFLICT
    fewest: int = 0
    contradictions: int = 0
    reduced: list[Family] = field(default_factory=list)
    """Each family less all that could be subtracted, one release after the other."""

    @property
    def exposed(self) -> int:
        """How many people's value is known."""
        return int(np.count_nonzero(self.known >= 0))

    def run(self, *, together: bool) -> None:
        """Conclude until nothing new comes of it; one release at a time unless they are taken together."""
        if not together:
            for family in self.families:
                self._conclude(family, np.arange(len(family.start)), self.known)
            return
        for turn in range(ROUNDS):
            self._settle()
            before = self.exposed
            self.reduced = [self._rest(index) for index in range(len(self.families))]
            if turn and before == self.exposed:
                break
        self._settle()
        self.contradictions += int(np.count_nonzero(self.known == CONFLICT))

    def _settle(self) -> None:
        """Take everybody out who is known, and conclude from what is left, again and again."""
        before = -1
        while before != (now := self.exposed):
            before = now
            for families in (self.families, self.reduced):
                for index, family in enumerate(families):
                    self.contradictions += settle(family, self.known)
                    families[index] = family.present()
            found = self.known.copy()
            for family in (*self.families, *self.reduced):
                self._conclude(family, np.arange(len(family.start)), found)
            self.known = found

    def _rest(self, index: int) -> Family:
        """Subtract every other release from this one: each alone, and all of them in turn."""
        family, found = self.families[index], self.known
        rest = family.copy()
        for source in (self.families, self.reduced):
            for other, inner in enumerate(source):
                if other != index:
                    if source is self.families:  # rests alone would cost twice the time and add little
                        self._subtract(family, inner, found, keep=False)
                    self._subtract(rest, inner, found, keep=True)
        return rest

    def _subtract(self, outer: Family, inner: Family, found: Int32, *, keep: bool) -> None:
        inside = contained(inner, outer)
        if inside.max(initial=-1) >= 0:
            rest = outer if keep else outer.copy()
            self.contradictions += subtract(rest, inner, inside, self.values)
            self._conclude(rest, np.unique(inside[inside >= 0]), found)

    def _conclude(self, family: Family, groups: Int64, found: Int32) -> None:
        fewest = conclude(family, groups, found, self.values)
        if fewest:
            self.fewest = min(self.fewest or fewest, fewest)
