"""The neighbourhoods after a release: each published piece leaves its old one and becomes one of its own."""

import numpy as np

from reanon_core.algorithms.bpg.drawing import Drawn
from reanon_core.algorithms.bpg.state import BpgState
from reanon_core.compiled import compiled
from reanon_core.kernels.counting import counting_order, starts_of
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
    neighbourhood = number[label].astype(np.int32)
    origin = np.full(len(used), NOBODY, dtype=np.int32)  # the old neighbourhood of each new one
    old = before >= 0
    origin[neighbourhood[old]] = state.neighbourhood[before[old]]
    now = used >= state.neighbourhoods
    offsets, releases = _signatures(origin, now, state.offsets, state.releases, state.time + 1)
    columns, values = _columns(
        neighbourhood, origin, now, before, current, state.columns, state.values, state.value_starts()
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
    before: Int64,
    current: Int32,
    columns: Int32,
    values: Int32,
    value_starts: Int64,
) -> tuple[Int32, Int32]:
    """The different columns of each neighbourhood, as their number and as values person by person."""
    members, starts = counting_order(neighbourhood, len(origin)), starts_of(neighbourhood, len(origin))
    tables_start = np.zeros(len(origin) + 1, dtype=np.int64)
    for i, old in enumerate(origin):
        most = (columns[old] if old >= 0 else 0) + (1 if now[i] else 0)
        tables_start[i + 1] = tables_start[i] + most
    kept = np.empty(tables_start[-1], dtype=np.int32)
    count = np.zeros(len(origin), dtype=np.int32)
    for i, old in enumerate(origin):
        past = columns[old] if old >= 0 else 0
        own = members[starts[i] : starts[i + 1]]
        for column in range(past + (1 if now[i] else 0)):
            column_or_now = column if column < past else NOBODY
            new = True
            for earlier in kept[tables_start[i] : tables_start[i] + count[i]]:
                if _same(own, earlier, column_or_now, before, current, values, value_starts):
                    new = False
                    break
            if new:
                kept[tables_start[i] + count[i]] = column_or_now
                count[i] += 1
    total = 0
    for own_neighbourhood in neighbourhood:
        total += count[own_neighbourhood]
    result = np.empty(total, dtype=np.int32)
    at = 0
    for person, i in enumerate(neighbourhood):
        for place in range(tables_start[i], tables_start[i] + count[i]):
            result[at] = _value(person, kept[place], before, current, values, value_starts)
            at += 1
    return count, result


@compiled
def _same(own: Int32, one: int, other: int, before: Int64, current: Int32, values: Int32, value_starts: Int64) -> bool:
    """Whether two columns show the same value for each member."""
    for person in own:
        here = _value(person, one, before, current, values, value_starts)
        if here != _value(person, other, before, current, values, value_starts):
            return False
    return True


@compiled
def _value(person: int, column: int, before: Int64, current: Int32, values: Int32, value_starts: Int64) -> int:
    """What a column shows of a person; column -1 is this release."""
    return int(current[person] if column == NOBODY else values[value_starts[before[person]] + column])
