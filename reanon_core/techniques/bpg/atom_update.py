"""The neighbourhoods after a release: each published piece leaves its old one and becomes one of its own."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.snapshot import TABLE
from reanon_core.techniques.bpg.record_pool import Drawn
from reanon_core.techniques.bpg.state import BpgState

NOBODY = -1


def remembered(state: BpgState, drawn: Drawn, piece: Int32, *, extent: Int64, met: int, reserve: int) -> BpgState:
    """The state after these pieces are published."""
    snapshot, entry = drawn.snapshot, drawn.entry
    shown = np.flatnonzero(piece >= 0)
    known, new = shown[entry[shown] >= 0], shown[entry[shown] < 0]
    row_of = np.full(len(state.persons), NOBODY, dtype=np.int32)
    row_of[entry[known]] = known
    mine = np.ones(snapshot.size, dtype=np.bool_) if snapshot.origin is None else snapshot.origin == TABLE
    old_qi = state.qi if len(state.qi) else np.empty((len(snapshot.qi), 0), dtype=np.int32)
    persons, label, current, before, last, qi = _merged(
        state.persons,
        state.neighbourhood,
        state.neighbourhoods,
        state.last,
        old_qi,
        row_of,
        new,
        piece,
        snapshot.persons,
        snapshot.sensitive,
        snapshot.qi,
        mine,
    )
    used = np.flatnonzero(np.bincount(label, minlength=1))
    number = np.zeros(int(used.max(initial=-1)) + 1, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    neighbourhood = number[label]
    origin, divided = _origins(state, entry, piece, known, used)
    now = used >= state.neighbourhoods
    offsets, releases = _signatures(origin, now, state.offsets, state.releases, state.time + 1)
    columns, values = _columns(
        neighbourhood, origin, now, divided, before, current, state.columns, state.values, state.value_starts
    )
    return BpgState(
        state.time + 1, persons, neighbourhood, columns, values, offsets, releases, extent, last, qi, met, reserve
    )


@compiled
def _merged(
    persons: Int64,
    neighbourhood: Int32,
    neighbourhoods: int,
    last: Int32,
    qi: Int32,
    row_of: Int32,
    new: Int64,
    piece: Int32,
    row_persons: Int64,
    sensitive: Int32,
    row_qi: Int32,
    mine: Bool,
) -> tuple[Int64, Int32, Int32, Int64, Int32, Int32]:
    """Everybody in the state and the newcomers in one ascending list, with what this release shows of them.

    For each the pseudonym, the neighbourhood or, from `neighbourhoods` on, the piece; the value shown now, or NOBODY;
    the place in the old state; and what was published last: a row that is not `mine` is not the person's own, and
    somebody who was only ever invented has nothing.
    Both lists ascend, and so do the rows of known people: all of it is one walk along memory.
    """
    total, attributes = len(persons) + len(new), len(row_qi)
    merged, before = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    label, current = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    latest, place = np.empty(total, dtype=np.int32), np.empty((attributes, total), dtype=np.int32)
    old, fresh = 0, 0
    for at in range(total):
        comes = fresh < len(new) and (old == len(persons) or row_persons[new[fresh]] < persons[old])
        row = new[fresh] if comes else np.int64(row_of[old])
        merged[at] = row_persons[row] if comes else persons[old]
        before[at] = NOBODY if comes else old
        label[at] = neighbourhoods + piece[row] if row >= 0 else neighbourhood[old]
        current[at] = sensitive[row] if row >= 0 else NOBODY
        if comes or (row >= 0 and mine[row]):
            latest[at] = sensitive[row] if mine[row] else NOBODY
            for attribute in range(attributes):
                place[attribute, at] = row_qi[attribute, row]
        else:
            latest[at] = last[old]
            for attribute in range(attributes):
                place[attribute, at] = qi[attribute, old]
        fresh += comes
        old += not comes
    return merged, label, current, before, latest, place


def _origins(state: BpgState, entry: Int32, piece: Int32, known: Int64, used: Int64) -> tuple[Int32, Bool]:
    """The old neighbourhood of each new one, NOBODY without one; and whether that was divided or published."""
    parent = np.full(max(int(used.max(initial=-1)) + 1, state.neighbourhoods), NOBODY, dtype=np.int32)
    parent[: state.neighbourhoods] = np.arange(state.neighbourhoods)
    homes = state.neighbourhood[entry[known]]
    parent[state.neighbourhoods + piece[known]] = homes
    touched = np.zeros(state.neighbourhoods + 1, dtype=np.bool_)  # the last one is for those without
    touched[homes] = True
    return parent[used], touched[parent[used]]


@compiled
def _signatures(origin: Int32, now: Bool, offsets: Int64, releases: Int32, time: int) -> tuple[Int64, Int32]:
    """The signature of each neighbourhood: that of its origin, and this release if it is published."""
    starts = np.zeros(len(origin) + 1, dtype=np.int64)
    for i, old in enumerate(origin):
        length = offsets[old + 1] - offsets[old] if old >= 0 else 0
        starts[i + 1] = starts[i] + length + (1 if now[i] else 0)
    result = np.empty(starts[-1], dtype=np.int32)
    for i, old in enumerate(origin):
        if old >= 0:
            length = offsets[old + 1] - offsets[old]
            result[starts[i] : starts[i] + length] = releases[offsets[old] : offsets[old + 1]]
        if now[i]:
            result[starts[i + 1] - 1] = time
    return starts, result


@compiled
def _columns(
    neighbourhood: Int32,
    origin: Int32,
    now: Bool,
    divided: Bool,
    before: Int64,
    current: Int32,
    columns: Int32,
    values: Int32,
    value_starts: Int64,
) -> tuple[Int32, Int32]:
    """The different columns of each neighbourhood, as their number and as values person by person."""
    past = np.zeros(len(origin), dtype=np.int32)
    starts, pairs = np.zeros(len(origin) + 1, dtype=np.int64), np.zeros(len(origin) + 1, dtype=np.int64)
    for i, old in enumerate(origin):
        past[i] = columns[old] if old >= 0 else 0
        most = past[i] + (1 if now[i] else 0)
        starts[i + 1] = starts[i] + most
        # What was neither divided nor published has the columns that it had.
        pairs[i + 1] = pairs[i] + (most * (most - 1) // 2 if divided[i] else 0)
    differ = _differing(neighbourhood, starts, pairs, past, before, current, values, value_starts)
    kept, count = _different(starts, pairs, differ)
    total = np.int64(0)
    for i, people in enumerate(np.bincount(neighbourhood, minlength=len(origin))):
        total += people * count[i]
    result, at = np.empty(total, dtype=np.int32), 0
    for person, i in enumerate(neighbourhood):
        first = value_starts[before[person]] if before[person] >= 0 else 0
        for place in range(starts[i], starts[i] + count[i]):
            column = kept[place]
            result[at] = values[first + column] if column < past[i] else current[person]
            at += 1
    return count, result


@compiled
def _differing(
    neighbourhood: Int32,
    starts: Int64,
    pairs: Int64,
    past: Int32,
    before: Int64,
    current: Int32,
    values: Int32,
    value_starts: Int64,
) -> Bool:
    """For each neighbourhood and each two of its columns whether they differ for anybody, in the order of people.

    That order runs along memory, which the order of neighbourhoods would not.
    """
    differ = np.zeros(pairs[-1], dtype=np.bool_)
    alone = pairs[1:] == pairs[:-1]  # nothing to compare
    for person, i in enumerate(neighbourhood):
        if alone[i]:
            continue
        first, at = value_starts[before[person]] if before[person] >= 0 else 0, pairs[i]
        for one in range(1, starts[i + 1] - starts[i]):
            here = values[first + one] if one < past[i] else current[person]
            for other in range(one):
                differ[at] |= here != values[first + other]  # the one that is not past is the last
                at += 1
    return differ


@compiled
def _different(starts: Int64, pairs: Int64, differ: Bool) -> tuple[Int32, Int32]:
    """The columns of each neighbourhood that differ from all before them, from its start on; and how many there are."""
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
