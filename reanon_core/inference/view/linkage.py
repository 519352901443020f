"""Linkage: which rows of the next release may show the same person as a row of this one, and whom a chain may show."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.value_sets import group_masks, highest_value
from reanon_core.model.arrays import Bool, Int8, Int32, Int64
from reanon_core.model.knowledge import Presence
from reanon_core.model.release import ALL_MISSING, NONE_MISSING, Boxes, PersonRows, Release, covers

_covers = compiled(covers)


class LinkableRows(NamedTuple):
    """The rows of a release as a linkage sees them, ordered by signature."""

    signature: Int64  # [r] ascending; the same number for the same signature in both releases
    low: Int32  # [d, r] the interval of each row, empty if low > high
    high: Int32  # [d, r]
    lacking: Int32  # [d, r] 1 if a value may be missing


class Links(NamedTuple):
    """The successors of each row: how many there are, and the first of them, in the order of the releases."""

    counts: Int64  # [r]
    first: Int64  # [r] -1 if there is none


def successors(earlier: Release, later: Release) -> Int64:
    """For each row of the earlier release, how many rows of the later one have its signature and an overlapping box.

    A decoupled release has the rows of its people. Any other has its own rows, counterfeits among them. A person keeps
    their signature, so the row of a person who is in both releases has at least one successor, unless the person's
    values changed beyond the box. Rows are in the order of the release.
    """
    return links(earlier, later).counts


def links(earlier: Release, later: Release) -> Links:
    """The successors of each row of the earlier release."""
    signatures = _signature_numbers(earlier, later)
    (order, first), (other_order, second) = (
        _linkable(release, own) for release, own in zip((earlier, later), signatures, strict=True)
    )
    count, found = _find_successors(first, second)
    linked = Links(np.empty_like(count), np.full_like(found, -1))
    linked.counts[order] = count
    linked.first[order[found >= 0]] = other_order[found[found >= 0]]
    return linked


def chains(releases: Sequence[Release]) -> Int64:
    """Rows that can be followed: for each chain its row in each release, int64[chains, releases], -1 where it has none.

    A row is followed to its successor if it has no other, and the successor is that of no other such row. Every row
    is in one chain; most chains are a single row.
    """
    listed = np.empty((0, len(releases)), np.int64)
    before = np.empty(0, np.int64)  # the chain of each row of the release before
    for time, release in enumerate(releases):
        rows = len(release.group if release.person_rows is None else release.person_rows.group)
        chain = np.full(rows, -1, np.int64)
        if time:
            linked = links(releases[time - 1], release)
            only = np.flatnonzero(linked.counts == 1)
            target, times = np.unique(linked.first[only], return_counts=True)
            only = only[np.isin(linked.first[only], target[times == 1])]
            chain[linked.first[only]] = before[only]
        new = np.flatnonzero(chain < 0)
        chain[new] = np.arange(len(listed), len(listed) + len(new))
        listed = np.concatenate([listed, np.full((len(new), len(releases)), -1)])
        listed[chain, time] = np.arange(rows)
        before = chain
    return listed


def _signature_numbers(*releases: Release) -> list[Int64]:
    """A number for the signature of each group of each release."""
    values = highest_value(releases) + 1
    masks = [group_masks(release, values) for release in releases]
    _, numbers = np.unique(np.concatenate(masks), axis=0, return_inverse=True)
    return np.split(numbers.reshape(-1).astype(np.int64), np.cumsum([len(mask) for mask in masks])[:-1])


def _linkable(release: Release, signature: Int64) -> tuple[Int64, LinkableRows]:
    """The rows ordered by signature, and that order."""
    rows = release.person_rows
    group, box, boxes = (
        (release.group, release.group, release.boxes) if rows is None else (rows.group, rows.box, rows.boxes)
    )
    order = np.argsort(signature[group], kind="stable")
    low, high = _intervals(boxes)
    lacking = (boxes.missing != NONE_MISSING).astype(np.int32)
    own = box[order]
    return order, LinkableRows(signature[group[order]], low[:, own], high[:, own], lacking[:, own])


def _intervals(boxes: Boxes) -> tuple[Int32, Int32]:
    nothing = boxes.missing == ALL_MISSING
    return np.where(nothing, 1, boxes.low).astype(np.int32), np.where(nothing, 0, boxes.high).astype(np.int32)


@compiled
def _find_successors(earlier: LinkableRows, later: LinkableRows) -> tuple[Int64, Int64]:
    counts = np.zeros(len(earlier.signature), dtype=np.int64)
    found = np.full(len(counts), -1, dtype=np.int64)
    for row in range(len(counts)):
        own = earlier.signature[row]
        other = np.searchsorted(later.signature, own)
        while other < len(later.signature) and later.signature[other] == own:
            overlaps = True
            for attribute in range(len(earlier.low)):
                first = max(earlier.low[attribute, row], later.low[attribute, other])
                last = min(earlier.high[attribute, row], later.high[attribute, other])
                lacking = earlier.lacking[attribute, row] and later.lacking[attribute, other]
                if first > last and not lacking:
                    overlaps = False
                    break
            if overlaps and counts[row] == 0:
                found[row] = other
            counts[row] += overlaps
            other += 1
    return counts, found


class Insiders(NamedTuple):
    """The people inside each box of a release: those of box b are person[start[b] : start[b + 1]]."""

    start: Int64  # [boxes + 1]
    person: Int64  # [i] positions among all people, ascending for each box


def chain_candidates(
    chains: Int64, releases: Sequence[PersonRows], presences: Sequence[Presence], persons: Int64
) -> tuple[Int64, Int64]:
    """How many people each chain [chains, releases] may show, and the first of them as a position in `persons`, or -1.

    Requires: every chain has a row in one release at least; `persons` are ascending.
    """
    count = np.zeros(len(chains), np.int64)
    only = np.full(len(chains), -1, np.int64)
    inside = [_insiders(presence, rows.boxes, persons) for presence, rows in zip(presences, releases, strict=True)]
    for chain, row in enumerate(chains):
        candidates = None
        for time in np.flatnonzero(row >= 0).tolist():
            box = releases[time].box[row[time]]
            own = inside[time].person[inside[time].start[box] : inside[time].start[box + 1]]
            candidates = own if candidates is None else np.intersect1d(candidates, own, assume_unique=True)
        if candidates is not None and len(candidates):
            count[chain], only[chain] = len(candidates), candidates[0]
    return count, only


def _insiders(presence: Presence, boxes: Boxes, persons: Int64) -> Insiders:
    inside = _inside(presence.qi, boxes.low, boxes.high, boxes.missing)
    person = np.nonzero(inside)[1]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(inside.sum(axis=1))])
    return Insiders(start, persons.searchsorted(presence.persons[person]))


@compiled
def _inside(qi: Int32, low: Int32, high: Int32, missing: Int8) -> Bool:
    """Which people each box contains, bool[boxes, people]."""
    inside = np.ones((low.shape[1], qi.shape[1]), dtype=np.bool_)
    for box in range(low.shape[1]):
        for person in range(qi.shape[1]):
            for attribute in range(len(qi)):
                sign = missing[attribute, box]
                if not _covers(low[attribute, box], high[attribute, box], sign, qi[attribute, person]):
                    inside[box, person] = False
                    break
    return inside
