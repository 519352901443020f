"""The adversary's beliefs about every person ever published: a distribution over the states of an automaton."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.bayes.revision import (
    Emissions,
    Observation,
    StateEntries,
    emissions_of,
    revise_entries,
    routes_of,
)
from reanon_core.inference.bayes.transition_counts import renumber_windows
from reanon_core.model.arrays import Float64, Int32, Int64, frozen
from reanon_core.model.background import START, Automaton

Mode = Literal["product", "filter"]


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
