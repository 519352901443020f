"""Which arrangements of values over the rows of a class lead Mondrian to the same classes.

Which attribute is tried first, and where it is cut, depends on quasi-identifiers alone. Values decide only whether a
cut is accepted. An arrangement inside one class changes the sides only of cuts that divide the class, and no accepted
cut does. So it leads to other classes exactly if a cut would be accepted that was *rejected* and divides the class, at
the class itself or at a node above it. Where cuts are made by quasi-identifiers alone, it does exactly if the leaves
below the class would not be merged. Cuts by counts look at the counts of whole nodes, which no arrangement inside a
class changes: all arrangements lead to the same classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels import mondrian as kernel
from reanon_core.kernels.mondrian_criterion import Criterion, arrangements_merged, satisfies
from reanon_core.kernels.ranks import dense_ranks
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.reading import Reading
from reanon_core.readers.arrangements import arrangements
from reanon_core.recoding.attribute_scales import grown_extent
from reanon_core.recoding.mondrian import (
    CutOptions,
    Principle,
    Table,
    blind_leaves,
    criterion_of,
    cut_table,
    mondrian_classes,
    publishable_classes,
)
from reanon_core.techniques.mondrian.technique import Mondrian

MOST_ARRANGEMENTS = 5_000
"""Up to this many arrangements of a class are all compared; beyond it, only exchanges of two people's values."""
Groups = frozenset[frozenset[int]]
"""The people of each group."""
MOST_ROWS = 5_000
"""The greatest table that is read: each of its groups takes about a millisecond."""


