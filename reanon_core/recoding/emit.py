"""From a plan to public rows, in random order under random group numbers."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.ranks import column_ids
from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import MISSING, Int8, Int32, Int64
from reanon_core.model.plan import PersonBoxes, Plan
from reanon_core.model.release import (
    ALL_MISSING,
    ANYTHING,
    NONE_MISSING,
    SOME_MISSING,
    UNPUBLISHED,
    Auxiliary,
    Boxes,
    PersonRows,
    Release,
)
from reanon_core.model.schema import Ends
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace
from reanon_core.recoding.boxes import bounding_boxes, widen


def emit(snapshot: Snapshot, plan: Plan, rng: np.random.Generator) -> tuple[Release, Auxiliary, Trace]:
    """The release, its counterfeit counts and the private trace.

    Paper: [XT07] Definitions 2 and 3. The order in which groups and rows were built would reveal counterfeits
    and buckets, so both are shuffled.
    """
    if plan.boxes is not None:
        return _emit_rows(snapshot, plan.boxes, np.flatnonzero(plan.group >= 0), rng)
    number = keyed_permutation(plan.groups, rng)  # the public number of each group
    own = plan.person_boxes
    boxes = bounding_boxes(snapshot, plan) if own is None else _group_hulls(plan, own)
    origin = _inverse(number)
    shuffled = Boxes(boxes.low[:, origin], boxes.high[:, origin], boxes.missing[:, origin])

    published = np.flatnonzero(plan.group >= 0)
    counterfeits = plan.counterfeits
    built = np.empty((len(published) + len(counterfeits.group), 2), dtype=np.int32)  # group and value side by side
    built[:, 0] = number[np.concatenate([plan.group[published], counterfeits.group])]
    built[:, 1] = np.concatenate([snapshot.sensitive[published], counterfeits.sensitive])
    built_row = keyed_permutation(len(built), rng)  # the built row behind each public one
    public = built.view(np.int64).ravel()[built_row].view(np.int32).reshape(-1, 2)
    row = _inverse(built_row)

    invented = np.concatenate([plan.group[published[snapshot.invented[published]]], counterfeits.group])
    holding, count = np.unique(number[invented], return_counts=True)
    auxiliary = Auxiliary(holding, count.astype(np.int32))
    persons, row = snapshot.persons[published], row[: len(published)]
    if own is None:
        return Release(public[:, 0], public[:, 1], shuffled), auxiliary, Trace(persons, row)
    shown = keyed_permutation(len(published), rng)  # the person behind each row
    rows = _person_rows(number[plan.group[published]], own, shown, rng)
    release = Release(public[:, 0], public[:, 1], shuffled, person_rows=rows)
    return release, auxiliary, Trace(persons, row, _inverse(shown))


def _person_rows(group: Int32, own: PersonBoxes, shown: Int32, rng: np.random.Generator) -> PersonRows:
    """The rows of people in this order, with boxes under random numbers: cohorts are numbered as they were formed."""
    number = keyed_permutation(own.boxes.count, rng)
    origin, boxes = _inverse(number), own.boxes
    shuffled = Boxes(boxes.low[:, origin], boxes.high[:, origin], boxes.missing[:, origin])
    return PersonRows(group[shown], number[own.number][shown], shuffled)


def _group_hulls(plan: Plan, own: PersonBoxes) -> Boxes:
    """The hull of the boxes of each group's people: what the rows of people say of a group."""
    boxes = own.boxes
    return Boxes(*_hulls(plan.group[plan.group >= 0], own.number, boxes.low, boxes.high, boxes.missing, plan.groups))


@compiled
def _hulls(group: Int32, box: Int32, low: Int32, high: Int32, missing: Int8, groups: int) -> tuple[Int32, Int32, Int8]:
    least = np.full((len(low), groups), 2**31 - 1, dtype=np.int32)
    most = np.full((len(low), groups), MISSING, dtype=np.int32)
    signs = np.full((len(low), groups), NONE_MISSING, dtype=np.int8)
    for attribute in range(len(low)):
        for row in range(len(group)):
            own, one = group[row], box[row]
            if missing[attribute, one] != NONE_MISSING:
                signs[attribute, own] = SOME_MISSING
            if missing[attribute, one] != ALL_MISSING:
                least[attribute, own] = min(least[attribute, own], low[attribute, one])
                most[attribute, own] = max(most[attribute, own], high[attribute, one])
        for own in range(groups):
            if most[attribute, own] == MISSING:
                least[attribute, own], signs[attribute, own] = MISSING, ALL_MISSING
    return least, most, signs


def _emit_rows(
    snapshot: Snapshot, boxes: Boxes, published: Int64, rng: np.random.Generator
) -> tuple[Release, Auxiliary, Trace]:
    """The release of rows that have a box each, with the columns that the snapshot selects.

    A technique makes these boxes itself; on the grid their ends are moved outwards to those of bins. Rows with the same
    box become a group, numbered by the order in which the shuffled rows first show it.
    """
    origin = keyed_permutation(len(published), rng)  # the built row behind each public one
    sides = np.stack([boxes.low, boxes.high, boxes.missing.astype(np.int32)])[:, :, origin]  # [3, d, rows]
    release = snapshot.columns
    for attribute, column in enumerate(snapshot.schema.quasi_identifiers):
        if release is not None and column.name not in release:
            sides[:, attribute] = np.array(ANYTHING, dtype=np.int32)[:, None]
        elif column.ends is Ends.GRID:
            own_low, own_high, own_missing = sides[:, attribute]
            widen(own_low, own_high, own_missing, column)
    group, first = _number_boxes(sides.reshape(sides.shape[0] * sides.shape[1], len(published)))
    people = published[origin]
    sensitive, other = snapshot.sensitive[people], snapshot.other[:, people]
    if release is not None:
        if snapshot.schema.sensitive.name not in release:
            sensitive = np.full_like(sensitive, UNPUBLISHED)
        other[[name not in release for name in snapshot.schema.other]] = UNPUBLISHED
    low, high, missing = sides[:, :, first]
    return (
        Release(group, sensitive, Boxes(low, high, missing), other=other, columns=release, grouped=False),
        Auxiliary.none(),
        Trace(snapshot.persons[published], _inverse(origin)),
    )


def _number_boxes(sides: Int32) -> tuple[Int32, Int64]:
    """A number for each box, a column of the array, the same for equal boxes; and the first box of each number."""
    _, first, place = np.unique(column_ids(sides), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return _inverse(order.astype(np.int32))[place], first[order]


def _inverse(permutation: Int32) -> Int32:
    """The position of each number in the permutation."""
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation), dtype=np.int32)
    return inverse
