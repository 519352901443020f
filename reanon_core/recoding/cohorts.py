"""Cohorts: people who are published with a common box, from release to release."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.packing import Packable

NO_COHORT = -1
FIELDS = {
    "persons": np.int64,
    "cohort": np.int32,
    "qi": np.int32,
    "low": np.int32,
    "high": np.int32,
    "extent": np.int64,
}


class People(NamedTuple):
    """The people of a release, in ascending order, and their quasi-identifiers."""

    persons: Int64  # [n]
    qi: Int32  # [d, n]


@dataclass(frozen=True, eq=False)
class Cohorts:
    """The cohort of every person ever published, and the hull of each cohort when it was last published.

    A hull is an interval of codes for each quasi-identifier; MISSING is the least code. Nothing here depends on a
    sensitive value.
    """

    persons: Int64  # [p] ascending
    cohort: Int32  # [p]
    qi: Int32  # [d, p] codes when the person was last published
    low: Int32  # [d, c]
    high: Int32  # [d, c]
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in FIELDS.items():
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @staticmethod
    def initial(attributes: int = 0) -> "Cohorts":
        """No one, before the first release."""
        none = np.empty((attributes, 0), np.int32)
        extent = np.empty((2, 0), np.int64)
        return Cohorts(np.empty(0, np.int64), np.empty(0, np.int32), none, none, none, extent)

    @property
    def count(self) -> int:
        """The number of cohorts."""
        return int(self.low.shape[1])

    def packed(self) -> Mapping[str, Packable]:
        """The cohorts as named arrays."""
        return {f"cohorts.{name}": getattr(self, name) for name in FIELDS}

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "Cohorts":
        """The cohorts that were packed."""
        arrays: dict[str, Any] = {name: packed[f"cohorts.{name}"] for name in FIELDS}
        return Cohorts(**arrays)

    def without(self, person: int) -> "Cohorts":
        """The cohorts without a person."""
        kept = self.persons != person
        return replace(self, persons=self.persons[kept], cohort=self.cohort[kept], qi=self.qi[:, kept])

    def entries(self, persons: Int64) -> Int64:
        """The place of each person, -1 for people who were never published."""
        place = self.persons.searchsorted(persons)
        found = place < len(self.persons)
        found[found] = self.persons[place[found]] == persons[found]
        return np.where(found, place, -1)

    def recorded(
        self, people: "People", cohort: Int32, hulls: tuple[Int32, Int32], extent: Int64
    ) -> tuple["Cohorts", Int32]:
        """The cohorts after these people are published in them, and the number of each person's cohort in the result.

        Cohorts that no one is in are dropped. `hulls` [d, c] are those of cohorts without any of these people; all
        others are fitted to them.
        """
        persons, qi = people
        new = max(0, int(cohort.max(initial=-1)) + 1 - self.count)
        low, high = (np.pad(ends, ((0, 0), (0, new))) for ends in hulls)
        fit_hulls(qi, cohort, low, high)
        entry = self.entries(persons)
        others = np.ones(len(self.persons), np.bool_)
        others[entry[entry >= 0]] = False
        everyone = np.concatenate([self.persons[others], persons])
        order = np.argsort(everyone, kind="stable")  # two sorted runs
        in_cohort = np.concatenate([self.cohort[others], cohort])[order]
        kept = np.flatnonzero(np.bincount(in_cohort, minlength=low.shape[1]))
        number = np.zeros(low.shape[1], np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        latest = np.concatenate([self.qi[:, others], qi], axis=1)[:, order]
        after = Cohorts(everyone[order], number[in_cohort], latest, low[:, kept], high[:, kept], extent)
        return after, number[cohort]


@compiled
def fit_hulls(qi: Int32, cohort: Int32, low: Int32, high: Int32) -> Int64:
    """Replace the hull of each cohort that has rows by the hull of its rows, and count them. Rows may have none."""
    size = np.zeros(low.shape[1], dtype=np.int64)
    for row in range(len(cohort)):
        own = cohort[row]
        if own < 0:
            continue
        for attribute in range(len(qi)):
            code = qi[attribute, row]
            if size[own] == 0:
                low[attribute, own], high[attribute, own] = code, code
            else:
                low[attribute, own] = min(low[attribute, own], code)
                high[attribute, own] = max(high[attribute, own], code)
        size[own] += 1
    return size
