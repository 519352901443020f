"""A projection: the next snapshots if the churn on the disk goes on, drawn from the people who are there.

It is no forecast. Every share and every change is one that was observed between two snapshots that follow each other;
who leaves, who returns and whose row a newcomer repeats is drawn at random. Private, like a snapshot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.schema import Kind, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_dagster.sources.snapshot_reader import Read

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

LATEST = 3
"""From how many of the latest changes the churn is drawn: at first no one is away who could return."""
PROJECTED = "projected"
"""What stands in place of a digest of the input."""


@dataclass(frozen=True, eq=False)
class Churn:
    """What happened between two snapshots that follow each other."""

    left: float
    """The share of the people of the first who are not in the second."""
    returned: float
    """The share of the people who were away, and are back in the second."""
    joined: float
    """The number of people of the second who were never there before, as a share of the first."""
    newcomers: Int64  # rows of the second
    before: Int64  # rows of the first whose people are in the second too
    after: Int64  # their rows in the second
    first: Snapshot
    second: Snapshot


def observed_churn(snapshots: Sequence[Snapshot]) -> list[Churn]:
    """The churn between each snapshot and the next, in order."""
    seen = np.empty(0, np.int64)
    found = []
    for first, second in pairwise(snapshots):
        seen = np.union1d(seen, first.persons)
        away = np.setdiff1d(seen, first.persons, assume_unique=True)
        _, before, after = np.intersect1d(first.persons, second.persons, assume_unique=True, return_indices=True)
        newcomers = np.flatnonzero(~np.isin(second.persons, seen))
        back = int(np.isin(second.persons, away).sum())
        found.append(
            Churn(
                left=1 - len(before) / max(first.size, 1),
                returned=back / len(away) if len(away) else 0.0,
                joined=len(newcomers) / max(first.size, 1),
                newcomers=newcomers,
                before=before,
                after=after,
                first=first,
                second=second,
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class LastRows:
    """The latest row of everyone who was ever in a snapshot."""

    persons: Int64  # [n] ascending
    qi: Int32  # [d, n]
    sensitive: Int32  # [n]
    other: Int32  # [o, n]

    @staticmethod
    def of(snapshots: Sequence[Snapshot]) -> "LastRows":
        """The latest rows in these snapshots."""
        first, *more = snapshots
        known = LastRows(first.persons, first.qi, first.sensitive, first.other)
        for snapshot in more:
            known = known.then(snapshot)
        return known

    def then(self, snapshot: Snapshot) -> "LastRows":
        """The latest rows with one more snapshot."""
        persons, row = np.unique(np.concatenate([snapshot.persons, self.persons]), return_index=True)
        return LastRows(
            persons,
            np.concatenate([snapshot.qi, self.qi], axis=1)[:, row],
            np.concatenate([snapshot.sensitive, self.sensitive])[row],
            np.concatenate([snapshot.other, self.other], axis=1)[:, row],
        )


class Projection:
    """Snapshots beyond the last one on the disk, one after the other."""

    def __init__(self, snapshots: Sequence[Snapshot], rng: np.random.Generator) -> None:
        self._rng = rng
        self._churn = [one for one in observed_churn(snapshots) if one.first.size][-LATEST:]
        self._latest = snapshots[-1]
        self._known = LastRows.of(snapshots)

    def next_snapshot(self) -> Snapshot:
        """The next snapshot: the churn of two of the latest snapshots that follow each other, with other people."""
        churn = self._churn[int(self._rng.integers(len(self._churn)))]
        latest, known, rng = self._latest, self._known, self._rng
        stays = np.flatnonzero(rng.random(latest.size) >= churn.left)
        away = np.flatnonzero(~np.isin(known.persons, latest.persons))
        back = away[rng.random(len(away)) < churn.returned]
        joined = round(churn.joined * latest.size) if len(churn.newcomers) else 0
        rows = rng.choice(churn.newcomers, joined) if joined else np.empty(0, np.int64)
        persons = np.concatenate([latest.persons[stays], known.persons[back], self._new_persons(joined)])
        qi, sensitive = self._moved_on(
            churn,
            latest.schema,
            np.concatenate([latest.qi[:, stays], known.qi[:, back]], axis=1),
            np.concatenate([latest.sensitive[stays], known.sensitive[back]]),
        )
        other = np.concatenate([latest.other[:, stays], known.other[:, back], churn.second.other[:, rows]], axis=1)
        order = np.argsort(persons)
        self._latest = Snapshot(
            latest.schema,
            persons[order],
            np.concatenate([qi, churn.second.qi[:, rows]], axis=1)[:, order],
            np.concatenate([sensitive, churn.second.sensitive[rows]])[order],
            other[:, order],
            columns=churn.second.columns,
        )
        self._known = known.then(self._latest)
        return self._latest

    def _moved_on(self, churn: Churn, schema: Schema, qi: Int32, sensitive: Int32) -> tuple[Int32, Int32]:
        """What the values of people become: each changes as those of a person with the same value were seen to."""
        donor = self._donors(churn, sensitive)
        if not len(churn.before):
            return qi, sensitive
        old, new = churn.first, churn.second
        was, became = old.sensitive[churn.before][donor], new.sensitive[churn.after][donor]
        qi = qi.copy()
        for at, column in enumerate(schema.quasi_identifiers):
            source, target = old.qi[at, churn.before][donor], new.qi[at, churn.after][donor]
            moved = (source != target) & (source != MISSING) & (target != MISSING) & (qi[at] != MISSING)
            changed = target if column.kind is Kind.CATEGORICAL else qi[at] + (target - source)
            low, high = column.bounds or (np.iinfo(np.int32).min, np.iinfo(np.int32).max)
            qi[at] = np.where(moved, np.clip(changed, low, high), qi[at])
        return qi, np.where(was != became, became, sensitive).astype(np.int32)

    def _donors(self, churn: Churn, sensitive: Int32) -> Int64:
        """For each person one who stayed, with the same value if there is any."""
        if not len(churn.before):
            return np.empty(0, np.int64)
        donor = self._rng.integers(len(churn.before), size=len(sensitive))
        values = churn.first.sensitive[churn.before]
        for value in np.unique(sensitive):
            same = np.flatnonzero(values == value)
            if len(same):
                here = np.flatnonzero(sensitive == value)
                donor[here] = self._rng.choice(same, len(here))
        return donor

    def _new_persons(self, count: int) -> Int64:
        """Pseudonyms that no one has yet."""
        found = np.empty(0, np.int64)
        while len(found) < count:
            drawn = np.setdiff1d(self._rng.integers(np.iinfo(np.int64).max, size=count), self._known.persons)
            found = np.union1d(found, drawn)
        return self._rng.permutation(found)[:count]


def as_read(snapshot: Snapshot) -> Read:
    """The snapshot as if it had been read."""
    return Read(snapshot, PROJECTED, snapshot.size, snapshot.size, snapshot.persons, None)


def no_projection(series: "Series", snapshots: Sequence[Snapshot]) -> str | None:
    """Why there is no projection, as a sentence; None if there is one."""
    if len(snapshots) < 2:
        return "there is no projection, because churn shows only between two snapshots"
    if series.selections:
        return "there is no projection, because releases.select picks other people each time"
    if not any(one.first.size for one in observed_churn(snapshots)):
        return "there is no projection, because no snapshot before the last one has people"
    return None


def projected_names(series: "Series", last: str, ahead: int) -> list[str]:
    """The names of the next releases; after the last name of a list, names that say how far ahead they are."""
    names, following = [], series.calendar.next_after(last)
    for step in range(1, ahead + 1):
        names.append(following if following is not None else f"{last}+{step}")
        following = None if following is None else series.calendar.next_after(following)
    return names
