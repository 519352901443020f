"""The atoms after a release: each published piece leaves its old atom and becomes an atom of its own."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.snapshot import TABLE, Snapshot
from reanon_core.techniques.bpg.listing_1 import NO_ATOM, NO_PIECE
from reanon_core.techniques.bpg.record_pool import RecordPool
from reanon_core.techniques.bpg.split_tally import NO_ROW
from reanon_core.techniques.bpg.state import BpgState

NO_VALUE = -1
"""The value of a person of whom this release, or any release, shows none."""
NOT_BEFORE = -1
"""The place in the old state of a person who was never published."""


class OldPeople(NamedTuple):
    """Everyone in the state before the release."""

    persons: Int64  # [p] ascending
    atom: Int32  # [p]
    atoms: int
    last_value: Int32  # [p]
    last_qi: Int32  # [d, p]
    row: Int32  # [p] the row that publishes each person now, or NO_ROW


class PublishedRows(NamedTuple):
    """The rows of the release."""

    new: Int64  # [m] the published rows of people who were never published, ascending
    piece: Int32  # [n]
    persons: Int64  # [n] ascending
    sensitive: Int32  # [n]
    qi: Int32  # [d, n]
    own: Bool  # [n] whether a row is the person's own, from the table


class People(NamedTuple):
    """Everyone in the state after the release."""

    persons: Int64  # [q] ascending
    label: Int32  # [q] the old atom or, from the number of old atoms on, the piece
    value: Int32  # [q] the value that the release shows, or NO_VALUE
    before: Int64  # [q] the place in the old state, or NOT_BEFORE
    last_value: Int32  # [q]
    last_qi: Int32  # [d, q]


class OldColumns(NamedTuple):
    """The values that earlier releases published."""

    columns: Int32  # [a] how many different columns each old atom has
    values: Int32  # [v] person by person
    value_starts: Int64  # [p + 1]


class Origins(NamedTuple):
    """Where each new atom comes from."""

    atom: Int32  # [b] the old atom, or NO_ATOM
    published: Bool  # [b] whether this release publishes it
    changed: Bool  # [b] whether this release published any part of the old atom


class Layout(NamedTuple):
    """Where the columns of each new atom are, before equal ones are dropped: the past ones, then that of now."""

    past: Int32  # [b] how many past columns
    starts: Int64  # [b + 1] where the columns of each atom begin
    pairs: Int64  # [b + 1] where the comparisons of each atom begin: one for each two columns


def update_atoms(
    state: BpgState, pool: RecordPool, piece: Int32, *, extent: Int64, explained: int, reserve: int
) -> BpgState:
    """The state after these pieces are published."""
    snapshot, state_row = pool.snapshot, pool.state_row
    shown = np.flatnonzero(piece != NO_PIECE)
    known, new = shown[state_row[shown] >= 0], shown[state_row[shown] < 0]
    row = np.full(len(state.persons), NO_ROW, dtype=np.int32)
    row[state_row[known]] = known
    own = np.ones(snapshot.size, dtype=np.bool_) if snapshot.origin is None else snapshot.origin == TABLE
    old_qi = state.last_qi if len(state.last_qi) else np.empty((len(snapshot.qi), 0), dtype=np.int32)
    people = _merge(
        OldPeople(state.persons, state.atom, state.atoms, state.last_value, old_qi, row),
        PublishedRows(new, piece, snapshot.persons, snapshot.sensitive, snapshot.qi, own),
    )
    used = np.flatnonzero(np.bincount(people.label, minlength=1))
    number = np.zeros(int(used.max(initial=-1)) + 1, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    atom = number[people.label]
    origins = _origins(state, state.atom[state_row[known]], piece[known], used)
    signature_starts, signature_releases = _signatures(
        origins, state.signature_starts, state.signature_releases, state.time + 1
    )
    columns, values = _columns(atom, people, origins, OldColumns(state.columns, state.values, state.value_starts))
    return BpgState(
        time=state.time + 1,
        persons=people.persons,
        atom=atom,
        columns=columns,
        values=values,
        signature_starts=signature_starts,
        signature_releases=signature_releases,
        extent=extent,
        last_value=people.last_value,
        last_qi=people.last_qi,
        ghost_value=_ghost_values(state, people, snapshot, shown),
        explained=explained,
        reserve=reserve,
    )


def _ghost_values(state: BpgState, people: People, snapshot: Snapshot, shown: Int64) -> Int32:
    """The invented value that stands for each person after the release: a person who is published again has none."""
    ghost = np.full(len(people.persons), NO_VALUE, dtype=np.int32)
    if len(state.ghost_value):
        known = people.before != NOT_BEFORE
        ghost[known] = state.ghost_value[people.before[known]]
    place = people.persons.searchsorted(snapshot.persons[shown])
    ghost[place] = np.where(snapshot.invented[shown], snapshot.sensitive[shown], NO_VALUE)
    return ghost if (ghost != NO_VALUE).any() else np.empty(0, dtype=np.int32)


@compiled
def _merge(old: OldPeople, rows: PublishedRows) -> People:
    """Everyone in the state and the newcomers in one ascending list, with what this release shows of them.

    A row that is not the person's own does not change what was published last of them; a person who was only ever
    invented has no last value. Both lists ascend, and so do the rows of known people, so this is one pass along memory.
    """
    persons, atom, atoms, last_value, last_qi, row_of = old
    new, piece, row_persons, sensitive, qi, own = rows
    total, attributes = len(persons) + len(new), len(qi)
    merged, before = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    label, value = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    latest, latest_qi = np.empty(total, dtype=np.int32), np.empty((attributes, total), dtype=np.int32)
    place, fresh = 0, 0
    for at in range(total):
        comes = fresh < len(new) and (place == len(persons) or row_persons[new[fresh]] < persons[place])
        row = new[fresh] if comes else np.int64(row_of[place])
        merged[at] = row_persons[row] if comes else persons[place]
        before[at] = NOT_BEFORE if comes else place
        label[at] = atoms + piece[row] if row >= 0 else atom[place]
        value[at] = sensitive[row] if row >= 0 else NO_VALUE
        if comes or (row >= 0 and own[row]):
            latest[at] = sensitive[row] if own[row] else NO_VALUE
            for attribute in range(attributes):
                latest_qi[attribute, at] = qi[attribute, row]
        else:
            latest[at] = last_value[place]
            for attribute in range(attributes):
                latest_qi[attribute, at] = last_qi[attribute, place]
        fresh += comes
        place += not comes
    return People(merged, label, value, before, latest, latest_qi)


def _origins(state: BpgState, atom: Int32, piece: Int32, used: Int64) -> Origins:
    """Where each new atom comes from, given the old atom and the piece of each known person who is published.

    `used` are the labels that still have people, which become the new atoms.
    """
    origin = np.full(max(int(used.max(initial=-1)) + 1, state.atoms), NO_ATOM, dtype=np.int32)
    origin[: state.atoms] = np.arange(state.atoms)
    origin[state.atoms + piece] = atom
    changed = np.zeros(state.atoms + 1, dtype=np.bool_)  # the last one is for new atoms without an old one
    changed[atom] = True
    return Origins(origin[used], used >= state.atoms, changed[origin[used]])


@compiled
def _signatures(origins: Origins, old_starts: Int64, old_releases: Int32, time: int) -> tuple[Int64, Int32]:
    """The signature of each atom: that of its origin, and this release if it is published."""
    atom, published = origins.atom, origins.published
    starts = np.zeros(len(atom) + 1, dtype=np.int64)
    for i, old in enumerate(atom):
        length = old_starts[old + 1] - old_starts[old] if old >= 0 else 0
        starts[i + 1] = starts[i] + length + (1 if published[i] else 0)
    releases = np.empty(starts[-1], dtype=np.int32)
    for i, old in enumerate(atom):
        if old >= 0:
            length = old_starts[old + 1] - old_starts[old]
            releases[starts[i] : starts[i] + length] = old_releases[old_starts[old] : old_starts[old + 1]]
        if published[i]:
            releases[starts[i + 1] - 1] = time
    return starts, releases


@compiled
def _columns(atom: Int32, people: People, origins: Origins, old: OldColumns) -> tuple[Int32, Int32]:
    """The different columns of each new atom, as their number [b] and as values person by person."""
    before, value, values, value_starts = people.before, people.value, old.values, old.value_starts
    layout = _layout(origins, old.columns)
    past, starts = layout.past, layout.starts
    kept, count = _different_columns(layout, _differences(atom, people, layout, old))
    total = np.int64(0)
    for i, members in enumerate(np.bincount(atom, minlength=len(past))):
        total += members * count[i]
    result, at = np.empty(total, dtype=np.int32), 0
    for person, i in enumerate(atom):
        first = value_starts[before[person]] if before[person] >= 0 else 0
        for place in range(starts[i], starts[i] + count[i]):
            column = kept[place]
            result[at] = values[first + column] if column < past[i] else value[person]
            at += 1
    return count, result


@compiled
def _layout(origins: Origins, columns: Int32) -> Layout:
    atoms = len(origins.atom)
    past = np.zeros(atoms, dtype=np.int32)
    starts, pairs = np.zeros(atoms + 1, dtype=np.int64), np.zeros(atoms + 1, dtype=np.int64)
    for i, old in enumerate(origins.atom):
        past[i] = columns[old] if old >= 0 else 0
        most = past[i] + (1 if origins.published[i] else 0)
        starts[i + 1] = starts[i] + most
        # The columns of an unchanged atom still differ from each other.
        pairs[i + 1] = pairs[i] + (most * (most - 1) // 2 if origins.changed[i] else 0)
    return Layout(past, starts, pairs)


@compiled
def _differences(atom: Int32, people: People, layout: Layout, old: OldColumns) -> Bool:
    """For each two columns of each atom, whether they differ for any member.

    The loop goes by person, which runs along memory; by atom it would not.
    """
    before, value, values, value_starts = people.before, people.value, old.values, old.value_starts
    past, starts, pairs = layout
    differ = np.zeros(pairs[-1], dtype=np.bool_)
    unchanged = pairs[1:] == pairs[:-1]
    for person, i in enumerate(atom):
        if unchanged[i]:
            continue
        first, at = value_starts[before[person]] if before[person] >= 0 else 0, pairs[i]
        for one in range(1, starts[i + 1] - starts[i]):
            here = values[first + one] if one < past[i] else value[person]
            for other in range(one):
                differ[at] |= here != values[first + other]  # only the last column is not a past one
                at += 1
    return differ


@compiled
def _different_columns(layout: Layout, differ: Bool) -> tuple[Int32, Int32]:
    """The columns of each atom that differ from all before them, listed from its start; and how many there are."""
    starts, pairs = layout.starts, layout.pairs
    kept, count = np.empty(starts[-1], dtype=np.int32), np.zeros(len(starts) - 1, dtype=np.int32)
    for i in range(len(count)):
        at = pairs[i]
        for one in range(starts[i + 1] - starts[i]):
            new = True
            if pairs[i + 1] > pairs[i]:
                for _ in range(one):
                    new = new and differ[at]
                    at += 1
            if new:
                kept[starts[i] + count[i]] = one
                count[i] += 1
    return kept, count
