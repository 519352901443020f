"""Leading everybody's states on by the values that a release leaves possible: the inner loop of revision."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Float64, Int32, Int64
from reanon_core.model.background import START

NOWHERE = np.full(1, START, dtype=np.int32)
WHOLE = np.ones(1)
"""Somebody of whom nothing was observed is at the start, with certainty."""
ROOM = 24
for _array in (NOWHERE, WHOLE):
    _array.flags.writeable = False  # as all arrays of beliefs are, so that loops are compiled once


def states_without_row(emission: Float64) -> Bool:
    """Which states [classes, states] have no distribution of their own, so that the prior stands for it."""
    without: Bool = ~np.any(emission > 0, axis=2)
    without[:, START] = True
    return without


def shared_routes(following: Int32) -> tuple[Int32, Bool, Int32]:
    """Where each value leads from most states, and which states it leads elsewhere from.

    Gives the usual target of each value [values], whether it is unusual [patterns, values], and the pattern of each
    state. States of one pattern are led on together by the values that are usual for them.
    """
    states, values = following.shape
    usual = np.array([np.bincount(column, minlength=states).argmax() for column in following.T], dtype=np.int32)
    unusual = following != usual if values else np.zeros((states, 0), dtype=np.bool_)
    patterns, pattern = np.unique(unusual, axis=0, return_inverse=True)
    return usual, patterns, pattern.reshape(-1).astype(np.int32)


@compiled
def _united(known: Int64, persons: Int64) -> int:
    """How many people two ascending lists hold together."""
    both, at = 0, 0
    for row in range(len(persons)):
        while at < len(known) and known[at] < persons[row]:
            at += 1
        both += 1 if at < len(known) and known[at] == persons[row] else 0
    return len(known) + len(persons) - both


@compiled
def _led_on(
    states: Int32,
    weights: Float64,
    first: int,
    last: int,
    posterior: Float64,
    following: Int32,
    usual: Int32,
    patterns: Bool,
    pattern: Int32,
    held: Float64,
    mass: Float64,
    touched: Int32,
) -> int:
    """Lead every state of one person on by every value that is possible now; the number of states that are reached.

    The mass of each is left in `mass`, and which they are in `touched`. `held` is scratch for the patterns.
    """
    count = 0
    held[:] = 0
    for entry in range(first, last):
        state = states[entry]
        own = pattern[state]
        held[own] += weights[entry]
        for value in range(len(posterior)):
            if patterns[own, value] and posterior[value] > 0:
                target = following[state, value]
                if mass[target] == 0:
                    touched[count] = target
                    count += 1
                mass[target] += weights[entry] * posterior[value]
    for value in range(len(posterior)):
        if posterior[value] > 0:
            together = 0.0
            for own in range(len(held)):
                together += 0.0 if patterns[own, value] else held[own]
            if together > 0:
                target = usual[value]
                if mass[target] == 0:
                    touched[count] = target
                    count += 1
                mass[target] += together * posterior[value]
    return count


@compiled
def _led_coherently(
    states: Int32,
    weights: Float64,
    first: int,
    last: int,
    posterior: Float64,
    expected: Float64,
    following: Int32,
    prior: Float64,
    emission: Float64,
    without: Bool,
    mass: Float64,
    touched: Int32,
) -> int:
    """The same, where each step has the weight that the knowledge gives it."""
    count = 0
    for entry in range(first, last):
        state, weight = states[entry], weights[entry]
        source = prior if without[state] else emission[state]
        for value in range(len(posterior)):
            share = weight * posterior[value]
            if expected[value] > 0:
                share *= source[value] / expected[value]
            if share > 0:
                target = following[state, value]
                if mass[target] == 0:
                    touched[count] = target
                    count += 1
                mass[target] += share
    return count


@compiled
def revised_entries(
    persons: Int64,
    row_class: Int32,
    expected: Float64,
    posterior: Float64,
    known: Int64,
    offsets: Int64,
    states: Int32,
    weights: Float64,
    nowhere: Int32,
    whole: Float64,
    following: Int32,
    usual: Int32,
    patterns: Bool,
    pattern: Int32,
    prior: Float64,
    emission: Float64,
    without: Bool,
    coherent: bool,  # noqa: FBT001
) -> tuple[Int64, Int64, Int32, Float64]:
    """Merge two ascending lists of people: those published now are led on, all others keep what they had."""
    total = _united(known, persons)
    who, ends = np.empty(total, np.int64), np.zeros(total + 1, np.int64)
    # Memory that is never written costs nothing, so there is room for a person's states in most automata at once.
    room = len(states) + ROOM * len(persons) + len(following)
    where, how = np.empty(room, np.int32), np.empty(room, np.float64)
    mass, touched = np.zeros(len(following)), np.empty(len(following), np.int32)
    held = np.zeros(len(patterns))
    filled, at, row = 0, 0, 0
    for out in range(total):
        fresh = row < len(persons) and (at == len(known) or persons[row] <= known[at])
        old = at < len(known) and (row == len(persons) or known[at] <= persons[row])
        who[out] = persons[row] if fresh else known[at]
        mine, its = (states, weights) if old else (nowhere, whole)
        first, last = (offsets[at], offsets[at + 1]) if old else (0, 1)
        count = last - first
        if fresh and coherent:
            own, kind = row_class[row], min(row_class[row], len(emission) - 1)
            count = _led_coherently(
                mine, its, first, last, posterior[row], expected[row], following, prior[own], emission[kind],
                without[kind], mass, touched,
            )  # fmt: skip
        elif fresh:
            count = _led_on(
                mine, its, first, last, posterior[row], following, usual, patterns, pattern, held, mass, touched
            )
        if filled + count > room:
            room = 2 * (filled + count)
            wider, longer = np.empty(room, np.int32), np.empty(room, np.float64)
            wider[:filled], longer[:filled] = where[:filled], how[:filled]
            where, how = wider, longer
        for i in range(count):
            if fresh:
                where[filled + i], how[filled + i] = touched[i], mass[touched[i]]
                mass[touched[i]] = 0
            else:
                where[filled + i], how[filled + i] = states[first + i], weights[first + i]
        filled += count
        ends[out + 1] = filled
        row += 1 if fresh else 0
        at += 1 if old else 0
    return who, ends, where[:filled], how[:filled]
