"""What is believed of everybody ever published: a distribution over the states of an automaton, release by release."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.bayes.revision import NOWHERE, WHOLE, revised_entries, shared_routes, states_without_row
from reanon_core.inference.bayes.transition_counts import renumbered
from reanon_core.model.arrays import Bool, Float64, Int32, Int64, frozen
from reanon_core.model.background import Automaton

Mode = Literal["product", "filter"]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """For everybody ever published, the states that their past may have led to, with their probabilities.

    Paper: [RPB12] Algorithm 3. The paper sums over all sequences of past values; those that lead to one state are
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
    def nobody() -> "Beliefs":
        """Nothing was published yet."""
        return Beliefs(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float64))

    def renumbered(self, values: int, more: int, memory: int) -> "Beliefs":
        """The same after the list of values has grown, where states are windows of values."""
        if values == more:
            return self
        return Beliefs(self.persons, self.offsets, renumbered(self.states, values, more, memory), self.weights)

    def expected(self, persons: Int64, row_class: Int32, automaton: Automaton) -> Float64:
        """What is expected of each of these people [n, values], who are ascending.

        Paper: [RPB12] Section 5.3, RBKsv; BKsv for those who were never published.
        """
        return _expected(
            persons,
            row_class,
            self.persons,
            self.offsets,
            self.states,
            self.weights,
            automaton.prior,
            automaton.emission,
            states_without_row(automaton.emission),
        )

    def revised(
        self,
        persons: Int64,
        row_class: Int32,
        expected: Float64,
        posterior: Float64,
        automaton: Automaton,
        mode: Mode,
    ) -> "Beliefs":
        """The beliefs after these people, ascending, were published and this is known of them.

        Paper: [RPB12] Algorithm 3. `product` takes the values of different releases for independent given what is
        known of each, as the paper does. `filter` does not (departure D4): sequences that the automaton rules out get
        no weight.
        Whoever is not published keeps their state.
        """
        return Beliefs(
            *revised_entries(
                persons,
                row_class,
                expected,
                posterior,
                self.persons,
                self.offsets,
                self.states,
                self.weights,
                NOWHERE,
                WHOLE,
                automaton.following,
                *shared_routes(automaton.following),
                automaton.prior,
                automaton.emission,
                states_without_row(automaton.emission),
                mode == "filter",
            )
        )


@compiled
def _expected(
    persons: Int64,
    row_class: Int32,
    known: Int64,
    offsets: Int64,
    states: Int32,
    weights: Float64,
    prior: Float64,
    emission: Float64,
    without: Bool,
) -> Float64:
    """Both lists of people ascend, so that one walk along them finds everyone."""
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
            source = prior[own] if without[kind, states[entry]] else emission[kind, states[entry]]
            weight = weights[entry]
            for value in range(width):
                target[value] += weight * source[value]
    return rows
