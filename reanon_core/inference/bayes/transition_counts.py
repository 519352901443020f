"""Sequential knowledge that is mined from tables: how often each value follows each window of past values.

Without any table it is estimated from the releases alone, as an outsider would.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from reanon_core.model.arrays import Bool, Float64, Int32, Int64, frozen
from reanon_core.model.background import START, Automaton, Background
from reanon_core.model.errors import InvalidParameter, Problem, Unpublishable

LARGEST_TABLE = 1 << 24
"""The largest table of windows and values: 128 MiB."""
FAINT = 1e-12
ROUNDS = 30
CONVERGED = 1e-3
"""The estimate is done once no transition changes by more than this."""


@dataclass(frozen=True, eq=False)
class Windows:
    """The sequences of at most `memory` past values, numbered by length; the empty one is START.

    A full window drops its oldest value when a new one is added.
    """

    values: int
    memory: int
    first: Int64  # [memory + 2] the number of the first window of each length
    following: Int32  # [states, values] the window after each value
    shorter: Int32  # [states] the window without its oldest value; START for START

    @property
    def count(self) -> int:
        """The number of windows."""
        return len(self.following)


@lru_cache(maxsize=8)
def windows(values: int, memory: int) -> Windows:
    """All windows of at most `memory` values.

    Raises: Unpublishable if there are too many.
    """
    sizes = [values**length for length in range(memory + 1)]
    if sum(sizes) * values > LARGEST_TABLE:
        works = "a smaller knowledge.memory" if memory > 1 else "fewer sensitive values, such as groups of them,"
        raise Unpublishable(
            f"sequential knowledge of {memory} past values, with {values} sensitive values, needs a table of "
            f"{sum(sizes) * values:,} numbers; {works} would work"
        )
    first = np.cumsum([0, *sizes])
    following = np.empty((int(first[-1]), values), dtype=np.int32)
    shorter = np.zeros(len(following), dtype=np.int32)
    for length, size in enumerate(sizes):
        local = np.arange(size, dtype=np.int64)
        if length < memory:
            begin, kept = first[length + 1], local
        else:
            begin, kept = first[memory], local % (values ** (memory - 1))
        following[first[length] : first[length + 1]] = (begin + kept * values)[:, None] + np.arange(values)
        if length:
            shorter[first[length] : first[length + 1]] = first[length - 1] + local % (values ** (length - 1))
    for table in (following, shorter):
        table.flags.writeable = False
    return Windows(values, memory, first, following, shorter)


def renumber_windows(states: Int32, values: int, more: int, memory: int) -> Int32:
    """The numbers of the same windows after the list of values has grown from `values` to `more`."""
    first = np.cumsum([0, *(values**length for length in range(memory + 1))])
    after = np.cumsum([0, *(more**length for length in range(memory + 1))])
    length = np.searchsorted(first, states, side="right") - 1
    rest, number, place = states - first[length], after[length].copy(), np.ones(len(states), dtype=np.int64)
    for _ in range(memory):  # digit by digit, the latest value first
        number += np.where(rest > 0, rest % max(1, values), 0) * place
        rest, place = rest // max(1, values), place * more
    return number.astype(np.int32)


@dataclass(frozen=True, eq=False)
class TransitionCounts:
    """How often each value followed each window, and the latest window of each person.

    Paper: [RPB12] Algorithm 5, SPM-BKseq. Row START counts the values themselves, so that the row of a window without
    its latest value says how often the window occurred.
    """

    memory: int
    successors: Int64  # [states, values]
    firsts: Int64  # [classes, values] the first value of each person, counted by class
    persons: Int64  # [p] ascending
    window: Int32  # [p]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (
            ("successors", np.int64),
            ("firsts", np.int64),
            ("persons", np.int64),
            ("window", np.int32),
        ):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def values(self) -> int:
        """The number of sensitive values."""
        return int(self.successors.shape[1])

    def without(self, person: int) -> "TransitionCounts":
        """The same counts without the window of a person."""
        kept = self.persons != person
        return replace(self, persons=self.persons[kept], window=self.window[kept])

    @staticmethod
    def empty(classes: int, memory: int) -> "TransitionCounts":
        """The counts before the first table."""
        return TransitionCounts(
            memory,
            np.zeros((1, 0), np.int64),
            np.zeros((classes, 0), np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.int32),
        )

    def with_values(self, values: int) -> "TransitionCounts":
        """The same counts for a longer list of values."""
        if values == self.values:
            return self
        known = np.arange(len(self.successors), dtype=np.int32)
        successors = np.zeros((windows(values, self.memory).count, values), dtype=np.int64)
        at = renumber_windows(known, self.values, values, self.memory) if self.values else known[:0]
        successors[at, : self.values] = self.successors[: len(at)]
        firsts = np.pad(self.firsts, ((0, 0), (0, values - self.values)))
        window = renumber_windows(self.window, self.values, values, self.memory)
        return TransitionCounts(self.memory, successors, firsts, self.persons, window)

    def with_view(self, persons: Int64, sensitive: Int32, row_class: Int32) -> "TransitionCounts":
        """The counts after one more original table; people are ascending. Views without the person are skipped.

        Paper: [RPB12] Algorithm 5: at every view, every suffix of each person's history is counted.
        """
        table = windows(self.values, self.memory)
        at = self.persons.searchsorted(persons)
        known = at < len(self.persons)
        known[known] = self.persons[at[known]] == persons[known]
        before = np.full(len(persons), START, dtype=np.int32)
        before[known] = self.window[at[known]]
        successors = self.successors.copy()
        suffix, row = before, np.arange(len(persons))
        np.add.at(successors, (np.full(len(persons), START), sensitive), 1)
        for _ in range(self.memory):
            row = row[suffix[row] != START]
            np.add.at(successors, (suffix[row], sensitive[row]), 1)
            suffix = table.shorter[suffix]
        firsts = self.firsts.copy()
        np.add.at(firsts, (row_class[~known], sensitive[~known]), 1)
        window = self.window.copy()
        now = table.following[before, sensitive]
        window[at[known]] = now[known]
        return TransitionCounts(
            self.memory,
            successors,
            firsts,
            np.insert(self.persons, at[~known], persons[~known]),
            np.insert(window, at[~known], now[~known]),
        )

    def prior(self) -> Float64:
        """BKsv: how likely each value is for a new person of each class; a class without people has the overall shares.

        Ensures: rows sum up to 1, unless there was never anyone.
        """
        own, total = self.firsts.sum(axis=1, keepdims=True), max(1, int(self.firsts.sum()))
        prior: Float64 = np.where(own > 0, self.firsts / np.maximum(own, 1), self.firsts.sum(axis=0) / total)
        return prior

    def emission(self, *, normalised: bool) -> Float64:
        """BKseq: the share of each value among the successors of each window, [states, values].

        A window that was never followed falls back on the window without its oldest value, and finally has no row,
        which stands for the prior (departure D3). Not `normalised`, as in the paper, the shares are of all occurrences;
        the last of each person has no successor, so they sum up to less than 1 (departure D2).

        Paper: [RPB12] Algorithm 5.
        """
        table = windows(self.values, self.memory)
        total = self.successors.sum(axis=1)
        if not normalised:
            occurred = np.zeros(table.count, dtype=np.int64)
            occurred[table.following[: table.first[self.memory]]] = self.successors[: table.first[self.memory]]
            total = np.where(total > 0, occurred, 0)
        return _back_off(self.successors, total, table)


STEPS = 100
"""For how many steps the population is followed, to average over it."""


def truncate_memory(automaton: Automaton, memory: int) -> Automaton:
    """The same knowledge with a shorter memory: averaged over all pasts that end in the same values.

    Paper: [RPB12] Section 7.3, n-steps DK-BKseq. The average is over a population that equally many people of a class
    enter at every time. A window that never occurs falls back on the window without its oldest value.
    """
    table = windows(automaton.values, memory)
    kinds = max(len(automaton.emission), len(automaton.prior))
    prior = np.broadcast_to(automaton.prior, (kinds, automaton.values))
    chances = np.broadcast_to(automaton.emission, (kinds, *automaton.emission.shape[1:]))
    state, window, target = _reachable_pairs(automaton, prior, table)
    emission = np.zeros((kinds, table.count, automaton.values))
    for kind in range(kinds):
        followed = np.zeros((table.count, automaton.values))
        mass = np.zeros(len(state))
        mass[0] = 1.0
        for step in range(STEPS):
            chance = prior[kind] if step == 0 else chances[kind, state]
            flow = mass[:, None] * chance
            suffix = window
            for _ in range(memory):
                np.add.at(followed, suffix, flow)
                suffix = table.shorter[suffix]
            mass = np.zeros(len(state))
            np.add.at(mass, target, flow)
            if mass.sum() < FAINT:
                break
        emission[kind] = _back_off(followed, followed.sum(axis=1), table)
    return Automaton(prior, table.following, emission)


def _reachable_pairs(automaton: Automaton, prior: Float64, table: Windows) -> tuple[Int64, Int32, Int64]:
    """All pairs of a state and a window that can be reached, the start first, and the pair after each value."""
    possible: Bool = np.any(automaton.emission > 0, axis=0)
    possible[START] = (prior > 0).any(axis=0)
    number, listed, targets = {(START, START): 0}, [(START, START)], []
    for state, window in listed:  # the list grows meanwhile
        row = np.zeros(automaton.values, dtype=np.int64)
        for value in np.flatnonzero(possible[state]):
            pair = (int(automaton.following[state, value]), int(table.following[window, value]))
            if pair not in number:
                number[pair] = len(listed)
                listed.append(pair)
            row[value] = number[pair]
        targets.append(row)
    pairs = np.array(listed)
    return pairs[:, 0], pairs[:, 1].astype(np.int32), np.array(targets)


def _back_off(followed: Int64 | Float64, total: Int64 | Float64, table: Windows) -> Float64:
    """The shares of each window's successors; a window without any falls back on the one without its oldest value."""
    emission: Float64 = followed / np.where(total > 0, total, 1)[:, None]
    emission[START] = 0
    for length in range(2, table.memory + 1):
        rows = np.arange(table.first[length], table.first[length + 1])
        never = rows[total[rows] <= 0]
        emission[never] = emission[table.shorter[never]]
    return emission


