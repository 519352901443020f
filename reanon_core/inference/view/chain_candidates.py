"""Whom a chain of linked rows may show: the people who were in all its releases, inside all its boxes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int8, Int32, Int64
from reanon_core.model.knowledge import Presence
from reanon_core.model.release import Boxes, PersonRows, covers

_covers = compiled(covers)


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
