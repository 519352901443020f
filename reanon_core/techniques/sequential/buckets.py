"""[ST15] Algorithm 1, Step 2: people in buckets, whose sensitive values the worlds exchange.

The paper cuts with Mondrian, and tests each cut on the sensitive values of both sides. So a cut that was not made tells
a reader of the source something of these values. Blind cuts do not: departure D10.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from reanon_core.kernels.closures import Space
from reanon_core.kernels.diverse_cuts import Nodes, cut_nodes
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.schema import QuasiIdentifier, Schema
from reanon_core.recoding.attribute_scales import length_scales
from reanon_core.recoding.mondrian import Principle, Table, mondrian_classes

FEWEST = 8
"""A bucket of blind cuts has at least so many people for each unit of ell."""
DEVIATIONS = 4.0
"""How many standard deviations more than expected of the most frequent value a side must have room for."""
COUNTED = 8
"""A value teaches how far cuts separate values if so many people of the node have it."""


def space_of(columns: tuple[QuasiIdentifier, ...], qi: Int32, extent: Int64) -> Space:
    """The space of these columns, of which every person has a value."""
    trees = [c.taxonomy.ancestors if c.hierarchical and c.taxonomy is not None else None for c in columns]
    depths = np.array([0 if tree is None else len(tree) for tree in trees], dtype=np.int64)
    widest = max([1, *(tree.shape[1] for tree in trees if tree is not None)])
    nodes = np.zeros((len(trees), max(1, int(depths.max(initial=0))), widest), dtype=np.int32)
    leaves = np.ones(nodes.shape, dtype=np.int64)
    for attribute, tree in enumerate(trees):
        for depth, level in enumerate(() if tree is None else tree):
            nodes[attribute, depth, : len(level)] = level
            leaves[attribute, depth, : len(level)] = np.bincount(level)[level]
    weight = length_scales(extent[1] - extent[0], max(1, qi.shape[1]))
    return Space((qi - extent[0][:, None]).astype(np.int32), weight, nodes, depths, leaves)


class SizeRule(Protocol):
    """How many people a cut must leave on either side."""

    def least(self, counts: Int64) -> Int64:
        """The least number [nodes, d] for each attribute; `counts` [nodes, values] are those of the nodes."""

    def learn(self, attribute: Int32, before: Int64, sides: tuple[Int64, Int64]) -> None:
        """Take note of cuts: their attributes [cuts], and the counts [cuts, values] of the node and of both sides."""


@dataclass(frozen=True)
class FixedSize:
    """The same number of people everywhere."""

    people: int
    attributes: int

    def least(self, counts: Int64) -> Int64:
        """The number, for each node and attribute."""
        return np.full((len(counts), self.attributes), self.people, np.int64)

    def learn(self, attribute: Int32, before: Int64, sides: tuple[Int64, Int64]) -> None:
        """Nothing."""


@dataclass
class BlindSize:
    """So many people that sides are seldom undiverse, decided without a look at who has which value.

    A node of n people, of whom a share f has the most frequent value, stays diverse if no side has a value more than
    1 / (ell f) times as often as the node. A side has room for four standard deviations of what chance adds to a value
    and, beyond that, of what earlier cuts of the same column have added: values may depend on it. The first cut of a
    column leaves ell f n people on both sides, which keeps them diverse whatever their values are. The constants are
    measured (docs/techniques/sequential.md), not derived (departure D10).

    Ensures: the sizes are functions of the counts of nodes that cuts have made. Such a node is a union of final
    buckets, so no exchange of values within these changes a count.
    """

    ell: int
    attributes: int
    variance: Float64 = field(init=False)
    """[d] of the ratio by which a cut of each attribute changes how frequent a value is; NaN before its first cut."""

    def __post_init__(self) -> None:
        """Know nothing."""
        self.variance = np.full(self.attributes, np.nan)

    def least(self, counts: Int64) -> Int64:
        """The sizes that leave room for chance and for dependence; none is possible where a node is hardly diverse."""
        people, most = counts.sum(axis=1)[:, None], counts.max(axis=1)[:, None]
        share, crowded = most / people, self.ell * most / people
        room = ((1 / crowded - 1) / DEVIATIONS) ** 2 - np.nan_to_num(self.variance)
        with np.errstate(divide="ignore"):
            by_chance = np.where(room > 0, 1 / (share * np.maximum(room, 0)), np.inf)
        by_dependence = np.where(np.isnan(self.variance), crowded * people, 0.0)
        wanted = np.maximum(np.maximum(by_chance, by_dependence), FEWEST * self.ell)
        sizes: Int64 = np.ceil(np.minimum(wanted, people)).astype(np.int64)
        return sizes

    def learn(self, attribute: Int32, before: Int64, sides: tuple[Int64, Int64]) -> None:
        """Remember the greatest variance that cuts of each attribute had beyond chance, on average of one round."""
        people = before.sum(axis=1, keepdims=True)
        counted = before >= np.maximum(COUNTED, people / (4 * self.ell))
        share = before / people
        beyond, weight = np.zeros(self.attributes), np.zeros(self.attributes)
        for side in sides:
            taken = side.sum(axis=1, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = side / taken / share
                chance = (1 - share) * (1 - taken / people) / (share * taken)
            own = np.where(counted, before * ((ratio - 1) ** 2 - chance), 0.0)
            np.add.at(beyond, attribute, own.sum(axis=1))
            np.add.at(weight, attribute, np.where(counted, before, 0).sum(axis=1))
        cut = weight > 0
        found = np.maximum(beyond[cut] / weight[cut], 0.0)
        self.variance[cut] = np.fmax(self.variance[cut], found)


def cut_buckets(space: Space, sensitive: Int32, rule: SizeRule, *, ell: int = 0) -> Int32:
    """The bucket of each person: cuts that lose least, of sides as large as the rule asks for; diverse ones with `ell`.

    Paper: [ST15] Algorithm 1, Step 2; the cuts are ours (departure D1).
    """
    rows, values = len(sensitive), int(sensitive.max(initial=0)) + 1
    bucket = np.zeros(rows, dtype=np.int32)
    if not len(space.codes) or not rows:  # no quasi-identifier is known that could tell people apart
        return bucket
    orders = np.argsort(space.codes, axis=1, kind="stable").astype(np.int32)
    begin, end = np.array([0], np.int64), np.array([rows], np.int64)
    ends = [end]
    while len(begin):
        counts = _counts(sensitive[orders[0]], begin, end, values)
        attribute, left = cut_nodes(space, orders, Nodes(begin, end, rule.least(counts)), sensitive, values, ell)
        cut = np.flatnonzero(attribute >= 0)
        middle = begin[cut] + left[cut]
        lower = _counts(sensitive[orders[0]], begin[cut], middle, values)
        rule.learn(attribute[cut], counts[cut], (lower, counts[cut] - lower))
        ends.append(middle)
        begin, end = np.concatenate([begin[cut], middle]), np.concatenate([middle, end[cut]])
    starts = np.sort(np.concatenate(ends))[:-1]
    bucket[orders[0]] = np.searchsorted(starts, np.arange(rows), side="right")
    return bucket


def _counts(sensitive: Int32, begin: Int64, end: Int64, values: int) -> Int64:
    """How often each value occurs in each stretch of the rows [stretches, values]."""
    found = [np.bincount(sensitive[a:b], minlength=values) for a, b in zip(begin.tolist(), end.tolist(), strict=True)]
    return np.array(found, np.int64).reshape(len(found), values)


def mondrian_buckets(qi: Int32, sensitive: Int32, schema: Schema, extent: Int64, ell: int) -> Int32:
    """The bucket of each person as in the paper: cuts of the widest column at its median, if both sides are diverse.

    Paper: [ST15] Section 6.1, with the Mondrian of [LDR06].
    Requires: the people together are diverse.
    """
    if not len(qi):
        return np.zeros(len(sensitive), dtype=np.int32)
    principle = Principle(k=ell, ell=ell, diversity="frequency")
    classes, _ = mondrian_classes(Table(qi, sensitive, schema, extent), principle)
    return classes
