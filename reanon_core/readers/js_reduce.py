"""What a reader of the source can compute from releases of JS-reduce."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.plan import WITHHELD
from reanon_core.model.reading import Reading
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers.arrangements import arrangements
from reanon_core.techniques.js_reduce.state import JsReduceState
from reanon_core.techniques.js_reduce.technique import JsReduce

ARRANGEMENTS = 120
"""Up to this many arrangements of a group are all compared; beyond it, only exchanges of two people's values."""
ROWS = 2_000_000
"""The most rows that are grouped again, about 3 s; what is left is not decided."""
LEAST_ROWS = 500
"""How many rows grouping again costs at least."""


class TooLarge(Exception):
    """There are more rows to group again than are allowed."""


def js_reduce_readings(technique: JsReduce, ledger: Ledger) -> Iterator[Reading]:
    """For each group of each release, the latest first: how its values can be arranged over its people.

    Values may change, so an arrangement is one of a single release: the tables before and after it stay as they are.
    Nothing is left to chance, so an arrangement is ruled out or as likely as the truth. It is ruled out if the release
    or a later one would have had other groups.

    Ensures: what is said is exact for an adversary who knows everyone's group and all values but those of the group in
    this release. Groups with one value are left out, and so are releases that other parameters made. A group beyond
    the budget has the truth as its only arrangement, and is not complete; if the releases alone are beyond it, nothing
    is said.
    """
    seen = tuple(Seen.of(entry) for entry in ledger.entries)
    replay = Replay(technique, seen)
    try:
        states = replay.true_states()
    except TooLarge:
        return
    for time in reversed(range(len(states))):
        for own in range(int(seen[time].group.max(initial=WITHHELD)) + 1):
            members = np.flatnonzero(seen[time].group == own)
            truth = seen[time].snapshot.sensitive[members]
            if (truth != truth[0]).any():
                yield replace(_reading(replay, time, states[time], members), unread=len(seen) - len(states))


def _reading(replay: "Replay", time: int, state: JsReduceState, members: Int64) -> Reading:
    """The reading of one group."""
    snapshot = replay.seen[time].snapshot
    values, complete = arrangements(snapshot.sensitive[members], ARRANGEMENTS)
    try:
        same = [True, *(replay.keeps_groups(time, state, members, arranged) for arranged in values[1:])]
    except TooLarge:
        values, complete, same = values[:1], False, [True]
    return Reading(
        persons=snapshot.persons[members],
        place=np.arange(len(members), dtype=np.int32),
        values=values,
        log_likelihood=np.where(same, 0.0, -np.inf),
        complete=complete,
    )


@dataclass(frozen=True, eq=False)
class Seen:
    """The table behind a release, and its published groups."""

    snapshot: Snapshot
    group: Int32  # [n] numbered in the order of the rows; WITHHELD without one

    @staticmethod
    def of(entry: Entry) -> "Seen":
        """The groups of this entry."""
        group = np.full(entry.snapshot.size, WITHHELD, dtype=np.int32)
        group[entry.snapshot.persons.searchsorted(entry.trace.persons)] = entry.release.group[entry.trace.rows]
        return Seen(entry.snapshot, _numbered(group))


@dataclass
class Replay:
    """The technique on the tables behind some releases, with the values of some people arranged otherwise."""

    technique: JsReduce
    seen: tuple[Seen, ...]
    rows: int = 0
    """How many rows were grouped again."""

    def true_states(self) -> list[JsReduceState]:
        """The state before each release, up to the first that this technique would have made otherwise.

        Raises: TooLarge.
        """
        state, states = self.technique.initial_state(), []
        for seen in self.seen:
            before = state
            self._count(seen.snapshot)
            try:
                plan = self.technique.decide(seen.snapshot, before)
            except Unpublishable:
                break
            if not np.array_equal(_numbered(plan.group), seen.group):
                break
            states.append(before)
            state = self.technique.advance(before, seen.snapshot, plan)
        return states

    def keeps_groups(self, time: int, state: JsReduceState, members: Int64, values: Int32) -> bool:
        """Whether this release and all later ones have the same groups if these rows have these values.

        What the adversary believes follows from what the groups show. So a later release can differ only if knowledge
        is counted in the tables.

        Raises: TooLarge.
        """
        for seen in self.seen[time:]:
            snapshot = seen.snapshot
            if seen is self.seen[time]:
                sensitive = snapshot.sensitive.copy()
                sensitive[members] = values
                snapshot = replace(snapshot, sensitive=sensitive)
            self._count(snapshot)
            try:
                plan = self.technique.decide(snapshot, state)
            except Unpublishable:
                return False
            if not np.array_equal(_numbered(plan.group), seen.group):
                return False
            if state.counts is None:
                return True
            state = self.technique.advance(state, snapshot, plan)
        return True

    def _count(self, snapshot: Snapshot) -> None:
        """Stop where there is too much to compute."""
        self.rows += max(LEAST_ROWS, snapshot.size)
        if self.rows > ROWS:
            raise TooLarge


def _numbered(group: Int32) -> Int32:
    """Groups numbered in the order in which they first appear, so that partitions can be compared."""
    shown = np.flatnonzero(group != WITHHELD)
    _, first, place = np.unique(group[shown], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    numbered = np.full(len(group), WITHHELD, dtype=np.int32)
    numbered[shown] = rank[place]
    return numbered
