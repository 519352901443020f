"""The judge's own count of the transitions in the original tables."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import AnyArray, Bool, Float64, Int64
from reanon_core.model.background import Background
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Memory

BASE = 1 << 15
"""A window is a number in this base: each value plus one is a digit, and the latest value is the last digit."""


@dataclass(frozen=True, eq=False)
class WindowCounts:
    """How often each value followed each window of past values, and the latest window of each person.

    Paper: [RPB12] Algorithm 5.
    """

    memory: int
    window: Int64  # [w] ascending; 0 is the empty one
    followed: Int64  # [w, values]
    newcomers: Int64  # [classes, values] the first value of each person, counted by class
    people: Int64  # [p] ascending
    ended: Int64  # [p] the latest window of each person

    @staticmethod
    def empty(background: Background) -> "WindowCounts":
        """The counts before the first table."""
        none = np.empty(0, np.int64)
        return WindowCounts(
            background.memory,
            np.zeros(1, np.int64),
            np.zeros((1, 0), np.int64),
            np.zeros((background.classes.count, 0), np.int64),
            none,
            none,
        )

    @staticmethod
    def restored(arrays: Mapping[str, AnyArray]) -> "WindowCounts":
        """The counts that were packed."""
        numbers = {name: np.asarray(arrays[name], dtype=np.int64) for name in _FIELDS}
        return WindowCounts(int(numbers["memory"]), *(numbers[name] for name in _FIELDS[1:]))

    def packed(self) -> Memory:
        """The counts as named arrays."""
        return {"memory": self.memory, **{name: getattr(self, name) for name in _FIELDS[1:]}}

    @property
    def values(self) -> int:
        """The number of values so far."""
        return int(self.followed.shape[1])

    @staticmethod
    def after(window: Int64, value: Int64, memory: int) -> Int64:
        """The windows with one more value; a full window drops its oldest."""
        longer: Int64 = (window * BASE + value + 1) % BASE**memory
        return longer

    @staticmethod
    def without_oldest(window: Int64, memory: int) -> Int64:
        """The part of each full window that stays when one more value is added."""
        shorter: Int64 = window % BASE ** (memory - 1)
        return shorter

    def with_table(self, snapshot: Snapshot, background: Background) -> "WindowCounts":
        """Count one more original table where the knowledge needs it; the list of values grows in any case."""
        values = len(snapshot.schema.sensitive.values)
        followed = np.pad(self.followed, ((0, 0), (0, values - self.values)))
        newcomers = np.pad(self.newcomers, ((0, 0), (0, values - self.values)))
        if background.prior is not None and background.emission is not None:
            return WindowCounts(self.memory, self.window, followed, newcomers, self.people, self.ended)
        value = snapshot.sensitive.astype(np.int64)
        at = self.people.searchsorted(snapshot.persons)
        old = at < len(self.people)
        old[old] = self.people[at[old]] == snapshot.persons[old]
        before = np.zeros(len(value), dtype=np.int64)
        before[old] = self.ended[at[old]]
        np.add.at(newcomers, (background.classes.of(snapshot.qi)[~old], value[~old]), 1)
        # Every suffix of each person's history: the window cut to each length, each cut once.
        cuts = [before % BASE**length for length in range(self.memory + 1)]
        window = np.unique(np.concatenate([self.window, *(np.unique(cut) for cut in cuts)]))
        table = np.zeros((len(window), values), dtype=np.int64)
        table[window.searchsorted(self.window)] = followed
        for length, cut in enumerate(cuts):
            once = cut != cuts[length - 1] if length else slice(None)
            np.add.at(table, (window.searchsorted(cut[once]), value[once]), 1)
        persons = np.union1d(self.people, snapshot.persons)
        ended = np.zeros(len(persons), dtype=np.int64)
        ended[persons.searchsorted(self.people)] = self.ended
        ended[persons.searchsorted(snapshot.persons)] = self.after(before, value, self.memory)
        return WindowCounts(self.memory, window, table, newcomers, persons, ended)

    def prior(self) -> Float64:
        """The shares of newcomers of each class, or of all newcomers where a class has had none."""
        of_class = self.newcomers.sum(axis=1, keepdims=True)
        of_all = self.newcomers.sum(axis=0) / max(1, int(self.newcomers.sum()))
        shares: Float64 = np.where(of_class > 0, self.newcomers / np.maximum(of_class, 1), of_all)
        return shares

    def rows(self, states: Int64, *, normalised: bool) -> Float64:
        """The shares of what followed each window; a window that was never followed drops its oldest value first."""
        rows, waiting = np.zeros((len(states), self.values)), np.ones(len(states), dtype=np.bool_)
        for length in range(self.memory, 0, -1):
            cut = states % BASE**length
            at, known = self._find(cut)
            here = waiting & known & (cut > 0)
            total = self.followed[at].sum(axis=1)
            here &= total > 0
            if not normalised:
                shorter, _ = self._find(cut // BASE)
                total = self.followed[shorter, np.maximum(cut % BASE - 1, 0)]
            rows[here] = (self.followed[at] / np.maximum(total, 1)[:, None])[here]
            waiting &= ~here
        return rows

    def _find(self, window: Int64) -> tuple[Int64, Bool]:
        at = np.minimum(self.window.searchsorted(window), len(self.window) - 1)
        return at, self.window[at] == window


_FIELDS = ("memory", "window", "followed", "newcomers", "people", "ended")
