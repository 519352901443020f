"""Private: history, snapshots and traces together, which is what checks and metrics see."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from reanon_core.model.arrays import Bool, Int32, Int64, forget_pages, joint_slices, slices
from reanon_core.model.codebook import Codebook
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Compromised, Knowledge, Presence
from reanon_core.model.release import UNPUBLISHED, Auxiliary, Release
from reanon_core.model.snapshot import INVENTED, REMEMBERED, Snapshot
from reanon_core.model.trace import Trace, Witness

PART = 1 << 18
"""How many people of the trace are looked up at a time."""
EVERYONE = slice(None)
INSIDERS = 200
"""How many people are tried as insiders, each alone."""


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
        selected = self.snapshot.selected
        if selected is None:
            return self.snapshot.size - self._count_shown(lambda rows: np.ones(len(rows), np.bool_))
        return int(np.count_nonzero(selected)) - self._count_shown(lambda rows: selected[rows])

    @property
    def dirty(self) -> int:
        """How many published people were not selected."""
        selected, origin = self.snapshot.selected, self.snapshot.origin
        if selected is None:
            return 0
        if origin is None:
            return self._count_shown(lambda rows: ~selected[rows])
        return self._count_shown(lambda rows: ~selected[rows] & (origin[rows] != INVENTED))

    @property
    def remembered(self) -> int:
        """How many of the dirty are people who have left the table."""
        origin = self.snapshot.origin
        return 0 if origin is None else self._count_shown(lambda rows: origin[rows] == REMEMBERED)

    def _count_shown(self, rule: Callable[[Int64], Bool]) -> int:
        """How many traced people have a row of the snapshot that the rule applies to.

        People who are not in the snapshot have none. The trace is read a part at a time, because it may be very long.
        """
        persons, count = self.snapshot.persons, 0
        for listed in slices(len(self.trace.persons), PART):
            part = self.trace.persons[listed]
            rows = np.arange(listed.start, listed.stop)
            if not np.array_equal(persons[listed], part):
                place = persons.searchsorted(part)
                found = place < self.snapshot.size
                found[found] = persons[place[found]] == part[found]
                rows = place[found]
            count += int(np.count_nonzero(rule(rows)))
        return count

    def presence(self, *, groups_known: bool = True, people_only: bool = False, part: slice = EVERYONE) -> Presence:
        """What the strongest adversary of [XT07] knows about this release: who is in it, and their values.

        `part` are the people of the trace that it is about. With `people_only` it is who they are and no more, which
        copies nothing.

        Paper: [XT07] Definition 6. Withheld and invented people are not in it. [RPB12] Section 4.1: the adversary may
        know the respondents of each group.
        """
        persons, rows = self.trace.persons[part], self.trace.rows[part]
        if people_only and self.snapshot.origin is None:
            return Presence(persons, np.empty((0, len(persons)), np.int32))
        published = self.snapshot.persons.searchsorted(persons)
        own, shown = self.release.person_rows, self.trace.person_rows
        box = None if own is None or shown is None else own.box[shown[part]]
        if self.snapshot.origin is not None:
            real = self.snapshot.origin[published] != INVENTED
            persons, rows, published = persons[real], rows[real], published[real]
            box = None if box is None else box[real]
        if people_only:
            return Presence(persons, np.empty((0, len(persons)), np.int32))
        # Where rows have boxes of their own, the group is left out: it would reveal the value.
        group = self.release.group[rows] if groups_known and self.release.grouped else None
        return Presence(persons, self.snapshot.qi[:, published], group, box)

    def forget_pages(self) -> None:
        """Let the operating system take the memory back, if the arrays are mapped from columns on disk."""
        snapshot, release, boxes = self.snapshot, self.release, self.release.boxes
        forget_pages(snapshot.persons, snapshot.qi, snapshot.sensitive, snapshot.other)
        forget_pages(*(mask for mask in (snapshot.selected, snapshot.origin) if mask is not None))
        forget_pages(release.group, release.sensitive, release.other, boxes.low, boxes.high, boxes.missing)
        forget_pages(self.trace.persons, self.trace.rows)


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

    def knowledge(
        self, *, compromised: Compromised | None = None, groups_known: bool = True, people_only: bool = False
    ) -> Knowledge:
        """What the strongest adversary of [XT07] knows: identities, quasi-identifiers, lifespans.

        Optionally also the values of compromised people, and everyone's group ([RB09] Section 2.1); or identities and
        lifespans alone.
        """
        presences = tuple(entry.presence(groups_known=groups_known, people_only=people_only) for entry in self.entries)
        known = Compromised.none() if compromised is None else compromised
        return Knowledge(presences, known, insiders=None if people_only else partial(self.spread, INSIDERS))

    def knowledge_in_parts(self, people: int, *, groups_known: bool = True) -> Iterator[Knowledge]:
        """The same without compromised people, about at most so many people at a time, but at least one of a release.

        Everything about a person is in one part, and the people of a part come before those of the next.
        """
        traced = [entry.trace.persons for entry in self.entries]
        for parts in joint_slices(traced, max(1, people // max(1, len(traced)))):
            yield Knowledge(
                tuple(
                    entry.presence(groups_known=groups_known, part=part)
                    for entry, part in zip(self.entries, parts, strict=True)
                )
            )
            for entry in self.entries:
                entry.forget_pages()

    def sampled(self, share: float, rng: np.random.Generator) -> Compromised:
        """A random share of everyone ever published, with their values.

        People whose value changed are left out, because they have no single value to know.
        """
        if share == 0:
            return Compromised.none()
        everyone, value, steady = self._steady_people()
        sample = np.sort(rng.choice(steady, min(len(steady), round(share * len(everyone))), replace=False))
        return Compromised(everyone[sample], value[sample])

    def spread(self, count: int) -> Compromised:
        """At most so many people with their values, evenly over the order of the pseudonyms, which are random.

        People whose value changed are left out.
        """
        everyone, value, steady = self._steady_people()
        sample = steady[np.unique(np.linspace(0, max(0, len(steady) - 1), min(count, len(steady))).astype(np.int64))]
        return Compromised(everyone[sample], value[sample])

    def _steady_people(self) -> tuple[Int64, Int32, Int64]:
        """Everyone ever published with a value, one value of each, and the places of those who have no other."""
        persons = np.concatenate([np.empty(0, np.int64), *(entry.trace.persons for entry in self.entries)])
        values = np.concatenate(
            [np.empty(0, np.int32), *(entry.release.sensitive[entry.trace.rows] for entry in self.entries)]
        )
        shown = values != UNPUBLISHED  # some releases may show no sensitive value
        persons, values = persons[shown], values[shown]
        everyone, first, place = np.unique(persons, return_index=True, return_inverse=True)
        value = values[first]
        changed = np.zeros(len(everyone), np.bool_)
        changed[place[values != value[place]]] = True
        return everyone, value, np.flatnonzero(~changed)
