"""Mondrian partitions of a snapshot, for the technique mondrian and as the partitioner inside others."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from reanon_core.kernels import mondrian as kernel
from reanon_core.kernels import mondrian_criterion as criteria
from reanon_core.kernels.ranks import dense_ranks, pack_ranks
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.schema import Schema
from reanon_core.recoding.attribute_scales import length_scales

Diversity = Literal["distinct", "frequency"]
Heuristic = Literal["width", "distinct", "balance"]
CutsBy = Literal["principle", "quasi-identifiers", "counts"]
Failing = Literal["merge", "withhold"]
NO_CLASS = -1
"""The class of a row that is withheld."""
NO_RECORD = kernel.Record(np.empty((0, 4), np.int64), np.empty(0, np.int32))
HEURISTICS = {"width": kernel.WIDTH, "distinct": kernel.DISTINCT, "balance": kernel.BALANCE}
DIVERSITIES = {"distinct": criteria.DISTINCT_ELL, "frequency": criteria.FREQUENCY_ELL}


@dataclass(frozen=True, kw_only=True)
class Principle:
    """What every class must satisfy. All parts must hold; the default of a part demands nothing."""

    k: int = 1
    """The least number of rows."""
    ell: int = 1
    """The least number of sensitive values, or the frequency bound one in ell."""
    diversity: Diversity = "distinct"
    """Whether ell counts distinct values, or bounds the most frequent one by 1/ell of the rows."""
    t: float | None = None
    """The greatest distance from the distribution in the whole table (equal ground distance)."""

    def __post_init__(self) -> None:
        """Check the ranges of the parameters."""
        problems = [
            Problem(name, "be a whole number of at least 1", str(value))
            for name, value in (("k", self.k), ("ell", self.ell))
            if isinstance(value, bool) or not isinstance(value, int) or value < 1
        ]
        if self.diversity not in get_args(Diversity):
            problems.append(Problem("diversity", f"be one of {', '.join(get_args(Diversity))}", str(self.diversity)))
        if self.t is not None and not 0 <= self.t <= 1:
            problems.append(Problem("t", "be between 0 and 1", str(self.t)))
        require(problems, InvalidParameter)


@dataclass(frozen=True, kw_only=True)
class CutOptions:
    """How cuts are chosen."""

    heuristic: Heuristic = "width"
    """Which attribute is tried first."""
    strict: bool = True
    """Whether rows with the same value stay on one side."""
    by: CutsBy = "principle"
    """What a cut must leave both sides with: the principle; k rows alone; or k rows, and value counts of the whole that
    give both sides the principle, in any arrangement of its values, or in most if classes that fail are withheld."""
    failing: Failing | Literal["keep"] = "merge"
    """What happens to a class that fails the principle, where cuts do not test it; keep leaves it to the caller."""


PAPER = CutOptions()


class Table(NamedTuple):
    """The rows to be divided: any rows of the schema."""

    qi: Int32  # [d, n]
    sensitive: Int32  # [n]
    schema: Schema
    extent: Int64  # [2, d] normalises widths


def mondrian_classes(table: Table, principle: Principle, options: CutOptions = PAPER) -> tuple[Int32, int]:
    """The class of each row, NO_CLASS where it is withheld, and the number of classes.

    There are 0 classes if the table as a whole fails the principle, or if all of it would be withheld. A relaxed cut
    sends half of the rows to each side; rows with the median's value are divided in their given order.
    """
    criterion = criterion_of(table, principle)
    depth = np.empty(len(table.sensitive), dtype=np.int32)
    if options.by == "quasi-identifiers":
        leaf_of, leaves = blind_leaves(table, criterion, options, depth)
    else:
        leaf_of, leaves, _ = cut_table(table, criterion, options, NO_RECORD)
        if options.by == "principle" or options.failing != "withhold":
            return leaf_of, leaves
    return publishable_classes(table.sensitive, leaf_of, depth[:leaves], criterion, options.failing)


def blind_leaves(table: Table, criterion: criteria.Criterion, options: CutOptions, depth: Int32) -> tuple[Int32, int]:
    """The leaf of each row and the number of leaves, cut as long as both sides keep k rows, whatever their values.

    Fills `depth` with the number of cuts above each leaf.
    """
    only_k = criterion._replace(ell=1, diversity=criteria.DISTINCT_ELL, t=criteria.NO_T)
    leaf_of, leaves, _ = cut_table(table, only_k, options, NO_RECORD._replace(depth=depth))
    return leaf_of, leaves


def publishable_classes(
    sensitive: Int32, leaf_of: Int32, depth: Int32, criterion: criteria.Criterion, failing: str
) -> tuple[Int32, int]:
    """The class of each row once leaves that fail are merged with their siblings, or withheld."""
    if not len(depth):  # fewer than k rows
        return leaf_of, 0
    counts = criteria.value_counts(leaf_of, len(depth), sensitive, len(criterion.share))
    if failing == "merge":
        class_of_leaf, classes = criteria.merged_classes(counts, depth, criterion)
    else:
        good = ~criteria.failing_classes(counts, criterion)
        class_of_leaf, classes = np.where(good, np.cumsum(good) - 1, NO_CLASS).astype(np.int32), int(good.sum())
    return (class_of_leaf[leaf_of] if classes else np.full(len(sensitive), NO_CLASS, np.int32)), classes


def criterion_of(table: Table, principle: Principle) -> criteria.Criterion:
    """The principle with the distribution of values in the table."""
    return criterion_of_counts(np.bincount(table.sensitive, minlength=len(table.schema.sensitive.values)), principle)


def criterion_of_counts(counts: Int64, principle: Principle) -> criteria.Criterion:
    """The same for a table with so many rows of each value."""
    t = criteria.NO_T if principle.t is None else float(principle.t)
    shares = counts / max(1, int(counts.sum()))
    return criteria.Criterion(principle.k, principle.ell, DIVERSITIES[principle.diversity], t, shares)


def cut_table(
    table: Table, criterion: criteria.Criterion, options: CutOptions, record: kernel.Record
) -> tuple[Int32, int, int]:
    """The class of each row, the number of classes, and how many rejected cuts the record has."""
    ranked = [dense_ranks(codes) for codes in table.qi]
    attributes = attributes_of([occurring for _, occurring in ranked], table.schema, table.extent)
    return kernel.mondrian(
        pack_ranks(np.stack([ranks for ranks, _ in ranked]), attributes.position.shape[1]),
        table.sensitive,
        attributes,
        criterion,
        kernel.Choice(HEURISTICS[options.heuristic], options.strict, cut_test(options)),
        record,
    )


def attributes_of(occurring: list[Int64], schema: Schema, extent: Int64) -> kernel.Attributes:
    """What the ranks of codes stand for; `occurring` are the codes of each attribute, ascending."""
    distinct = max((len(codes) for codes in occurring), default=0) + 1
    scales = length_scales(extent[1] - extent[0], 1)
    position = np.zeros((len(occurring), distinct), dtype=np.int64)
    for attribute, codes in enumerate(occurring):
        position[attribute, : len(codes)] = (codes - extent[0, attribute]) * scales[attribute]
    return kernel.Attributes(position, *_taxonomies(schema, occurring, distinct))


def cut_test(options: CutOptions) -> int:
    """What is tested of a cut, as the kernel calls it."""
    if options.by != "counts":
        return kernel.SIDES
    return kernel.GUARANTEE if options.failing == "merge" else kernel.LIKELIHOOD


def _taxonomies(schema: Schema, occurring: list[Int64], distinct: int) -> tuple[Int32, Int64]:
    """For each hierarchical attribute the node of each occurring leaf at each depth, root first; and the depths."""
    trees = [
        column.taxonomy.ancestors if column.hierarchical and column.taxonomy is not None else None
        for column in schema.quasi_identifiers
    ]
    depths = np.array([0 if tree is None else len(tree) for tree in trees], dtype=np.int64)
    nodes = np.zeros((len(trees), max(1, int(depths.max(initial=0))), distinct), dtype=np.int32)
    for attribute, tree in enumerate(trees):
        if tree is not None:
            leaves = occurring[attribute]
            nodes[attribute, : len(tree), : len(leaves)] = tree[:, leaves]
    return nodes, depths
