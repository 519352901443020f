"""What is believed of everybody ever published: a distribution over the states of an automaton, release by release."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.sequences import renumbered
from reanon_core.model.arrays import Bool, Float64, Int32, Int64, frozen
from reanon_core.model.background import START, Automaton

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
            *_revised(
                persons,
                row_class,
                expected,
                posterior,
                self.persons,
                self.offsets,
                self.states,
                self.weights,
                automaton.following,
                automaton.prior,
                automaton.emission,
                mode == "filter",
            )
        )


@compiled
def _without_row(emission: Float64) -> Bool:
    """Which states [classes, states] have no distribution of their own, so that the prior stands for it."""
    classes, states, values = emission.shape
    without = np.ones((classes, states), dtype=np.bool_)
    for kind in range(classes):
        for state in range(states):
            for value in range(values):
                if state != START and emission[kind, state, value] > 0:
                    without[kind, state] = False
                    break
    return without


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
) -> Float64:
    """Both lists of people ascend, so that one walk along them finds everyone."""
    width = prior.shape[1]
    rows = np.zeros((len(persons), width))
    without = _without_row(emission)
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
def _grown(
    states: Int32,
    weights: Float64,
    posterior: Float64,
    expected: Float64,
    following: Int32,
    prior: Float64,
    emission: Float64,
    without: Bool,
    coherent: bool,  # noqa: FBT001
    mass: Float64,
    touched: Int32,
) -> int:
    """Lead every state of one person on by every value that is possible now; the number of states that are reached.

    The mass of each is left in `mass`, and which they are in `touched`.
    """
    shown = np.flatnonzero(posterior > 0)
    count = 0
    for entry in range(len(states)):
        state, weight = states[entry], weights[entry]
        source = prior if without[state] else emission[state]
        for value in shown:
            share = weight * posterior[value]
            if coherent and expected[value] > 0:
                share *= source[value] / expected[value]
            if share > 0:
                target = following[state, value]
                if mass[target] == 0:
                    touched[count] = target
                    count += 1
                mass[target] += share
    return count


@compiled
def _revised(
    persons: Int64,
    row_class: Int32,
    expected: Float64,
    posterior: Float64,
    known: Int64,
    offsets: Int64,
    states: Int32,
    weights: Float64,
    following: Int32,
    prior: Float64,
    emission: Float64,
    coherent: bool,  # noqa: FBT001
) -> tuple[Int64, Int64, Int32, Float64]:
    """Merge two ascending lists of people: those published now are revised, all others keep what they had."""
    total = _united(known, persons)
    who, ends = np.empty(total, np.int64), np.zeros(total + 1, np.int64)
    where, how = np.empty(len(states) + 64, np.int32), np.empty(len(states) + 64, np.float64)
    mass, touched = np.zeros(len(following)), np.empty(len(following), np.int32)
    without = _without_row(emission)
    nowhere, whole = np.full(1, START, np.int32), np.ones(1)
    filled, at, row = 0, 0, 0
    for out in range(total):
        fresh = row < len(persons) and (at == len(known) or persons[row] <= known[at])
        old = at < len(known) and (row == len(persons) or known[at] <= persons[row])
        who[out] = persons[row] if fresh else known[at]
        mine, its = nowhere, whole
        if old:
            mine = states[offsets[at] : offsets[at + 1]].copy()
            its = weights[offsets[at] : offsets[at + 1]].copy()
        count = len(mine)
        if fresh:
            own, kind = row_class[row], min(row_class[row], len(emission) - 1)
            count = _grown(
                mine, its, posterior[row], expected[row], following, prior[own], emission[kind], without[kind],
                coherent, mass, touched,
            )  # fmt: skip
        while filled + count > len(where):
            where = np.concatenate((where, np.empty(len(where), np.int32)))
            how = np.concatenate((how, np.empty(len(how), np.float64)))
        for i in range(count):
            state = touched[i] if fresh else mine[i]
            where[filled + i] = state
            how[filled + i] = mass[state] if fresh else its[i]
            if fresh:
                mass[state] = 0
        filled += count
        ends[out + 1] = filled
        row += 1 if fresh else 0
        at += 1 if old else 0
    return who, ends, where[:filled].copy(), how[:filled].copy()
