"""The judge's own account of the adversary's beliefs, from published rows, traces and declared knowledge.

It follows the paper's definitions with sparse matrices: Q has a row for each person and a column for each state that
the person's past may have led to. A window of past values is a number in base 2 ** 15 whose last digit is the latest
value, so that windows keep their numbers when values are added.

No person's row depends on another's, so Q is computed for some people at a time: it takes many times the memory of what
is remembered.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.checks.growing_list import GrowingList
from reanon_core.checks.posterior import GroupPosteriors
from reanon_core.checks.readable import hosting_groups
from reanon_core.checks.window_counts import WindowCounts
from reanon_core.model.arrays import Bool, Float64, Int32, Int64
from reanon_core.model.background import START, Background
from reanon_core.model.ledger import Entry
from reanon_core.protocols import Memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PEOPLE_AT_ONCE = 1 << 13
"""Of how many people Q is computed at a time."""


@dataclass(frozen=True, eq=False)
class StateExpectations:
    """What is expected in each of some states, by class; a state without a row of its own stands for the prior."""

    prior: Float64  # [classes, values]
    table: Float64  # [classes or 1, states, values] zero where there is no own row
    own: Bool  # [classes or 1, states]

    def of_classes(self, row_class: Int32) -> tuple[Float64, Bool]:
        """The table of each person's class [n or 1, states, values], and which states have rows of their own."""
        return (self.table, self.own) if len(self.table) == 1 else (self.table[row_class], self.own[row_class])


@dataclass(frozen=True, eq=False)
class PastBeliefs:
    """Every person ever published, the states they may be in, and the counts of the original tables."""

    persons: Int64  # [p] ascending
    entry: Int64  # [e] the person's row of each entry, ascending
    state: Int64  # [e]
    weight: Float64  # [e]
    counts: WindowCounts

    @staticmethod
    def restored(memory: Memory, background: Background) -> "PastBeliefs":
        """The beliefs that `memory` packs; an empty memory is the time before the first release."""
        if not memory:
            none = np.empty(0, np.int64)
            return PastBeliefs(none, none, none, np.empty(0, np.float64), WindowCounts.empty(background))
        arrays = {name: np.asarray(value) for name, value in memory.items()}
        return PastBeliefs(
            arrays["persons"], arrays["entry"], arrays["state"], arrays["weight"], WindowCounts.restored(arrays)
        )

    def packed(self) -> Memory:
        """The beliefs as named arrays."""
        own: Memory = {"persons": self.persons, "entry": self.entry, "state": self.state, "weight": self.weight}
        return {**own, **self.counts.packed()}

    def stretches(self, persons: Int64) -> Iterator[tuple[slice, "PastBeliefs"]]:
        """Some people at a time: which of these, who ascend, and the beliefs about everyone in the same stretch."""
        everyone = np.union1d(self.persons, persons)
        for first in range(0, len(everyone), PEOPLE_AT_ONCE):
            some = everyone[first : first + PEOPLE_AT_ONCE]
            here = slice(persons.searchsorted(some[0]), persons.searchsorted(some[-1], "right"))
            known = slice(self.persons.searchsorted(some[0]), self.persons.searchsorted(some[-1], "right"))
            yield here, self._of_rows(known)

    def _of_rows(self, rows: slice) -> "PastBeliefs":
        """The beliefs about people who follow each other."""
        own = slice(*self.entry.searchsorted([rows.start, rows.stop]))
        entry = self.entry[own] - rows.start
        return replace(self, persons=self.persons[rows], entry=entry, state=self.state[own], weight=self.weight[own])


def expected_values(entry: Entry, past: PastBeliefs, background: Background) -> tuple[Float64, PastBeliefs]:
    """RBKsv of the people in the release [n, values], and the past with this table counted.

    Paper: [RPB12] Section 5.3.
    """
    past = replace(past, counts=past.counts.with_table(entry.snapshot, background))
    persons, row_class = entry.trace.persons, _classes(entry, background)
    expected = np.empty((len(persons), past.counts.values))
    states = _occurring_states(persons, past) if _has_classes(background) else None
    for rows, some in past.stretches(persons):
        expected[rows] = _expected(persons[rows], row_class[rows], some, background, states)
    return expected, past


