"""Mondrian partitions of a snapshot, for the technique mondrian and as the partitioner inside others."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from reanon_core.kernels import mondrian as kernel
from reanon_core.kernels import mondrian_cuts as cuts
from reanon_core.kernels.dense_ranks import dense_ranks
from reanon_core.kernels.packed_ranks import pack_ranks
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.schema import Schema
from reanon_core.recoding.attribute_scales import length_scales

Diversity = Literal["distinct", "frequency"]
Heuristic = Literal["width", "distinct", "balance"]
HEURISTICS = {"width": cuts.WIDTH, "distinct": cuts.DISTINCT, "balance": cuts.BALANCE}
DIVERSITIES = {"distinct": kernel.DISTINCT_ELL, "frequency": kernel.FREQUENCY_ELL}


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


def mondrian_classes(
    qi: Int32,
    sensitive: Int32,
    schema: Schema,
    extent: Int64,
    principle: Principle,
    *,
    heuristic: Heuristic = "width",
    strict: bool = True,
) -> tuple[Int32, int]:
    """The class of each row and the number of classes; 0 classes if the table as a whole fails the principle.

    `qi` [d, n] and `sensitive` [n] may be any rows of the schema; `extent` [2, d] normalises widths. A relaxed cut
    sends half of the rows to each side; rows with the median's value are divided in their given order.
    """
    attributes, rows = qi.shape
    ranked = [dense_ranks(codes) for codes in qi]
    distinct = max((len(occurring) for _, occurring in ranked), default=0) + 1
    scales = length_scales(extent[1] - extent[0], 1)
    position = np.zeros((attributes, distinct), dtype=np.int64)
    for attribute, (_, occurring) in enumerate(ranked):
        position[attribute, : len(occurring)] = (occurring - extent[0, attribute]) * scales[attribute]
    counts = np.bincount(sensitive, minlength=len(schema.sensitive.values))
    return kernel.mondrian(
        pack_ranks(np.stack([ranks for ranks, _ in ranked]), distinct),
        sensitive,
        cuts.Attributes(position, *_taxonomies(schema, [occurring for _, occurring in ranked], distinct)),
        kernel.Criterion(
            principle.k,
            principle.ell,
            DIVERSITIES[principle.diversity],
            kernel.NO_T if principle.t is None else float(principle.t),
            counts / max(1, rows),
        ),
        kernel.Choice(HEURISTICS[heuristic], strict),
    )


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
