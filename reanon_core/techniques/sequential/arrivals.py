"""A snapshot against the state: who is new, who stays, who has left, and who of them is published now."""

from dataclasses import dataclass, replace

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.snapshot import REMEMBERED, TABLE, Snapshot
from reanon_core.techniques.sequential.state import UNSEEN, WorldsState


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Which people of a snapshot and of the state are published."""

    place: Int64  # [n] where each person of the snapshot is in the state, -1 for new people
    stay: Bool  # [people of the state] published again
    left: Bool  # [people of the state] no longer in the snapshot, but published again
    missed: Bool  # [people of the state] published so far, and not in the snapshot
    partial: Bool  # [n] people of the snapshot who returned without their whole cell
    closed: Bool  # [n] people of the snapshot whose cell has left for ever, because one of it is forgotten


def arrivals_of(snapshot: Snapshot, state: WorldsState) -> Arrivals:
    """Divide the people. A cell leaves once all its people are absent, and returns only as a whole."""
    place = state.find(snapshot.persons)
    here = np.zeros(state.size, dtype=np.bool_)
    here[place[place >= 0]] = True
    cells = int(state.cell.max(initial=-1)) + 1
    total = np.bincount(state.cell, minlength=cells)
    present = np.bincount(state.cell[here], minlength=cells)
    back = (present == total)[state.cell]
    some = (present > 0)[state.cell]
    stay = np.where(state.gone, back, some)
    partial = np.zeros(snapshot.size, dtype=np.bool_)
    known = place >= 0
    partial[known] = ~stay[place[known]]
    closed = np.zeros(snapshot.size, dtype=np.bool_)
    closed[known] = state.closed[place[known]]
    return Arrivals(place, stay, stay & ~here, ~here & ~state.gone, partial & ~closed, closed)


def refuse_changes(snapshot: Snapshot, state: WorldsState, place: Int64) -> None:
    """Refuse a snapshot in which values of people who were published before have changed.

    Raises: Unpublishable.
    """
    known = np.flatnonzero(place >= 0)
    if not len(known):
        return
    at, schema = place[known], snapshot.schema
    columns = [(schema.sensitive.name, snapshot.sensitive[known], state.sensitive[at], -2)]
    columns += [
        (name, codes[known], state.other[i, at], UNPUBLISHED)
        for i, (name, codes) in enumerate(zip(schema.other, snapshot.other, strict=True))
    ]
    columns += [
        (name, codes[known], state.qi[i, at], MISSING)
        for i, (name, codes) in enumerate(zip(schema.names, snapshot.qi, strict=True))
    ]
    complaints, concerned = [], np.zeros(len(known), np.bool_)
    for name, now, before, unknown in columns:
        changed = (now != before) & (before != unknown) & (now != unknown)
        if changed.any():
            complaints.append(f"{counted(int(changed.sum()), 'person has', 'people have')} a changed value of {name}")
        lost = (now == unknown) & (before != unknown)
        if lost.any():
            complaints.append(f"{name} is now empty for {counted(int(lost.sum()), 'person', 'people')}")
        concerned |= changed | lost
    if complaints:
        raise Unpublishable(
            f"{'; '.join(complaints)}. The worlds are built from the values published before; restore these values",
            persons=snapshot.persons[known[concerned]],
        )


def extend_extent(snapshot: Snapshot, before: Int64) -> Int64:
    """The least and greatest code of each attribute [2, d]: the declared domain, or all that was seen so far."""
    extent = np.tile(np.array(UNSEEN, dtype=np.int64)[:, None], len(snapshot.qi))
    if before.shape[1]:
        extent = before.copy()
    for attribute, column in enumerate(snapshot.schema.quasi_identifiers):
        codes = snapshot.qi[attribute]
        if column.bounds is not None:
            extent[:, attribute] = column.bounds
        elif len(codes) and not snapshot.absent[attribute]:
            extent[0, attribute] = min(extent[0, attribute], int(codes.min()))
            extent[1, attribute] = max(extent[1, attribute], int(codes.max()))
    return extent


def with_deferred(snapshot: Snapshot, state: WorldsState, arrivals: Arrivals) -> Snapshot:
    """The snapshot, and the people who have left it but must still be published."""
    left = np.flatnonzero(arrivals.left)
    if not len(left):
        return snapshot
    persons = np.concatenate([snapshot.persons, state.persons[left]])
    order = np.argsort(persons)

    def both(now: Int32, before: Int32) -> Int32:
        return np.concatenate([now, before], axis=-1)[..., order]

    return replace(
        snapshot,
        persons=persons[order],
        qi=both(snapshot.qi, state.qi[:, left]),
        sensitive=both(snapshot.sensitive, state.sensitive[left]),
        other=both(snapshot.other, state.other[:, left]),
        selected=np.isin(persons[order], snapshot.persons),
        origin=np.where(np.isin(persons[order], snapshot.persons), TABLE, REMEMBERED).astype(np.int8),
    )