def _expected(
    persons: Int64, row_class: Int32, past: PastBeliefs, background: Background, states: Int64 | None
) -> Float64:
    """RBKsv of some people; with classes, the columns of Q are the states of everyone in the release.

    Otherwise the sums over states would be rounded differently for some people at a time than for all at once.
    """
    expectations, matrix, _ = _states_of(persons, past, background, states)
    tables, own = expectations.of_classes(row_class)
    prior = expectations.prior[row_class]
    if not _has_classes(background):
        mixed: Float64 = matrix @ tables[0] + (matrix @ ~own[0])[:, None] * prior
        return mixed
    dense = matrix.toarray()
    summed: Float64 = np.einsum("ns,nsv->nv", dense, tables) + (dense * ~own).sum(axis=1)[:, None] * prior
    return summed


def revise_beliefs(
    entry: Entry, past: PastBeliefs, background: Background, expected: Float64, posterior: str, mode: str
) -> PastBeliefs:
    """The beliefs after this release.

    Paper: [RPB12] Algorithm 3: every sequence of values is extended by each value, weighted by its posterior.
    """
    persons, row_class = entry.trace.persons, _classes(entry, background)
    shown = np.zeros((entry.release.boxes.count, expected.shape[1]))
    np.add.at(shown, (entry.release.group, entry.release.sensitive), 1)
    known = GroupPosteriors.of(posterior, expected, hosting_groups(entry), shown)
    room = len(past.entry) + expected.size
    entry_list, states = GrowingList(np.int64, room), GrowingList(np.int64, room)
    weights, people = GrowingList(np.float64, room), 0
    for rows, some in past.stretches(persons):
        extended = _extended(persons[rows], row_class[rows], some, background, expected[rows], known.rows(rows), mode)
        part = _with_rows(some, persons[rows], *extended)
        entry_list.extend(part.entry + people)
        states.extend(part.state)
        weights.extend(part.weight)
        people += len(part.persons)
    everyone = np.union1d(past.persons, persons)
    return PastBeliefs(everyone, entry_list.array(), states.array(), weights.array(), past.counts)


def _extended(
    persons: Int64,
    row_class: Int32,
    past: PastBeliefs,
    background: Background,
    expected: Float64,
    known: Float64,
    mode: str,
) -> tuple[Int64, Int64, Float64]:
    """The row, the state and the weight of each sequence of values after one more value."""
    expectations, matrix, states = _states_of(persons, past, background)
    tables, own = expectations.of_classes(row_class)
    if mode == "product" and background.following is None:
        # Windows that differ only in their oldest value will become one: dropping it first saves most of the work.
        coo = matrix.tocoo()
        matrix, states = _matrix(
            coo.row, WindowCounts.without_oldest(states, background.memory)[coo.col], coo.data, len(persons)
        )
    coo = matrix.tocoo()
    row, column, weight = coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data
    none = np.empty(0, np.int64)
    rows, targets, weights = [none], [none], [np.empty(0)]  # there may be no values yet
    for value in range(expected.shape[1]):
        share = known[row, value]
        if mode == "filter":
            table_row = row if _has_classes(background) else np.zeros_like(row)
            chance = np.where(
                own[table_row, column], tables[table_row, column, value], expectations.prior[row_class[row], value]
            )
            before = expected[row, value]
            share = np.where(before > 0, share * chance / np.where(before > 0, before, 1), share)
        used = np.flatnonzero(share * weight > 0)
        rows.append(row[used])
        targets.append(_step(states[column[used]], value, background))
        weights.append((share * weight)[used])
    return np.concatenate(rows), np.concatenate(targets), np.concatenate(weights)


