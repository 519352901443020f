"""The inner loop of revision: advance the states of every person by the values that a release leaves possible."""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Bool, Float64, Int32, Int64
from reanon_core.model.background import START, Automaton

STATES_PER_PERSON = 24
"""How many states a person usually needs at most; room for so many is reserved at once."""


class StateEntries(NamedTuple):
    """For each person the states that their past may have led to, with their probabilities: a sparse matrix."""

    persons: Int64  # [p] ascending
    offsets: Int64  # [p + 1] where the entries of each person begin
    states: Int32  # [e]
    weights: Float64  # [e] sum up to 1 for each person


class Observation(NamedTuple):
    """The people of a release, with the adversary's knowledge of them before (RBKsv) and after it (PKsv)."""

    persons: Int64  # [n] ascending
    row_class: Int32  # [n] the respondent class
    expected: Float64  # [n, values]
    posterior: Float64  # [n, values]


class Emissions(NamedTuple):
    """What is expected in each state; the prior where a state has no row of its own."""

    prior: Float64  # [classes, values]
    emission: Float64  # [classes or 1, states, values]
    uses_prior: Bool  # [classes or 1, states]


class Routes(NamedTuple):
    """Where values lead from each state, with what most states have in common.

    States of one pattern are advanced together by the values that lead to their usual target.
    """

    following: Int32  # [states, values]
    usual: Int32  # [values] the target of each value from most states
    unusual: Bool  # [patterns, values] whether a value leads elsewhere
    pattern: Int32  # [states]


class Scratch(NamedTuple):
    """Space for the states of one person; `mass` is all zeros between people."""

    mass: Float64  # [states]
    reached: Int32  # [states] the states with some mass, in the order in which they were reached
    pattern_mass: Float64  # [patterns]


def emissions_of(automaton: Automaton) -> Emissions:
    """The emissions of an automaton."""
    uses_prior: Bool = ~np.any(automaton.emission > 0, axis=2)
    uses_prior[:, START] = True
    return Emissions(automaton.prior, automaton.emission, uses_prior)


def routes_of(following: Int32) -> Routes:
    """The routes of an automaton, and which of its states share them."""
    states, values = following.shape
    usual = np.array([np.bincount(column, minlength=states).argmax() for column in following.T], dtype=np.int32)
    differs = following != usual if values else np.zeros((states, 0), dtype=np.bool_)
    unusual, pattern = np.unique(differs, axis=0, return_inverse=True)
    return Routes(following, usual, unusual, pattern.reshape(-1).astype(np.int32))


@compiled
def _count_union(known: Int64, persons: Int64) -> int:
    """How many people two ascending lists hold together."""
    both, at = 0, 0
    for row in range(len(persons)):
        while at < len(known) and known[at] < persons[row]:
            at += 1
        both += 1 if at < len(known) and known[at] == persons[row] else 0
    return len(known) + len(persons) - both


@compiled
def _advance_states(states: Int32, weights: Float64, posterior: Float64, routes: Routes, scratch: Scratch) -> int:
    """Advance the states of one person by every possible value; returns how many states are reached.

    The values of different releases count as independent.
    """
    following, usual, unusual, pattern = routes
    mass, reached, pattern_mass = scratch
    count = 0
    pattern_mass[:] = 0
    for entry in range(len(states)):
        state = states[entry]
        own = pattern[state]
        pattern_mass[own] += weights[entry]
        for value in range(len(posterior)):
            if unusual[own, value] and posterior[value] > 0:
                target = following[state, value]
                if mass[target] == 0:
                    reached[count] = target
                    count += 1
                mass[target] += weights[entry] * posterior[value]
    for value in range(len(posterior)):
        if posterior[value] > 0:
            together = 0.0
            for own in range(len(pattern_mass)):
                together += 0.0 if unusual[own, value] else pattern_mass[own]
            if together > 0:
                target = usual[value]
                if mass[target] == 0:
                    reached[count] = target
                    count += 1
                mass[target] += together * posterior[value]
    return count


@compiled
def _filter_states(
    states: Int32,
    weights: Float64,
    observation: Observation,
    row: int,
    following: Int32,
    emissions: Emissions,
    scratch: Scratch,
) -> int:
    """The same, where each step also has the probability that the knowledge gives it (departure D4)."""
    own = observation.row_class[row]
    kind = min(own, len(emissions.emission) - 1)
    prior, emission, uses_prior = emissions.prior[own], emissions.emission[kind], emissions.uses_prior[kind]
    posterior, expected = observation.posterior[row], observation.expected[row]
    mass, reached = scratch.mass, scratch.reached
    count = 0
    for entry in range(len(states)):
        state, weight = states[entry], weights[entry]
        chance = prior if uses_prior[state] else emission[state]
        for value in range(len(posterior)):
            share = weight * posterior[value]
            if expected[value] > 0:
                share *= chance[value] / expected[value]
            if share > 0:
                target = following[state, value]
                if mass[target] == 0:
                    reached[count] = target
                    count += 1
                mass[target] += share
    return count


@compiled
def revise_entries(
    entries: StateEntries,
    unobserved: StateEntries,
    observation: Observation,
    routes: Routes,
    emissions: Emissions,
    is_filter: bool,  # noqa: FBT001  compiled functions take no keywords
) -> tuple[Int64, Int64, Int32, Float64]:
    """Merge two ascending lists of people: those in the release are advanced, all others keep their entries.

    Paper: [RPB12] Algorithm 3.
    """
    known, offsets, persons = entries.persons, entries.offsets, observation.persons
    total = _count_union(known, persons)
    who, ends = np.empty(total, np.int64), np.zeros(total + 1, np.int64)
    # Memory that is never written costs nothing, so there is room for a person's states in most automata at once.
    room = len(entries.states) + STATES_PER_PERSON * len(persons) + len(routes.following)
    states, weights = np.empty(room, np.int32), np.empty(room, np.float64)
    scratch = Scratch(
        np.zeros(len(routes.following)),
        np.empty(len(routes.following), np.int32),
        np.zeros(len(routes.unusual)),
    )
    mass, reached = scratch.mass, scratch.reached
    filled, at, row = 0, 0, 0
    for out in range(total):
        is_published = row < len(persons) and (at == len(known) or persons[row] <= known[at])
        is_known = at < len(known) and (row == len(persons) or known[at] <= persons[row])
        who[out] = persons[row] if is_published else known[at]
        old_states, old_weights = unobserved.states, unobserved.weights
        if is_known:
            own = slice(offsets[at], offsets[at + 1])
            old_states, old_weights = entries.states[own], entries.weights[own]
        if is_published and is_filter:
            count = _filter_states(old_states, old_weights, observation, row, routes.following, emissions, scratch)
        elif is_published:
            count = _advance_states(old_states, old_weights, observation.posterior[row], routes, scratch)
        else:
            count = len(old_states)
        if filled + count > room:
            room = 2 * (filled + count)
            more_states, more_weights = np.empty(room, np.int32), np.empty(room, np.float64)
            more_states[:filled], more_weights[:filled] = states[:filled], weights[:filled]
            states, weights = more_states, more_weights
        for i in range(count):
            if is_published:
                states[filled + i], weights[filled + i] = reached[i], mass[reached[i]]
                mass[reached[i]] = 0
            else:
                states[filled + i], weights[filled + i] = old_states[i], old_weights[i]
        filled += count
        ends[out + 1] = filled
        row += 1 if is_published else 0
        at += 1 if is_known else 0
    return who, ends, states[:filled], weights[:filled]
