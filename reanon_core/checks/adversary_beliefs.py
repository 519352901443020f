"""The judge's own account of the adversary's beliefs, from published rows, traces and declared knowledge.

It follows the paper's definitions with sparse matrices: Q has a row for each person and a column for each state that
the person's past may have led to. A window of past values is a number in base 2 ** 15 whose last digit is the latest
value, so that windows keep their numbers when values are added.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.checks.groups import hosting_groups
from reanon_core.checks.posterior import group_posteriors
from reanon_core.checks.window_counts import WindowCounts
from reanon_core.model.arrays import Bool, Float64, Int32, Int64
from reanon_core.model.background import START, Background
from reanon_core.model.ledger import Entry
from reanon_core.protocols import Memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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


def expected_values(entry: Entry, past: PastBeliefs, background: Background) -> tuple[Float64, PastBeliefs]:
    """RBKsv of the people in the release [n, values], and the past with this table counted.

    Paper: [RPB12] Section 5.3.
    """
    past = replace(past, counts=past.counts.with_table(entry.snapshot, background))
    row_class = _classes(entry, background)
    expectations, matrix, _ = _states_of(entry.trace.persons, past, background)
    tables, own = expectations.of_classes(row_class)
    prior = expectations.prior[row_class]
    if len(tables) == 1:
        return matrix @ tables[0] + (matrix @ ~own[0])[:, None] * prior, past
    dense = matrix.toarray()
    return np.einsum("ns,nsv->nv", dense, tables) + (dense * ~own).sum(axis=1)[:, None] * prior, past


def revise_beliefs(
    entry: Entry, past: PastBeliefs, background: Background, expected: Float64, posterior: str, mode: str
) -> PastBeliefs:
    """The beliefs after this release.

    Paper: [RPB12] Algorithm 3: every sequence of values is extended by each value, weighted by its posterior.
    """
    persons, row_class = entry.trace.persons, _classes(entry, background)
    values = expected.shape[1]
    shown = np.zeros((entry.release.boxes.count, values))
    np.add.at(shown, (entry.release.group, entry.release.sensitive), 1)
    known = group_posteriors(posterior, expected, hosting_groups(entry), shown)
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
    for value in range(values):
        share = known[row, value]
        if mode == "filter":
            table_row = row if len(tables) > 1 else np.zeros_like(row)
            chance = np.where(
                own[table_row, column], tables[table_row, column, value], expectations.prior[row_class[row], value]
            )
            before = expected[row, value]
            share = np.where(before > 0, share * chance / np.where(before > 0, before, 1), share)
        used = np.flatnonzero(share * weight > 0)
        rows.append(row[used])
        targets.append(_step(states[column[used]], value, background))
        weights.append((share * weight)[used])
    return _with_rows(past, persons, np.concatenate(rows), np.concatenate(targets), np.concatenate(weights))


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
    persons: Int64, past: PastBeliefs, background: Background
) -> tuple[StateExpectations, "csr_array", Int64]:
    """The expectations in each state that occurs, the matrix Q of these people, and the states of its columns."""
    at = past.persons.searchsorted(persons)
    here = at < len(past.persons)
    here[here] = past.persons[at[here]] == persons[here]
    place = np.full(len(past.persons), -1, dtype=np.int64)
    place[at[here]] = np.flatnonzero(here)
    mine = np.flatnonzero(place[past.entry] >= 0)
    new = np.flatnonzero(~here)
    row = np.concatenate([place[past.entry[mine]], new])
    state = np.concatenate([past.state[mine], np.full(len(new), START, dtype=np.int64)])
    matrix, states = _matrix(row, state, np.concatenate([past.weight[mine], np.ones(len(new))]), len(persons))
    return _expectations(states, past.counts, background), matrix, states


def _matrix(row: Int64, state: Int64, weight: Float64, rows: int) -> tuple["csr_array", Int64]:
    """Q over the states that occur; entries of one person and state are added up."""
    from scipy.sparse import coo_array

    states, column = np.unique(state, return_inverse=True)
    matrix: Any = coo_array((weight, (row, column.reshape(-1))), shape=(rows, len(states))).tocsr()
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


def _classes(entry: Entry, background: Background) -> Int32:
    published = entry.snapshot.persons.searchsorted(entry.trace.persons)
    return background.classes.of(entry.snapshot.qi[:, published])