def _with_rows(past: PastBeliefs, persons: Int64, row: Int64, state: Int64, weight: Float64) -> PastBeliefs:
    """The beliefs after these people have new entries; all others keep theirs."""
    everyone = np.union1d(past.persons, persons)
    stays = ~np.isin(past.persons[past.entry], persons)
    entry = np.concatenate(
        [everyone.searchsorted(past.persons[past.entry[stays]]), everyone.searchsorted(persons)[row]]
    )
    state = np.concatenate([past.state[stays], state])
    weight = np.concatenate([past.weight[stays], weight])
    merged = _matrix(entry, state, weight, len(everyone))
    coo = merged[0].tocoo()
    return PastBeliefs(everyone, coo.row.astype(np.int64), merged[1][coo.col], coo.data, past.counts)


def _states_of(
    persons: Int64, past: PastBeliefs, background: Background, states: Int64 | None = None
) -> tuple[StateExpectations, "csr_array", Int64]:
    """The expectations in each state that occurs, the matrix Q of these people, and the states of its columns."""
    here, mine = _remembered(persons, past)
    new = np.flatnonzero(~here)
    row = np.concatenate([persons.searchsorted(past.persons[past.entry[mine]]), new])
    state = np.concatenate([past.state[mine], np.full(len(new), START, dtype=np.int64)])
    weight = np.concatenate([past.weight[mine], np.ones(len(new))])
    matrix, states = _matrix(row, state, weight, len(persons), states)
    return _expectations(states, past.counts, background), matrix, states


def _remembered(persons: Int64, past: PastBeliefs) -> tuple[Bool, Int64]:
    """Which of these people were published before, and the entries about them."""
    at = past.persons.searchsorted(persons)
    here = at < len(past.persons)
    here[here] = past.persons[at[here]] == persons[here]
    published = np.zeros(len(past.persons), dtype=np.bool_)
    published[at[here]] = True
    return here, np.flatnonzero(published[past.entry])


def _occurring_states(persons: Int64, past: PastBeliefs) -> Int64:
    """The states in which these people may be."""
    states = np.empty(0, np.int64)
    for rows, some in past.stretches(persons):
        here, mine = _remembered(persons[rows], some)
        start = np.full(0 if here.all() else 1, START, dtype=np.int64)
        states = np.unique(np.concatenate([states, some.state[mine], start]))
    return states


def _matrix(
    row: Int64, state: Int64, weight: Float64, rows: int, states: Int64 | None = None
) -> tuple["csr_array", Int64]:
    """Q over the states that occur, or over given ones; entries of one person and state are added up."""
    from scipy.sparse import coo_array

    if states is None:
        states = np.unique(state)
    matrix: Any = coo_array((weight, (row, states.searchsorted(state))), shape=(rows, len(states))).tocsr()
    return matrix, states


def _expectations(states: Int64, counts: WindowCounts, background: Background) -> StateExpectations:
    values = counts.values
    prior = _pad_values(counts.prior() if background.prior is None else background.prior, values)
    if background.emission is None:
        table = counts.rows(states, normalised=background.normalised)[None]
    else:
        table = _pad_values(background.emission[:, states], values)
    own = (table.sum(axis=2) > 0) & (states != START)
    return StateExpectations(prior, np.where(own[:, :, None], table, 0), own)


def _pad_values(table: Float64, values: int) -> Float64:
    """As many columns as there are values; an undeclared value is never expected."""
    wide = np.zeros((*table.shape[:-1], values))
    wide[..., : table.shape[-1]] = table
    return wide


def _step(states: Int64, value: int, background: Background) -> Int64:
    """The states after one more value."""
    if background.following is None:
        return WindowCounts.after(states, np.full(len(states), value), background.memory)
    if value >= background.following.shape[1]:
        return np.full(len(states), START, dtype=np.int64)
    after: Int64 = background.following[states, value].astype(np.int64)
    return after


def _has_classes(background: Background) -> bool:
    """Whether values follow each other differently for people of different classes."""
    return background.emission is not None and len(background.emission) > 1


def _classes(entry: Entry, background: Background) -> Int32:
    published = entry.snapshot.persons.searchsorted(entry.trace.persons)
    return background.classes.of(entry.snapshot.qi[:, published])
