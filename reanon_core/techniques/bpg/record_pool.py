"""Whom a release may draw on: the table, people who left it, and people who never were."""

from dataclasses import dataclass, replace

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.snapshot import INVENTED, REMEMBERED, TABLE, Snapshot
from reanon_core.techniques.bpg.listing_1 import Settled
from reanon_core.techniques.bpg.state import BpgState

WORDS = np.iinfo(np.int64)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows that may be published, and where their people stand in the state."""

    snapshot: Snapshot
    entry: Int32  # [n] -1 for whoever was never published


def table_alone(snapshot: Snapshot, state: BpgState) -> Drawn:
    """The table as it is."""
    place = state.persons.searchsorted(snapshot.persons)
    found = place < len(state.persons)
    found[found] = state.persons[place[found]] == snapshot.persons[found]
    return Drawn(snapshot, np.where(found, place, -1).astype(np.int32))


def with_those_who_left(table: Drawn, state: BpgState, ell: int, rng: np.random.Generator, *, invent: bool) -> Drawn:
    """The table and everybody who left a neighbourhood of somebody who is asked for.

    They have the values that were published of them last. To `invent` gives them other values instead, and makes
    them nobody's rows.
    """
    snapshot, here = table.snapshot, table.entry[table.entry >= 0]
    useful = np.zeros(state.neighbourhoods, dtype=np.bool_)
    useful[state.neighbourhood[table.entry[(table.entry >= 0) & snapshot.selection]]] = True
    gone = useful[state.neighbourhood]
    gone[here] = False
    if not invent:
        gone &= state.last >= 0  # nobody who was invented comes back as a real person
    left = np.flatnonzero(gone)
    if not len(left):
        return table
    value = _invented(table, state, left, ell, rng) if invent else state.last[left]
    origin = np.full(len(left), INVENTED if invent else REMEMBERED, dtype=np.int8)
    return _joined(table, state.persons[left], state.qi[:, left], value, origin, left.astype(np.int32))[0]


def _invented(table: Drawn, state: BpgState, left: Int64, ell: int, rng: np.random.Generator) -> Int32:
    """Values for people who left: those of random people in the table; where neighbours have few, what they lack."""
    snapshot, known = table.snapshot, np.flatnonzero(table.entry >= 0)
    value = snapshot.sensitive[rng.integers(0, snapshot.size, len(left))]
    values = len(snapshot.schema.sensitive.values)
    shown = np.unique(state.neighbourhood[table.entry[known]].astype(np.int64) * values + snapshot.sensitive[known])
    poor = np.bincount(shown // values, minlength=state.neighbourhoods) < ell
    home = state.neighbourhood[left]
    order = np.argsort(home, kind="stable")
    sorted_home = home[order]
    for own in np.unique(home[poor[home]]):
        begin, end = shown.searchsorted([own * values, (own + 1) * values])
        lacking = rng.permutation(np.setdiff1d(np.arange(values), shown[begin:end] - own * values))
        first, last = sorted_home.searchsorted([own, own + 1])
        theirs = order[first:last][: len(lacking)]
        value[theirs] = lacking[: len(theirs)]
    return value


def published_only(drawn: Drawn, settled: Settled, state: BpgState, rng: np.random.Generator) -> tuple[Drawn, Int32]:
    """The table and those others who are published, with the piece of each row; and the invented newcomers.

    An invented row has no place of its own: it stands where a real one of its piece does.
    """
    snapshot, piece = drawn.snapshot, settled.piece
    if snapshot.origin is not None:
        kept = np.flatnonzero((snapshot.origin == TABLE) | (piece >= 0))
        snapshot = snapshot.rows(kept, selected=snapshot.selection[kept])
        drawn, piece = Drawn(snapshot, drawn.entry[kept]), piece[kept]
    if settled.fakes.any():
        drawn, piece = _with_newcomers(drawn, piece, settled.fakes, state, rng)
    nobodys = np.flatnonzero(drawn.snapshot.invented)
    if len(nobodys):
        real = np.flatnonzero(~drawn.snapshot.invented & (piece >= 0))
        stand_in = np.empty(len(settled.fakes), dtype=np.int64)
        stand_in[piece[real]] = real
        qi = drawn.snapshot.qi.copy()
        qi[:, nobodys] = qi[:, stand_in[piece[nobodys]]]
        drawn = Drawn(replace(drawn.snapshot, qi=qi), drawn.entry)
    return drawn, piece


def _with_newcomers(
    drawn: Drawn, piece: Int32, fakes: Int32, state: BpgState, rng: np.random.Generator
) -> tuple[Drawn, Int32]:
    """Invented people in the pieces that need some, with values that the piece lacks as long as there are any."""
    pieces = np.repeat(np.arange(len(fakes), dtype=np.int32), fakes)
    values = len(drawn.snapshot.schema.sensitive.values)
    invented = []
    for own in np.flatnonzero(fakes):
        lacking = rng.permutation(np.setdiff1d(np.arange(values), drawn.snapshot.sensitive[piece == own]))
        more = rng.integers(0, values, max(0, int(fakes[own]) - len(lacking)))
        invented.append(np.concatenate([lacking, more])[: fakes[own]])
    persons = _strangers(len(pieces), np.concatenate([state.persons, drawn.snapshot.persons]), rng)
    nowhere = np.zeros((len(drawn.snapshot.qi), len(pieces)), dtype=np.int32)
    origin = np.full(len(pieces), INVENTED, dtype=np.int8)
    unknown = np.full(len(pieces), -1, dtype=np.int32)
    joined, order = _joined(drawn, persons, nowhere, np.concatenate(invented), origin, unknown)
    return joined, np.concatenate([piece, pieces])[order]


def _strangers(count: int, known: Int64, rng: np.random.Generator) -> Int64:
    """Pseudonyms that nobody has, of invented people."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        more = rng.integers(WORDS.min, WORDS.max, count - len(found), dtype=np.int64, endpoint=True)
        found = np.setdiff1d(np.concatenate([found, more]), known)
    return rng.permutation(found)


def _joined(
    drawn: Drawn, persons: Int64, qi: Int32, sensitive: Int32, origin: np.ndarray, entry: Int32
) -> tuple[Drawn, Int64]:
    """More rows, nobody of whom is asked for; and the order into which all rows were put."""
    snapshot = drawn.snapshot
    before = np.zeros(snapshot.size, dtype=np.int8) if snapshot.origin is None else snapshot.origin
    everybody = np.concatenate([snapshot.persons, persons])
    order = np.argsort(everybody, kind="stable")
    joined = Snapshot(
        snapshot.schema,
        everybody[order],
        np.concatenate([snapshot.qi, qi], axis=1)[:, order],
        np.concatenate([snapshot.sensitive, sensitive])[order],
        selected=np.concatenate([snapshot.selection, np.zeros(len(persons), dtype=np.bool_)])[order],
        origin=np.concatenate([before, origin])[order],
    )
    return Drawn(joined, np.concatenate([drawn.entry, entry])[order]), order