@dataclass(frozen=True, eq=False)
class CutRecord:
    """The classes of a table, and what decides whether an arrangement of values keeps them."""

    table: Table
    criterion: Criterion
    class_of: Int32  # [n] NO_CLASS where a row is withheld
    classes: int
    leaf_of: Int32  # [n] the leaf of each row where cuts are made by quasi-identifiers; the class otherwise
    depth: Int32  # [leaves] how many cuts are above each leaf
    rejected: Int64  # [r, 4] as in kernel.Record
    ranks: Int32  # [d, n]
    merges: bool
    """Whether leaves that fail are merged."""

    @staticmethod
    def of(table: Table, principle: Principle, options: CutOptions) -> "CutRecord":
        """Divide the table, and write down what decided.

        Requires: strict cuts, or no two rows with the same code, because a relaxed cut divides those at random.
        """
        criterion, size = criterion_of(table, principle), len(table.sensitive)
        depth = np.empty(size, dtype=np.int32)
        ranks = np.stack([dense_ranks(codes)[0] for codes in table.qi])
        none = np.empty((0, 4), dtype=np.int64)
        if options.by == "quasi-identifiers":
            leaf_of, leaves = blind_leaves(table, criterion, options, depth)
            depth, merges = depth[:leaves].copy(), options.failing == "merge"
            class_of, classes = publishable_classes(table.sensitive, leaf_of, depth, criterion, options.failing)
            return CutRecord(table, criterion, class_of, classes, leaf_of, depth, none, ranks, merges=merges)
        if options.by == "counts":  # the same in every arrangement, so that no rejected cut tells anything
            class_of, classes = mondrian_classes(table, principle, options)
            return CutRecord(table, criterion, class_of, classes, class_of, depth, none, ranks, merges=False)
        record = kernel.Record(np.empty(((2 * (size // principle.k) + 1) * len(table.qi), 4), dtype=np.int64), depth)
        class_of, classes, count = cut_table(table, criterion, options, record)
        rejected = record.rejected[:count].copy()
        return CutRecord(table, criterion, class_of, classes, class_of, depth, rejected, ranks, merges=False)

    def keeps_classes(self, own: int, arrangements: Int32) -> Bool:
        """For each arrangement [a, n] of values over the rows of a class, in order, whether the classes stay."""
        members = np.flatnonzero(self.class_of == own)
        if len(self.rejected):
            return ~_accepted(arrangements, *self._dividing(members), self.criterion)
        leaf = self.leaf_of[members]
        first, last = int(leaf.min()), int(leaf.max()) + 1
        if not self.merges or last - first == 1:
            return np.ones(len(arrangements), dtype=np.bool_)
        return arrangements_merged(arrangements, leaf - first, self.depth[first:last], self.criterion)

    @cached_property
    def _order(self) -> Int64:
        """The rows by class, as the kernel moved them."""
        return np.argsort(self.class_of, kind="stable")

    def _dividing(self, members: Int64) -> tuple[Bool, Int64]:
        """The rejected cuts that divide a class: which members are on the right, and the other rows' values."""
        order, own = self._order, self.class_of[members[0]]
        begin = int(np.searchsorted(self.class_of[order], own))
        above = self.rejected[(self.rejected[:, kernel.BEGIN] <= begin) & (begin < self.rejected[:, kernel.END])]
        right = self.ranks[above[:, kernel.ATTRIBUTE]][:, members] > above[:, kernel.RANK, None]
        through = right.any(axis=1) & ~right.all(axis=1)
        above, right = above[through], right[through]
        values, sensitive = len(self.criterion.share), self.table.sensitive
        others = np.zeros((len(above), 2, values), dtype=np.int64)
        for i, (first, last, attribute, rank) in enumerate(above.tolist()):
            rows = order[first:last]
            rows = rows[self.class_of[rows] != own]
            side = self.ranks[attribute, rows] > rank
            for at in (0, 1):
                others[i, at] = np.bincount(sensitive[rows[side == bool(at)]], minlength=values)
        return right, others


@compiled
def _accepted(arrangements: Int32, right: Bool, others: Int64, criterion: Criterion) -> Bool:
    """For each arrangement, whether any of the cuts has the principle on both sides."""
    found = np.zeros(len(arrangements), dtype=np.bool_)
    counts = np.empty_like(others[0]) if len(others) else np.empty((2, 0), dtype=np.int64)
    for own in range(len(arrangements)):
        for cut in range(len(right)):
            counts[:] = others[cut]
            for i, value in enumerate(arrangements[own]):
                counts[1 if right[cut, i] else 0, value] += 1
            if satisfies(counts[0], counts[0].sum(), criterion) and satisfies(counts[1], counts[1].sum(), criterion):
                found[own] = True
                break
    return found


def class_readings(record: CutRecord, persons: Int64) -> Iterator[Reading]:
    """The arrangements of each class's values, and whether the algorithm would have made the same classes.

    Nothing is left to chance, so an arrangement is as likely as the truth, or ruled out. Classes with one value are
    left out, because there is nothing to exchange.

    Ensures: what is said of a class is exact for an adversary who sees these classes alone, and knows the algorithm and
    all values outside of the class.
    """
    for own in range(record.classes):
        members = np.flatnonzero(record.class_of == own)
        truth = record.table.sensitive[members]
        if (truth == truth[0]).all():
            continue
        values, complete = arrangements(truth, MOST_ARRANGEMENTS)
        yield Reading(
            persons=persons[members],
            place=np.arange(len(members), dtype=np.int32),
            values=values,
            log_likelihood=np.where(record.keeps_classes(own, values), 0.0, -np.inf),
            complete=complete,
        )


def left_to_chance(qi: Int32, *, strict: bool) -> bool:
    """Whether a cut may divide people at random: a relaxed one does if two of them share a code."""
    return not strict and any(len(np.unique(codes)) < len(codes) for codes in (row[row != MISSING] for row in qi))


def people_by_group(persons: Int64, group: Int32) -> Groups:
    """The people of each group; a negative number is no group."""
    people: dict[int, set[int]] = {}
    for person, own in zip(persons.tolist(), group.tolist(), strict=True):
        if own >= 0:
            people.setdefault(own, set()).add(person)
    return frozenset(map(frozenset, people.values()))


def published_groups(entry: Entry) -> Groups:
    """The people of each group of a release."""
    return people_by_group(entry.trace.persons, entry.release.group[entry.trace.rows])


def mondrian_readings(technique: Mondrian, ledger: Ledger) -> Iterator[Reading]:
    """What a reader of the source learns about each group, release by release."""
    extent = technique.initial_state().extent
    for entry in ledger.entries:
        extent = grown_extent(entry.snapshot, extent)
        yield from release_readings(entry, extent, technique.principle(), technique.cut_options())


def release_readings(entry: Entry, extent: Int64, principle: Principle, options: CutOptions) -> Iterator[Reading]:
    """The readings of each group of a release by itself.

    A release is left out if it is larger than MOST_ROWS, if a relaxed cut may have divided people at random, or if
    other parameters made it.
    """
    snapshot = entry.snapshot
    if not 0 < snapshot.size <= MOST_ROWS or left_to_chance(snapshot.qi, strict=options.strict):
        return
    record = CutRecord.of(Table(snapshot.qi, snapshot.sensitive, snapshot.schema, extent), principle, options)
    if people_by_group(snapshot.persons, record.class_of) == published_groups(entry):
        yield from class_readings(record, snapshot.persons)