def automaton_of(background: Background, counts: TransitionCounts | None, values: int) -> Automaton:
    """The automaton of this knowledge: as declared, and from the counts where nothing is declared.

    Requires: `counts` covers the values, where it is needed.

    Raises: InvalidParameter if the knowledge has more values than the schema.
    """
    prior, following, emission = background.prior, background.following, background.emission
    if counts is not None and prior is None:
        prior = counts.prior()
    if counts is not None and (following is None or emission is None):
        following = windows(values, counts.memory).following
        emission = counts.emission(normalised=background.normalised)[None]
    if prior is None or following is None or emission is None:
        raise ValueError("knowledge that is not declared needs counts")
    known = following.shape[1]
    if prior.shape[1] < known:
        prior = np.pad(prior, ((0, 0), (0, known - prior.shape[1])))
    elif prior.shape[1] > known:
        following = np.pad(following, ((0, 0), (0, prior.shape[1] - known)), constant_values=START)
        emission = np.pad(emission, ((0, 0), (0, 0), (0, prior.shape[1] - known)))
    if prior.shape[1] > values:
        rule = f"have no more than the {values} sensitive values of the schema"
        raise InvalidParameter(Problem("knowledge", rule, f"{prior.shape[1]} values", "declare the sensitive values"))
    return Automaton(prior, following, emission).with_values(values)


