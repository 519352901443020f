"""Private: what a series in memory keeps of each of its releases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core import brakes
from reanon_core.brakes import Brake
from reanon_core.published_release import PublishedRelease
from reanon_core.returning import returning, value_returning
from reanon_core.tables.frames import PrivateTable
from reanon_core.tables.id_forms import Doubts, among
from reanon_core.tables.ids import ascending_order

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.arrays import Int32, Int64
    from reanon_core.model.ledger import Entry
    from reanon_core.model.schema import Schema
    from reanon_core.tables.snapshot_table import CodedTable


@dataclass(frozen=True, eq=False)
class KeptRelease:
    """A release that passed its checks, with the truth behind it."""

    release: PublishedRelease
    entry: "Entry"
    ids: "pa.Array"
    persons: "Int64"
    """The people of the frame, in its order, selected or not."""
    accepted: tuple[Brake, ...]
    """The brakes that a person accepted, and why."""
    reason: str | None


def tripped_brakes(
    kept: Sequence[KeptRelease], coded: "CodedTable", doubts: Doubts, schema: "Schema", id_column: str
) -> tuple[Brake, ...]:
    """Every brake that the next frame trips, some of whose new ids may be doubtful.

    `schema` knows the values of the kept releases.
    """
    people, last = coded.people, kept[-1] if kept else None
    column, known = coded.snapshot.schema.sensitive, len(schema.sensitive.values)
    found = [
        brakes.empty_start(len(people.order), first=last is None),
        brakes.respelled_values(column, known),
        brakes.values_for_nothing(column, known),
        brakes.respelled_ids(id_column, doubts.alike),
        brakes.ids_for_nothing(id_column, doubts.empty),
    ]
    if last is not None:
        before = last.persons[ascending_order(last.persons)]
        here = int(np.count_nonzero(among(before, people.persons[people.order])))
        found.append(brakes.drifted_size(len(people.order), len(before)))
        found.append(brakes.few_returning(here, len(before), last.release.name))
        again = returning(_tables(kept[-1:]), people.persons[people.order], len(column.values))
        found.append(
            brakes.filtered_values(column, again, lambda code: value_returning(_tables(kept), code), last.release.name)
        )
    return tuple(brake for brake in found if brake is not None)


def _tables(kept: Sequence[KeptRelease]) -> "Iterator[tuple[Int64, Int32]]":
    """The people in the table of each release, and the codes of their values."""
    for one in kept:
        table = one.entry.snapshot.in_table()
        yield table.persons, table.sensitive


def trace_table(kept: Sequence[KeptRelease]) -> PrivateTable:
    """The id of the person behind each published row of the last of these releases, counterfeits left out."""
    import pyarrow as pa

    entry = kept[-1].entry
    invented = entry.snapshot.persons[entry.snapshot.invented]
    real = ~np.isin(entry.trace.persons, invented)
    persons, rows = entry.trace.persons[real], entry.trace.shown_rows[real]
    known: dict[int, object] = {}
    for one in kept:  # a release may show people who have left: their ids are in earlier frames
        known.update(zip(one.persons.tolist(), one.ids.to_pylist(), strict=True))
    return PrivateTable(pa.table({"id": [known[person] for person in persons.tolist()], "row": rows}))
