"""Linkage: which rows of the next release may show the same person as a row of this one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.view.value_sets import group_masks, highest_value
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.release import ALL_MISSING, NONE_MISSING, Boxes, Release


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
