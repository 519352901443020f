"""Private: history, snapshots and traces together, which is what checks and metrics see."""

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
    """The rows of each world, if the technique promises worlds."""

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
        """Which traced people have one of these rows of the snapshot; people who are not in the snapshot have none."""
        if np.array_equal(self.snapshot.persons, self.trace.persons):
            return rows
        place = self.snapshot.persons.searchsorted(self.trace.persons)
        found = place < self.snapshot.size
        found[found] = self.snapshot.persons[place[found]] == self.trace.persons[found]
        found[found] = rows[place[found]]
        return found

    def presence(self, *, groups_known: bool = True) -> Presence:
        """What the strongest adversary of [XT07] knows about this release: who is in it, and their values.

        Paper: [XT07] Definition 6. Withheld and invented people are not in it. [RPB12] Section 4.1: the adversary may
        know the respondents of each group.
        """
        published = self.snapshot.persons.searchsorted(self.trace.persons)
        real = ~self.snapshot.invented[published]
        published, rows = published[real], self.trace.rows[real]
        # Where rows have boxes of their own, the group is left out: it would reveal the value.
        group = self.release.group[rows] if groups_known and self.release.grouped else None
        return Presence(self.trace.persons[real], self.snapshot.qi[:, published], group)


@dataclass(frozen=True, eq=False)
class Ledger:
    """The releases in order, with the truth behind each: the judge's view."""

    entries: tuple[Entry, ...]
    erased: bool = False
    """Whether people were forgotten, so that what is left of them is not what the releases were made from."""

    def __post_init__(self) -> None:
        """Require that a code stands for the same value in all releases.

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

        Optionally also the values of compromised people, and everyone's group ([RB09] Section 2.1).
        """
        presences = tuple(entry.presence(groups_known=groups_known) for entry in self.entries)
        known = Compromised.none() if compromised is None else compromised
        return Knowledge(presences, known)

    def sampled(self, share: float, rng: np.random.Generator) -> Compromised:
        """A random share of everyone ever published, with their values.

        People whose value changed are left out, because they have no single value to know.
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
        sample = np.sort(rng.choice(steady, min(len(steady), round(share * len(everyone))), replace=False))
        return Compromised(everyone[sample], value[sample])
