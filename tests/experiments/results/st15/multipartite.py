"""The multipartite graph algorithms that [ST15] Section 6.1 compares with, as far as [ST15] describes them.

A node is a published row, an edge joins rows of two releases that may be the same person, and a full clique has a row
of every release. A person's quasi-identifiers are linked with the sensitive values of the cliques that contain them.

[ST15] names both algorithms by their recoding and by what they count, and they do that here:

- `CutSeries`, its reference 32: a cut through each taxonomy, found by specialization from the root; all cliques count.
- `CellSeries`, its reference 28: single cells are generalized; only cliques count that are part of a perfect matching.

It does not say which specialization comes first, which cells are generalized, or how perfect matchings of more than
two releases are approximated. Here the specialization that saves most comes first; pairs of rows are generalized to
what they share, so that they can be exchanged; and what two people can exchange counts as matched. Releases of
quasi-identifiers alone are published as they are: they show the adversary everyone, so that a matching must be perfect.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from reanon_core.model.arrays import Bool, Float64, Int32, Int64
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy

Goal = Literal["linkability", "diversity"]
Box = tuple[int, ...]
"""A node of each column."""


@dataclass(frozen=True)
class Requirement:
    """ell-linkability: everyone is linked with ell values or more; ell-diversity: with none by more than 1/ell."""

    goal: Goal
    ell: int

    def failing(self, cliques: Float64) -> Bool:
        """For each row of counts [people, values], whether the requirement fails."""
        if self.goal == "linkability":
            return np.asarray((cliques > 0).sum(axis=1) < self.ell)
        return np.asarray(cliques.max(axis=1) * self.ell > cliques.sum(axis=1) * (1 + 1e-9))

    def wanted(self, before: Float64, counts: Float64) -> Bool:
        """Of which values more rows would help a person, given the cliques of the releases before."""
        cliques = before * counts
        if self.goal == "linkability":
            return np.asarray((before > 0) & (counts == 0))
        return np.asarray((before > 0) & (cliques < cliques.max()))


class Column:
    """The taxonomy of a quasi-identifier, as arrays."""

    def __init__(self, taxonomy: Taxonomy, codes: Int32) -> None:
        """Count the leaves under each node; `codes` are the values of the table, for the entropy."""
        self.taxonomy = taxonomy
        self.leaf_node = taxonomy.ancestors[-1]
        leaves = len(taxonomy.leaves)
        self.covers = np.zeros((len(taxonomy.labels), leaves), np.bool_)
        for level in taxonomy.ancestors:
            self.covers[level, np.arange(leaves)] = True
        self.first, self.last = self.covers.argmax(axis=1), leaves - 1 - self.covers[:, ::-1].argmax(axis=1)
        self.lm = (self.covers.sum(axis=1) - 1) / max(1, leaves - 1)
        share = np.bincount(codes, minlength=leaves) * self.covers
        share = share / np.maximum(1, share.sum(axis=1, keepdims=True))
        self.em = -(share * np.log2(np.where(share > 0, share, 1))).sum(axis=1)

    def closure(self, node: int, leaf: int) -> int:
        """The lowest node over both."""
        low, high = min(self.first[node], leaf), max(self.last[node], leaf)
        return int(self.taxonomy.covering_node(np.array([low], np.int32), np.array([high], np.int32))[0])

    def shared_loss(self) -> Float64:
        """The loss of the lowest node over each pair of leaves."""
        leaves = np.arange(self.covers.shape[1], dtype=np.int32)
        low, high = np.minimum.outer(leaves, leaves), np.maximum.outer(leaves, leaves)
        nodes = self.taxonomy.covering_node(low.reshape(-1), high.reshape(-1))
        return np.asarray(self.lm[nodes].reshape(low.shape))

    def finer(self, leaves: Int32, node: int) -> Int32:
        """For each leaf, the child of this node over it, or the node itself if the leaf is elsewhere."""
        levels = self.taxonomy.ancestors
        depth = int(np.flatnonzero((levels == node).any(axis=1))[-1])
        below = levels[min(depth + 1, len(levels) - 1)][leaves]
        found: Int32 = np.where(self.covers[node, leaves], below, node).astype(np.int32)
        return found


@dataclass
class _Release:
    """The columns of a release, the distinct values in them, and who has which."""

    columns: list[Column]
    leaves: Int32  # [d, D]
    of_row: Int64  # [n]
    of_person: Int64  # [distinct people]
    values: Float64  # [D, sensitive values] how many rows

    def loss(self, rows: dict[Box, float], measure: str) -> float:
        """The mean loss of a cell: `lm` or `em`."""
        each = [sum(getattr(c, measure)[node] for c, node in zip(self.columns, box, strict=True)) for box in rows]
        return float(np.dot(each, list(rows.values()))) / (len(self.of_row) * len(self.columns))


@dataclass
class MultipartiteSeries(ABC):
    """Releases of one table, each made so that it and all before it satisfy a requirement."""

    table: Snapshot
    requirement: Requirement
    exposed: int = field(default=0, init=False)
    """How many different people the latest release leaves without the requirement, because nothing more can be done."""

    def __post_init__(self) -> None:
        """Nothing is published yet: every value is as likely as its rows are many."""
        self.people = np.unique(self.table.qi, axis=1)
        self.width = len(self.table.schema.sensitive.values)
        self.cliques = np.ones((self.people.shape[1], self.width))

    def release(self, positions: tuple[int, ...]) -> tuple[float, float]:
        """Publish these columns with the sensitive one, and return what a cell loses on average: LM and EM."""
        shown = self._shown(positions)
        rows, counts = self._generalized(shown)
        self.cliques = self.cliques * counts[shown.of_person]
        self.exposed = int(self.requirement.failing(self.cliques).sum())
        return shown.loss(rows, "lm"), shown.loss(rows, "em")

    @abstractmethod
    def _generalized(self, shown: _Release) -> tuple[dict[Box, float], Float64]:
        """How many rows have each box, and how many rows of each sensitive value each person may be."""

    @cached_property
    def _columns(self) -> list[Column]:
        quasi_identifiers = self.table.schema.quasi_identifiers
        return [
            Column(c.taxonomy, codes) for c, codes in zip(quasi_identifiers, self.table.qi, strict=True) if c.taxonomy
        ]

    def _shown(self, positions: tuple[int, ...]) -> _Release:
        at = list(positions)
        leaves, of_row = np.unique(self.table.qi[at], axis=1, return_inverse=True)
        of_row = of_row.reshape(-1)
        place = {tuple(one): number for number, one in enumerate(leaves.T.tolist())}
        of_person = np.array([place[tuple(one)] for one in self.people[at].T.tolist()])
        values = np.zeros((leaves.shape[1], self.width))
        np.add.at(values, (of_row, self.table.sensitive), 1)
        return _Release([self._columns[one] for one in positions], leaves.astype(np.int32), of_row, of_person, values)


class CutSeries(MultipartiteSeries):
    """Cut generalization: equal values become equal nodes, and all cliques count."""

    def _generalized(self, shown: _Release) -> tuple[dict[Box, float], Float64]:
        nodes = np.stack([np.full(shown.leaves.shape[1], c.taxonomy.ancestors[0, 0]) for c in shown.columns])
        counts = self._counts(shown, nodes)
        waiting = {(at, int(nodes[at, 0])) for at in range(len(nodes))}
        while waiting:
            at, node = max(waiting, key=lambda one: self._saving(shown, nodes, *one))
            waiting.discard((at, node))
            finer = nodes.copy()
            finer[at] = np.where(nodes[at] == node, shown.columns[at].finer(shown.leaves[at], node), nodes[at])
            found = self._counts(shown, finer)
            if not self.requirement.failing(self.cliques * found[shown.of_person]).any():
                waiting |= {(at, int(one)) for one in set(finer[at]) - set(nodes[at])}
                nodes, counts = finer, found
        sizes = shown.values.sum(axis=1)
        rows: dict[Box, float] = {}
        for box, size in zip(map(tuple, nodes.T.tolist()), sizes.tolist(), strict=True):
            rows[box] = rows.get(box, 0) + size
        return rows, counts

    def _saving(self, shown: _Release, nodes: Int32, at: int, node: int) -> float:
        """How much loss a specialization saves."""
        column, under = shown.columns[at], nodes[at] == node
        finer = column.finer(shown.leaves[at], node)
        return float(((column.lm[node] - column.lm[finer]) * shown.values.sum(axis=1))[under].sum())

    def _counts(self, shown: _Release, nodes: Int32) -> Float64:
        """The rows that cover each distinct value, by sensitive value."""
        reach = np.ones((shown.leaves.shape[1],) * 2, np.bool_)
        for column, leaves, chosen in zip(shown.columns, shown.leaves, nodes, strict=True):
            reach &= column.covers[chosen][:, leaves].T
        return np.asarray(reach @ shown.values)


class CellSeries(MultipartiteSeries):
    """Cell generalization: rows of two people are widened until these two can be exchanged."""

    cells: "Cells"
    """The rows of the latest release."""

    def _generalized(self, shown: _Release) -> tuple[dict[Box, float], Float64]:
        cells = self.cells = Cells(shown)
        while True:
            counts = np.stack([cells.counts(value) for value in range(len(shown.values))])
            failing = np.flatnonzero(self.requirement.failing(self.cliques * counts[shown.of_person]))
            if not sum(self._repaired(cells, shown, person) for person in failing.tolist()):
                return cells.rows(), counts

    def _repaired(self, cells: "Cells", shown: _Release, person: int) -> bool:
        """Exchange until this person is safe; whether there was anything to exchange."""
        value, before, changed = int(shown.of_person[person]), self.cliques[person], False
        while self.requirement.failing((before * (counts := cells.counts(value)))[None])[0]:
            if not cells.exchange(value, self.requirement.wanted(before, counts)):
                return changed
            changed = True
        return changed


class Cells:
    """The rows of a release in which single cells are generalized: an entry holds the rows of one value in one box."""

    def __init__(self, shown: _Release) -> None:
        """Begin with rows as they are."""
        self.shown = shown
        self.exact = shown.values.copy()
        self.number: dict[tuple[int, Box], int] = {}
        """The entry of a value and a box."""
        distinct = len(shown.values)
        self.owner = np.empty(0, np.int64)
        self.covers = np.empty((0, distinct), np.bool_)  # [entries, values]
        self.entries = np.empty((0, shown.values.shape[1]))  # [entries, sensitive values]
        self.reaches = np.zeros((distinct, distinct), np.bool_)  # whether a wide row of the first covers the second
        self.shared_loss = [column.shared_loss() for column in shown.columns]

    def rows(self) -> dict[Box, float]:
        """How many rows have each box."""
        found = {self._leaf_box(value): float(size) for value, size in enumerate(self.exact.sum(axis=1)) if size}
        for (_, box), entry in self.number.items():
            found[box] = found.get(box, 0) + float(self.entries[entry].sum())
        return found

    def counts(self, value: int) -> Float64:
        """The person's own rows, and those of others with whom they can be exchanged."""
        used = len(self.number)
        owner = self.owner[:used]
        exchangeable = self.covers[:used, value] & self.reaches[value, owner] & (owner != value)
        return np.asarray(self.shown.values[value] + self.entries[:used][exchangeable].sum(axis=0))

    def exchange(self, value: int, wanted: Bool) -> bool:
        """Widen the cheapest row with a wanted value and a row of the person's own; False if there is none."""
        donors = np.flatnonzero((self.exact[:, wanted] > 0).any(axis=1))
        donors = donors[donors != value]
        if not len(donors):
            return self._exchange_wide(value, wanted)
        leaves = self.shown.leaves
        costs = sum(loss[leaf[value], leaf[donors]] for loss, leaf in zip(self.shared_loss, leaves, strict=True))
        donor = int(donors[np.argmin(costs)])
        box = self._closure(self._leaf_box(value), donor)
        self._widen(donor, self.exact[donor], int(np.flatnonzero(wanted & (self.exact[donor] > 0))[0]), box)
        self._reach(value, donor)
        return True

    def _exchange_wide(self, value: int, wanted: Bool) -> bool:
        """The same with a row that is wide already, which becomes wider if it has to."""
        found = [
            (self._added_loss(box, value), owner, box)
            for (owner, box), entry in self.number.items()
            if owner != value and self.entries[entry, wanted].any() and not self._exchangeable(value, entry)
        ]
        if not found:
            return False
        _, owner, box = min(found)
        rows = self.entries[self.number[owner, box]]
        self._widen(owner, rows, int(np.flatnonzero(wanted & (rows > 0))[0]), self._closure(box, value))
        self._reach(value, owner)
        return True

    def _reach(self, value: int, other: int) -> None:
        """Widen a row of the first until it covers the second: one that is exact, or the one that loses least."""
        if self.reaches[value, other]:
            return
        box = self._closure(self._leaf_box(value), other)
        if self.exact[value].any():
            self._widen(value, self.exact[value], int(self.exact[value].argmax()), box)
            return
        own = [key[1] for key, entry in self.number.items() if key[0] == value and self.entries[entry].any()]
        least = min(own, key=lambda one: self._added_loss(one, other))
        rows = self.entries[self.number[value, least]]
        self._widen(value, rows, int(rows.argmax()), self._closure(least, other))

    def _exchangeable(self, value: int, entry: int) -> bool:
        return bool(self.covers[entry, value] and self.reaches[value, self.owner[entry]])

    def _added_loss(self, box: Box, value: int) -> float:
        return self._loss(self._closure(box, value)) - self._loss(box)

    def _widen(self, owner: int, rows: Float64, sensitive: int, box: Box) -> None:
        rows[sensitive] -= 1
        if (owner, box) not in self.number:
            self._add_entry(owner, box)
        self.entries[self.number[owner, box], sensitive] += 1

    def _add_entry(self, owner: int, box: Box) -> None:
        number = self.number[owner, box] = len(self.number)
        if number == len(self.owner):  # twice the room, so that appending stays cheap
            room = max(64, number)
            self.owner = np.pad(self.owner, (0, room))
            self.covers = np.pad(self.covers, ((0, room), (0, 0)))
            self.entries = np.pad(self.entries, ((0, room), (0, 0)))
        covered = np.ones(len(self.reaches), np.bool_)
        for column, node, leaves in zip(self.shown.columns, box, self.shown.leaves, strict=True):
            covered &= column.covers[node, leaves]
        self.owner[number], self.covers[number] = owner, covered
        self.reaches[owner] |= covered

    def _leaf_box(self, value: int) -> Box:
        leaves = self.shown.leaves[:, value]
        return tuple(int(c.leaf_node[leaf]) for c, leaf in zip(self.shown.columns, leaves, strict=True))

    def _closure(self, box: Box, value: int) -> Box:
        leaves = self.shown.leaves[:, value].tolist()
        return tuple(c.closure(node, leaf) for c, node, leaf in zip(self.shown.columns, box, leaves, strict=True))

    def _loss(self, box: Box) -> float:
        return float(sum(c.lm[node] for c, node in zip(self.shown.columns, box, strict=True)))
