"""Private: history, snapshots and traces together, which is what the judge has."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reanon_core.model.arrays import Bool
from reanon_core.model.codebook import Codebook
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Compromised, Knowledge, Presence
from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace, Witness


@dataclass(frozen=True, eq=False)
class Entry:
    """One release with the truth behind it."""

    snapshot: Snapshot
    release: Release
    auxiliary: Auxiliary
    trace: Trace
    witness: Witness | None = None
    """Where the technique promises worlds: their rows."""

    @property
    def withheld(self) -> int:
        """How many selected people are not published."""
        selected = self.snapshot.selection
        return int(np.count_nonzero(selected)) - int(np.count_nonzero(self._shown(selected)))

    @property
    def dirty(self) -> int:
        """How many published people were not selected."""
        return int(np.count_nonzero(self._shown(~self.snapshot.selection & ~self.snapshot.invented)))

    @property
    def remembered(self) -> int:
        """How many of the dirty are people who have left the table."""
        return int(np.count_nonzero(self._shown(self.snapshot.remembered)))

    def _shown(self, rows: Bool) -> Bool:
        """Which of the traced people these rows of the snapshot are; others than the snapshot's are none."""
        place = self.snapshot.persons.searchsorted(self.trace.persons)
        found = place < self.snapshot.size
        found[found] = self.snapshot.persons[place[found]] == self.trace.persons[found]
        found[found] = rows[place[found]]
        return found

    def presence(self, *, groups_known: bool = True) -> Presence:
        """What the strongest adversary of [XT07] knows about this release: who is in it, and their values.

        Paper: [XT07] Definition 6. A withheld person is not in the release, and an invented one is nobody. Of [RPB12],
        Section 4.1, comes that the adversary may know the respondents of each group.
        """
        published = self.snapshot.persons.searchsorted(self.trace.persons)
        real = ~self.snapshot.invented[published]
        published, rows = published[real], self.trace.rows[real]
        # A row with a box of its own is nobody's known place: its number would tell the value.
        group = self.release.group[rows] if groups_known and self.release.grouped else None
        return Presence(self.trace.persons[real], self.snapshot.qi[:, published], group)


@dataclass(frozen=True, eq=False)
class Ledger:
    """The releases in order, with the truth behind each: the judge's view."""

    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        """Hold that a code stands for the same value in all releases.

        Raises: InvalidSnapshot.
        """
        for earlier, later in pairwise(entry.snapshot.schema for entry in self.entries):
            if later is not earlier:
                Codebook.of(earlier).require_extended_by(later)

    def history(self) -> History:
        """The public half."""
        if not self.entries:
            raise ValueError("a ledger without entries has no schema")
        return History(
            self.entries[-1].snapshot.schema,
            tuple(Published(entry.release, entry.auxiliary) for entry in self.entries),
        )

    def knowledge(self, *, compromised: Compromised | None = None, groups_known: bool = True) -> Knowledge:
        """What the strongest adversary of [XT07] knows: identities, quasi-identifiers, lifespans.

        On top, where declared: whose values are known, and who stands in which group ([RB09], Section 2.1).
        """
        presences = tuple(entry.presence(groups_known=groups_known) for entry in self.entries)
        known = Compromised.nobody() if compromised is None else compromised
        return Knowledge(presences, known)

    def sampled(self, share: float, rng: np.random.Generator) -> Compromised:
        """People drawn at random from all that were ever published, with their values.

        Whose value changed is left out: there is no one value to know.
        """
        persons = np.concatenate([np.empty(0, np.int64), *(entry.trace.persons for entry in self.entries)])
        values = np.concatenate(
            [np.empty(0, np.int32), *(entry.release.sensitive[entry.trace.rows] for entry in self.entries)]
        )
        everyone, first, place = np.unique(persons, return_index=True, return_inverse=True)
        value = values[first]
        changed = np.zeros(len(everyone), np.bool_)
        changed[place[values != value[place]]] = True
        steady = np.flatnonzero(~changed)
        drawn = np.sort(rng.choice(steady, min(len(steady), round(share * len(everyone))), replace=False))
        return Compromised(everyone[drawn], value[drawn])