def needs_counting(background: Background) -> bool:
    """Whether some of this knowledge is counted in the original tables."""
    return background.prior is None or background.counts_sequences


@dataclass(frozen=True, eq=False)
class GroupFrequencies:
    """How frequent each value is in the group of each person of a release."""

    persons: Int64  # [n] ascending
    frequency: Float64  # [n, values] sums up to 1, or to 0 for a person whom no group can contain


def estimate_knowledge(releases: Sequence[GroupFrequencies], values: int) -> Background:
    """The prior and the one-step transitions under which the releases are most likely, by expectation maximisation.

    Expectation: the beliefs about a person at two consecutive releases count as fractions of transitions. Maximisation:
    these fractions are normalised. It starts from the frequencies of the groups.
    """
    prior = np.zeros(values)
    transition = np.zeros((values, values))
    for _ in range(ROUNDS):
        started, moved = np.zeros(values), np.zeros((values, values))
        known, belief = np.empty(0, np.int64), np.empty((0, values))
        for release in releases:
            at = known.searchsorted(release.persons)
            old = at < len(known)
            old[old] = known[at[old]] == release.persons[old]
            before = belief[at[old]]
            now = release.frequency.copy()
            if transition.any():
                expected = before @ transition
                now[old] = _normalise(now[old] * (expected + 1e-9))
                moved += transition * (before.T @ (now[old] / np.maximum(expected, 1e-300)))
            else:
                moved += before.T @ now[old]
            started += now[~old].sum(axis=0)
            belief[at[old]] = now[old]
            known, belief = (
                np.insert(known, at[~old], release.persons[~old]),
                np.insert(belief, at[~old], now[~old], axis=0),
            )
        prior, previous, transition = started / max(started.sum(), 1e-300), transition, _normalise(moved)
        if np.abs(transition - previous).max(initial=0) < CONVERGED:
            break
    following = windows(values, 1).following
    emission = np.zeros((1, len(following), values))
    emission[0, START + 1 :] = transition
    return Background(prior=prior[None], following=following, emission=emission, source="releases")


def _normalise(rows: Float64) -> Float64:
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1), 0)
