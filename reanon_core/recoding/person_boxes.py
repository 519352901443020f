"""Boxes of people: k people or more share each, and who shares one is remembered.

Boxes that are cut anew for each release fall below k people once they are intersected. So people stay in a *cohort*:
the box of a cohort follows its members, and a cohort is cut only if both sides are large enough. No function here is
given a sensitive value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.box_cuts import Columns, cut_rows, merge_small_boxes
from reanon_core.kernels.box_index import index_boxes, nearest_boxes
from reanon_core.kernels.ranks import column_ids, dense_ranks
from reanon_core.model.arrays import MISSING, Bool, Float64, Int32, Int64, frozen
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.model.packing import Packable
from reanon_core.model.plan import PersonBoxes
from reanon_core.model.schema import Ends, Schema
from reanon_core.recoding.attribute_scales import extent_of_codes
from reanon_core.recoding.bins import align
from reanon_core.recoding.boxes import cover_rows

NO_COHORT = -1
FIELDS = {
    "persons": np.int64,
    "cohort": np.int32,
    "qi": np.int32,
    "low": np.int32,
    "high": np.int32,
    "extent": np.int64,
}
STRETCH = 2.0
"""A person stays in a cohort, or joins it, if its hull need not grow to more than this multiple of its volume."""


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


class Hulls(NamedTuple):
    """The hulls of cohorts while they are worked out."""

    low: Int32  # [d, c]
    high: Int32  # [d, c]
    size: Int64  # [c] present members


def cohort_size(k: int) -> int:
    """The least size of a new cohort: k, and what it may lose by chance.

    With as many newcomers as leavers a cohort's size varies by about its square root; this is twice that of k. More
    would keep the intersection of boxes above k for longer, and make every box wider.
    """
    return k + 2 * isqrt(k)


def box_people(people: People, schema: Schema, before: Cohorts, k: int) -> tuple[PersonBoxes, Cohorts]:
    """A box for each person, shared by k people or more, and the cohorts after this release.

    Ensures: the result depends on who was published with which quasi-identifiers in this and earlier releases, and on
    nothing else; it is not random. Raises: Unpublishable if there are people, but fewer than k.
    """
    if 0 < len(people.persons) < k:
        published = counted(len(people.persons), "person is", "people are")
        raise Unpublishable(
            f"{published} to be published, fewer than the k = {k} that must share a box; begin a series with a lower k"
        )
    if not before.count:
        before = Cohorts.initial(len(people.qi))
    extent = extent_of_codes(people.qi, schema, before.extent)
    weight = 1.0 / np.maximum(extent[1] - extent[0], 1)
    cohort, hulls = _returning(people, schema, before)
    cohort = _joined(people.qi, cohort, hulls, weight, cohort_size(k))
    cohort = _cut(people.qi, cohort, schema, extent, cohort_size(k))
    after, cohort = before.recorded(people, cohort, (hulls.low, hulls.high), extent)
    size = np.bincount(cohort, minlength=after.count)
    into = merge_small_boxes(after.low, after.high, size, k)
    shown = np.flatnonzero(np.bincount(into, weights=size, minlength=after.count))
    place = np.zeros(after.count, np.int32)
    place[shown] = np.arange(len(shown), dtype=np.int32)
    number = place[into][cohort]
    return PersonBoxes(number, cover_rows(people.qi, number, len(shown), schema)), after


def _returning(people: People, schema: Schema, before: Cohorts) -> tuple[Int32, Hulls]:
    """The cohort of each person who stays in theirs, and the hulls of these members.

    Hulls first move by the median change of everyone who is published again: people age together.
    """
    entry = before.entries(people.persons)
    old = np.flatnonzero(entry >= 0)
    low, high = before.low.copy(), before.high.copy()
    for attribute, column in enumerate(schema.quasi_identifiers):
        drift = _drift(people.qi[attribute, old], before.qi[attribute, entry[old]])
        if drift:
            least, most = column.bounds or (MISSING + 1, 2**31 - 1)
            for ends in (low[attribute], high[attribute]):
                present = ends != MISSING
                ends[present] = np.clip(ends[present].astype(np.int64) + drift, least, most)
    cohort = np.full(len(entry), NO_COHORT, np.int32)
    cohort[old] = before.cohort[entry[old]]
    cohort[~_fits(people.qi, cohort, low, high)] = NO_COHORT
    return cohort, Hulls(low, high, fit_hulls(people.qi, cohort, low, high))


def _drift(now: Int32, then: Int32) -> int:
    """The median change of the codes that are known both times, 0 if there is none."""
    known = (now != MISSING) & (then != MISSING)
    if 2 * np.count_nonzero(now[known] != then[known]) < np.count_nonzero(known):
        return 0  # most codes stay, so there is no need to sort the changes
    changes = now[known].astype(np.int64) - then[known]
    return int(np.median(changes)) if len(changes) else 0


def _joined(qi: Int32, cohort: Int32, hulls: Hulls, weight: Float64, least: int) -> Int32:
    """The cohorts once newcomers have joined those that hold them or lie near; the rest are a cohort of their own.

    If the rest are too few for that, they join the nearest cohorts all the same.
    """
    cohort = cohort.copy()
    new = np.flatnonzero(cohort == NO_COHORT)
    present = np.flatnonzero(hulls.size)
    if len(present) and len(new):
        low, high = hulls.low[:, present], hulls.high[:, present]
        points = np.ascontiguousarray(qi[:, new])
        # Many newcomers have the same codes, and each point is looked up once.
        _, first, place = np.unique(column_ids(points), return_index=True, return_inverse=True)
        distinct = np.ascontiguousarray(points[:, first])
        found = nearest_boxes(index_boxes(low, high, weight), low, high, distinct, weight)
        nearest = found[place].astype(np.int32)
        near = _fits(points, nearest, low, high)
        if np.count_nonzero(~near) < least:
            near[:] = True
        cohort[new[near]] = present[nearest[near]]
    cohort[cohort == NO_COHORT] = hulls.low.shape[1]
    return cohort


def _cut(qi: Int32, cohort: Int32, schema: Schema, extent: Int64, least: int) -> Int32:
    """The cohorts once those that are large enough are cut."""
    large = np.flatnonzero(np.bincount(cohort, minlength=1)[cohort] >= 2 * least)
    if not len(large):
        return cohort
    large = large[np.argsort(cohort[large], kind="stable")]
    start = np.unique(cohort[large], return_index=True)[1]
    ranks, columns = _published_ranks(qi[:, large], schema, extent)
    piece, pieces = cut_rows(ranks, columns, np.append(start, len(large)), least)
    number = np.empty(pieces, np.int64)
    number[piece] = cohort[large]
    first = np.zeros(pieces, np.bool_)  # the first piece of a cohort keeps its number
    first[np.unique(number, return_index=True)[1]] = True
    number = np.where(first, number, int(cohort.max()) + np.cumsum(~first))
    cut = cohort.copy()
    cut[large] = number[piece]
    return cut


def _published_ranks(qi: Int32, schema: Schema, extent: Int64) -> tuple[Int32, Columns]:
    """The rank of each code [n, d], and the interval that it is published with. MISSING is just below the others."""
    ranks, sides = np.empty(qi.shape[::-1], np.int32), []
    for attribute, (codes, column) in enumerate(zip(qi, schema.quasi_identifiers, strict=True)):
        rank, occurring = dense_ranks(codes)
        ranks[:, attribute] = rank + 1
        low, high = occurring.astype(np.int32), occurring.astype(np.int32)
        if column.ends is Ends.GRID:
            align(low, high, column)
        lacking = int(low.min(initial=0)) - 1
        sides.append((np.insert(low.astype(np.int64), 0, lacking), np.insert(high.astype(np.int64), 0, lacking)))
    longest = max(len(first) for first, _ in sides)
    first, last = (np.array([np.pad(both[at], (0, longest - len(both[at]))) for both in sides]) for at in (0, 1))
    least = np.array([column.min_width for column in schema.quasi_identifiers], np.int64)
    return ranks, Columns(first, last, least, (extent[1] - extent[0] + 1).astype(np.float64))


@compiled
def _fits(qi: Int32, cohort: Int32, low: Int32, high: Int32) -> Bool:
    """Whether each row fits into the hull of its cohort, without stretching it too far."""
    fits = np.zeros(len(cohort), dtype=np.bool_)
    for row in range(len(cohort)):
        own = cohort[row]
        if own < 0:
            continue
        growth = 1.0
        for attribute in range(len(qi)):
            code = np.int64(qi[attribute, row])
            first, last = np.int64(low[attribute, own]), np.int64(high[attribute, own])
            growth *= (max(last, code) - min(first, code) + 1) / (last - first + 1)
        fits[row] = growth <= STRETCH
    return fits
