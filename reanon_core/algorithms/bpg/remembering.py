"""The neighbourhoods after a release: each published piece leaves its old one and becomes one of its own."""

import numpy as np

from reanon_core.algorithms.bpg.drawing import Drawn
from reanon_core.algorithms.bpg.state import BpgState
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.snapshot import TABLE

NOBODY = -1


def remembered(state: BpgState, drawn: Drawn, piece: Int32, extent: Int64, met: int) -> BpgState:
    """The state after these pieces are published."""
    snapshot, entry = drawn.snapshot, drawn.entry
    shown = np.flatnonzero(piece >= 0)
    known, new = shown[entry[shown] >= 0], shown[entry[shown] < 0]
    label = state.neighbourhood.copy()
    current = np.full(len(label), NOBODY, dtype=np.int32)
    label[entry[known]] = state.neighbourhoods + piece[known]
    current[entry[known]] = snapshot.sensitive[known]

    order = _merged(state.persons, snapshot.persons[new])
    before = np.where(order < len(label), order, NOBODY)  # the place in the old state
    label = np.concatenate([label, state.neighbourhoods + piece[new]])[order]
    current = np.concatenate([current, snapshot.sensitive[new]])[order]

    used = np.flatnonzero(np.bincount(label, minlength=1))
    number = np.zeros(int(used.max(initial=-1)) + 1, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    neighbourhood = number[label].astype(np.int32, copy=False)
    origin, divided = _origins(state, entry, piece, known, used)  # the old neighbourhood of each new one
    now = used >= state.neighbourhoods
    offsets, releases = _signatures(origin, now, state.offsets, state.releases, state.time + 1)
    columns, values = _columns(
        neighbourhood, origin, now, divided, before, current, state.columns, state.values, state.value_starts()
    )
    last, qi = _latest(state, drawn, known)
    return BpgState(
        state.time + 1,
        np.concatenate([state.persons, snapshot.persons[new]])[order],
        neighbourhood,
        columns,
        values,
        offsets,
        releases,
        extent,
        np.concatenate([last, snapshot.sensitive[new]])[order],
        np.concatenate([qi, snapshot.qi[:, new]], axis=1)[:, order],
        met,
    )


def _origins(state: BpgState, entry: Int32, piece: Int32, known: Int64, used: Int64) -> tuple[Int32, Bool]:
    """The old neighbourhood of each new one, NOBODY without one; and whether that was divided or published."""
    parent = np.full(max(int(used.max(initial=-1)) + 1, state.neighbourhoods), NOBODY, dtype=np.int32)
    parent[: state.neighbourhoods] = np.arange(state.neighbourhoods)
    homes = state.neighbourhood[entry[known]]
    parent[state.neighbourhoods + piece[known]] = homes
    touched = np.zeros(state.neighbourhoods + 1, dtype=np.bool_)  # the last one is for those without
    touched[homes] = True
    return parent[used], touched[parent[used]]


def _merged(one: Int64, other: Int64) -> Int64:
    """The order that makes two ascending lists, one after the other, one ascending list."""
    order = np.empty(len(one) + len(other), dtype=np.int64)
    old = np.ones(len(order), dtype=np.bool_)
    place = one.searchsorted(other) + np.arange(len(other))
    old[place] = False
    order[place] = np.arange(len(one), len(order))
    order[old] = np.arange(len(one))
    return order


def _latest(state: BpgState, drawn: Drawn, known: Int64) -> tuple[Int32, Int32]:
    """What was published last of everybody in the state, in its order; what is invented is not theirs."""
    last, qi = state.last.copy(), state.qi.copy()
    if not len(qi):
        qi = np.empty((len(drawn.snapshot.qi), 0), dtype=np.int32)
    if drawn.snapshot.origin is not None:
        known = known[drawn.snapshot.origin[known] == TABLE]
    last[drawn.entry[known]] = drawn.snapshot.sensitive[known]
    qi[:, drawn.entry[known]] = drawn.snapshot.qi[:, known]
    return last, qi


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
    total = 0
    for i in neighbourhood:
        total += count[i]
    result, at = np.empty(total, dtype=np.int32), 0
    for person, i in enumerate(neighbourhood):
        for place in range(starts[i], starts[i] + count[i]):
            result[at] = _value(person, kept[place], past[i], before, current, values, value_starts)
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
    for person, i in enumerate(neighbourhood):
        if pairs[i + 1] > pairs[i]:
            at = pairs[i]
            for one in range(1, starts[i + 1] - starts[i]):
                here = _value(person, one, past[i], before, current, values, value_starts)
                for other in range(one):
                    if here != _value(person, other, past[i], before, current, values, value_starts):
                        differ[at] = True
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


@compiled
def _value(
    person: int, column: int, past: int, before: Int64, current: Int32, values: Int32, value_starts: Int64
) -> int:
    """What a column shows of a person; the one after the past ones is this release."""
    return int(current[person] if column >= past else values[value_starts[before[person]] + column])
