"""The records that a release may publish: the table, people who left it, and invented people."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from reanon_core.kernels.siphash import fresh_key, keyed_choices, keyed_permutation, siphash_words
from reanon_core.model.arrays import Int8, Int32, Int64
from reanon_core.model.snapshot import INVENTED, REMEMBERED, TABLE, Snapshot
from reanon_core.techniques.bpg.listing_1 import NO_PIECE, CorrectedPieces
from reanon_core.techniques.bpg.state import BpgState

NOT_IN_STATE = -1
"""The place in the state of a person who was never published."""
NOT_INVENTED = -1
"""Said of a person for whom no value was invented yet."""


@dataclass(frozen=True, eq=False)
class RecordPool:
    """Rows that may be published, and where their people are in the state."""

    snapshot: Snapshot
    state_row: Int32  # [n] or NOT_IN_STATE


class AddedRows(NamedTuple):
    """Rows that no query selects, to be added to a pool."""

    persons: Int64  # [a]
    qi: Int32  # [d, a]
    sensitive: Int32  # [a]
    origin: Int8  # [a]
    state_row: Int32  # [a]


def table_pool(snapshot: Snapshot, state: BpgState) -> RecordPool:
    """The table alone."""
    place = state.persons.searchsorted(snapshot.persons)
    found = place < len(state.persons)
    found[found] = state.persons[place[found]] == snapshot.persons[found]
    return RecordPool(snapshot, np.where(found, place, NOT_IN_STATE).astype(np.int32))


def pool_with_departed(
    table: RecordPool, state: BpgState, ell: int, rng: np.random.Generator, *, invent: bool
) -> RecordPool:
    """The table, and everyone who left it from an atom of a selected person.

    They have the values that were published of them last. With `invent` they get other values instead, and count as
    invented.

    Paper: [BPG] dirty records (prose).
    """
    snapshot, known = table.snapshot, table.state_row >= 0
    useful = np.zeros(state.atoms, dtype=np.bool_)
    useful[state.atom[table.state_row[known & snapshot.selection]]] = True
    departed = useful[state.atom]
    departed[table.state_row[known]] = False
    if not invent:
        departed &= state.last_value >= 0  # an invented person does not return as a real one
    left = np.flatnonzero(departed)
    if not len(left):
        return table
    value = _invented_values(table, state, left, ell, rng) if invent else state.last_value[left]
    origin = np.full(len(left), INVENTED if invent else REMEMBERED, dtype=np.int8)
    added = AddedRows(state.persons[left], state.last_qi[:, left], value, origin, left.astype(np.int32))
    return _extended(table, added)[0]


def _invented_values(table: RecordPool, state: BpgState, left: Int64, ell: int, rng: np.random.Generator) -> Int32:
    """Values for people who left: those of random people in the table, or those that their atom lacks if it has few.

    A value that was invented for a person before is kept, because a row whose value changes from release to release
    would be recognised as invented. Only where an atom has too few values, it is replaced.
    """
    snapshot, known = table.snapshot, np.flatnonzero(table.state_row >= 0)
    before = state.ghost_value[left] if len(state.ghost_value) else np.full(len(left), NOT_INVENTED, dtype=np.int32)
    drawn = snapshot.sensitive[keyed_choices(len(left), snapshot.size, rng)]
    kept = before != NOT_INVENTED
    value = np.where(kept, before, drawn)
    values = len(snapshot.schema.sensitive.values)
    atom = state.atom[left]
    atoms = np.concatenate([state.atom[table.state_row[known]], atom[kept]]).astype(np.int64)
    shown = np.unique(atoms * values + np.concatenate([snapshot.sensitive[known], before[kept]]))
    poor = np.bincount(shown // values, minlength=state.atoms) < ell
    order = np.lexsort((kept, atom))  # those without a value come first
    sorted_atom = atom[order]
    for own in np.unique(atom[poor[atom]]):
        begin, end = shown.searchsorted([own * values, (own + 1) * values])
        lacking = _shuffled(np.setdiff1d(np.arange(values), shown[begin:end] - own * values), rng)
        first, last = sorted_atom.searchsorted([own, own + 1])
        free = int(np.count_nonzero(~kept[order[first:last]]))
        theirs = order[first:last][: min(len(lacking), max(free, ell - (end - begin)))]
        value[theirs] = lacking[: len(theirs)]
    return value.astype(np.int32)


def _shuffled(values: Int64, rng: np.random.Generator) -> Int64:
    return values[keyed_permutation(len(values), rng)]


def published_records(
    pool: RecordPool, pieces: CorrectedPieces, state: BpgState, rng: np.random.Generator
) -> tuple[RecordPool, Int32]:
    """The table, the added rows that are published and the invented newcomers; and the piece of each row.

    What is invented is a function of fresh keys: no number of the generator is published, from which its next numbers,
    and with them the order of the rows, could be computed. An invented row has no quasi-identifiers of its own: it gets
    those of a real row of its piece.
    """
    snapshot, piece = pool.snapshot, pieces.piece
    if snapshot.origin is not None:
        kept = np.flatnonzero((snapshot.origin == TABLE) | (piece != NO_PIECE))
        snapshot = snapshot.rows(kept, selected=snapshot.selection[kept])
        pool, piece = RecordPool(snapshot, pool.state_row[kept]), piece[kept]
    if pieces.invented.any():
        pool, piece = _with_newcomers(pool, piece, pieces.invented, state, rng)
    invented = np.flatnonzero(pool.snapshot.invented)
    if len(invented):
        real = np.flatnonzero(~pool.snapshot.invented & (piece != NO_PIECE))
        example = np.empty(len(pieces.invented), dtype=np.int64)  # a real row of each piece
        example[piece[real]] = real
        qi = pool.snapshot.qi.copy()
        qi[:, invented] = qi[:, example[piece[invented]]]
        pool = RecordPool(replace(pool.snapshot, qi=qi), pool.state_row)
    return pool, piece


def _with_newcomers(
    pool: RecordPool, piece: Int32, needed: Int32, state: BpgState, rng: np.random.Generator
) -> tuple[RecordPool, Int32]:
    """Add invented people to the pieces that need some, with values that the piece lacks as long as there are any."""
    pieces = np.repeat(np.arange(len(needed), dtype=np.int32), needed)
    values = len(pool.snapshot.schema.sensitive.values)
    invented = []
    for own in np.flatnonzero(needed):
        lacking = _shuffled(np.setdiff1d(np.arange(values), pool.snapshot.sensitive[piece == own]), rng)
        more = keyed_choices(max(0, int(needed[own]) - len(lacking)), values, rng)
        invented.append(np.concatenate([lacking, more])[: needed[own]])
    added = AddedRows(
        _fresh_pseudonyms(len(pieces), np.concatenate([state.persons, pool.snapshot.persons]), rng),
        np.zeros((len(pool.snapshot.qi), len(pieces)), dtype=np.int32),
        np.concatenate(invented),
        np.full(len(pieces), INVENTED, dtype=np.int8),
        np.full(len(pieces), NOT_IN_STATE, dtype=np.int32),
    )
    extended, order = _extended(pool, added)
    return extended, np.concatenate([piece, pieces])[order]


def _fresh_pseudonyms(count: int, known: Int64, rng: np.random.Generator) -> Int64:
    """Pseudonyms that no person has, for invented people."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        more = siphash_words(np.arange(count - len(found)), fresh_key(rng)).view(np.int64)
        found = np.setdiff1d(np.concatenate([found, more]), known)
    return _shuffled(found, rng)


def _extended(pool: RecordPool, added: AddedRows) -> tuple[RecordPool, Int64]:
    """The pool with more rows; and the order into which all rows were put."""
    snapshot = pool.snapshot
    before = np.zeros(snapshot.size, dtype=np.int8) if snapshot.origin is None else snapshot.origin
    persons = np.concatenate([snapshot.persons, added.persons])
    order = np.argsort(persons, kind="stable")
    extended = Snapshot(
        snapshot.schema,
        persons[order],
        np.concatenate([snapshot.qi, added.qi], axis=1)[:, order],
        np.concatenate([snapshot.sensitive, added.sensitive])[order],
        selected=np.concatenate([snapshot.selection, np.zeros(len(added.persons), dtype=np.bool_)])[order],
        origin=np.concatenate([before, added.origin])[order],
    )
    return RecordPool(extended, np.concatenate([pool.state_row, added.state_row])[order]), order
