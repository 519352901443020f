"""What happens before chance is needed: refusals, who is new, and who is published once new people have worlds."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import MISSING, Bool
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.sequential.arrivals import (
    Arrivals,
    arrivals_of,
    extend_extent,
    refuse_changes,
    with_deferred,
)
from reanon_core.techniques.sequential.state import WorldsState
from reanon_core.techniques.sequential.worlds import Worlds

if TYPE_CHECKING:
    from reanon_core.techniques.sequential.technique import Sequential


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
