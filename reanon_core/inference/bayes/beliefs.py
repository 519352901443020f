"""The adversary's beliefs about every person ever published: a distribution over the states of an automaton.

Revision advances the states of every person by the values that a release leaves possible.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.bayes.transition_counts import renumber_windows
from reanon_core.model.arrays import Bool, Float64, Int32, Int64, frozen
from reanon_core.model.background import START, Automaton

STATES_PER_PERSON = 24
"""How many states a person usually needs at most; room for so many is reserved at once."""
Mode = Literal["product", "filter"]


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


@dataclass(frozen=True, eq=False)
class Beliefs:
    """For every person ever published, the states that their past may have led to, with their probabilities.

    Paper: [RPB12] Algorithm 3. The paper sums over all sequences of past values; sequences that lead to one state are
    one term here, which gives the same sums.
    """

    persons: Int64  # [p] ascending
    offsets: Int64  # [p + 1] where the states of each person begin
    states: Int32  # [e]
    weights: Float64  # [e] sum up to 1 for each person

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (
            ("persons", np.int64),
            ("offsets", np.int64),
            ("states", np.int32),
            ("weights", np.float64),
        ):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @staticmethod
    def empty() -> "Beliefs":
        """The beliefs before the first release."""
        return Beliefs(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float64))

    def without(self, person: int) -> "Beliefs":
        """The beliefs about everyone else."""
        kept = self.persons != person
        lengths = np.diff(self.offsets)
        entries = np.repeat(kept, lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths[kept])])
        return Beliefs(self.persons[kept], offsets, self.states[entries], self.weights[entries])

    def _entries(self) -> StateEntries:
        return StateEntries(self.persons, self.offsets, self.states, self.weights)

    def renumber(self, values: int, more: int, memory: int) -> "Beliefs":
        """The same beliefs after the list of values has grown, where states are windows of values."""
        if values == more:
            return self
        return Beliefs(self.persons, self.offsets, renumber_windows(self.states, values, more, memory), self.weights)

    def expected(self, persons: Int64, row_class: Int32, automaton: Automaton) -> Float64:
        """RBKsv: what is expected of each of these people [n, values], who are ascending.

        Paper: [RPB12] Section 5.3. People who were never published have the prior, BKsv.
        """
        return _expected(persons, row_class, self._entries(), emissions_of(automaton))

    def revise(self, observation: Observation, automaton: Automaton, mode: Mode) -> "Beliefs":
        """The beliefs after a release. People who are not in it keep their states.

        Paper: [RPB12] Algorithm 3. `product` treats the values of different releases as independent given the
        posterior of each, as the paper does. `filter` does not (departure D4): sequences that the automaton rules out
        get no weight.
        """
        routes, emissions = routes_of(automaton.following), emissions_of(automaton)
        return Beliefs(
            *revise_entries(self._entries(), UNOBSERVED._entries(), observation, routes, emissions, mode == "filter")
        )


UNOBSERVED = Beliefs(np.zeros(1, np.int64), np.arange(2), np.full(1, START, np.int32), np.ones(1))
"""A person of whom nothing was observed is in the start state with certainty."""


@compiled
def _expected(persons: Int64, row_class: Int32, entries: StateEntries, emissions: Emissions) -> Float64:
    """Both lists of people ascend, so that one pass along them finds everyone."""
    known, offsets, states, weights = entries
    prior, emission, uses_prior = emissions
    width = prior.shape[1]
    rows = np.zeros((len(persons), width))
    at = 0
    for row in range(len(persons)):
        while at < len(known) and known[at] < persons[row]:
            at += 1
        own = row_class[row]
        if at == len(known) or known[at] != persons[row]:
            rows[row] = prior[own]
            continue
        kind = min(own, len(emission) - 1)
        target = rows[row]
        for entry in range(offsets[at], offsets[at + 1]):
            source = prior[own] if uses_prior[kind, states[entry]] else emission[kind, states[entry]]
            weight = weights[entry]
            for value in range(width):
                target[value] += weight * source[value]
    return rows
