"""What happens before chance is needed: refusals, who is new, and who is published once new people have worlds."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.snapshot import REMEMBERED, TABLE, Snapshot
from reanon_core.techniques.sequential.state import UNSEEN, WorldsState
from reanon_core.techniques.sequential.worlds import Worlds

if TYPE_CHECKING:
    from reanon_core.techniques.sequential.technique import Sequential


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


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Who is published, and the state with which."""

    table: Snapshot
    """The snapshot, and people who have left it but are still published."""
    state: WorldsState
    stay: Bool  # [people of the state] published now
    withheld: dict[str, int]


@dataclass(frozen=True, eq=False)
class Admission:
    """A snapshot that no rule refuses, whose new people have no worlds yet."""

    snapshot: Snapshot
    state: WorldsState
    arrivals: Arrivals

    @property
    def new(self) -> Bool:
        """The people of the snapshot who were never published."""
        return self.arrivals.place < 0

    def join(self, worlds: Worlds | None) -> PublicTable:
        """The table to publish once the new people have these worlds; without worlds all of them wait.

        Paper: [ST15] Section 5.2.
        """
        snapshot, state, new, withheld = self.snapshot, self.state, self.new, {}
        if worlds is not None:
            state = state.add_batch(
                snapshot.persons[new],
                snapshot.qi[:, new],
                snapshot.sensitive[new],
                snapshot.other[:, new],
                worlds,
            )
        elif new.any():
            withheld["waiting: a sensitive value is too frequent among the new people"] = int(new.sum())
        if self.arrivals.partial.any():
            withheld["waiting: they returned without their whole cell"] = int(self.arrivals.partial.sum())
        if self.arrivals.closed.any():
            withheld["for good: a forgotten person was in their cell"] = int(self.arrivals.closed.sum())
        stay = np.concatenate([self.arrivals.stay, np.ones(state.size - len(self.arrivals.stay), np.bool_)])
        state = replace(state, gone=~stay)
        return PublicTable(with_deferred(snapshot, state, self.arrivals), state, stay, withheld)


def admit(snapshot: Snapshot, state: WorldsState, settings: "Sequential") -> Admission:
    """Compare the snapshot with the state.

    Raises: Unpublishable, and then changes nothing.
    """
    _refuse_bare(snapshot, settings)
    _refuse_missing(snapshot)
    arrivals = arrivals_of(snapshot, state)
    refuse_changes(snapshot, state, arrivals.place)
    _refuse_departures(snapshot, state, arrivals, settings)
    state = replace(state, time=state.time + 1, extent=extend_extent(snapshot, state.extent))
    known = arrivals.place >= 0
    if known.any():
        state = state.fill_columns(arrivals.place[known], snapshot.qi[:, known], snapshot.other[:, known])
    return Admission(snapshot, state, arrivals)


def _refuse_bare(snapshot: Snapshot, settings: "Sequential") -> None:
    columns = snapshot.columns
    suffix = (snapshot.schema.sensitive.name, *snapshot.schema.other)
    if columns is not None and settings.on_bare == "refuse" and not set(columns) & set(suffix):
        raise Unpublishable(
            f"the release shows only quasi-identifiers ({', '.join(columns)}) and would not generalize them, "
            f"because there is no sensitive column to hide. If you intend this, set on_bare: publish"
        )


def _refuse_missing(snapshot: Snapshot) -> None:
    """Refuse a column that is empty for some people: worlds need every value."""
    lacking = snapshot.qi == MISSING
    empty = lacking.any(axis=1) & ~snapshot.absent
    if empty.any():
        names = ", ".join(name for name, lacks in zip(snapshot.schema.names, empty, strict=True) if lacks)
        raise Unpublishable(
            f"{names} is empty for some people, and worlds need every value; fill in the missing values",
            persons=snapshot.persons[lacking[empty].any(axis=0)],
        )


def _refuse_departures(snapshot: Snapshot, state: WorldsState, arrivals: Arrivals, settings: "Sequential") -> None:
    left = int(arrivals.missed.sum())
    if settings.on_delete == "refuse" and left:
        raise Unpublishable(
            f"{counted(left, 'person', 'people')} of earlier releases left the snapshot, and on_delete is refuse, "
            f"because comparing releases would single out a person who leaves alone. Put them back, or set "
            f"on_delete: defer, which keeps publishing them until their whole cell has left",
            persons=state.persons[arrivals.missed],
        )
    if settings.on_delete == "refuse" and arrivals.partial.any():
        raise Unpublishable(
            f"{counted(int(arrivals.partial.sum()), 'person', 'people')} returned without their whole cell, and "
            f"on_delete is refuse; put the others back too, or set on_delete: defer, which withholds them meanwhile",
            persons=snapshot.persons[arrivals.partial],
        )
