"""The loss of generalized values, exactly and in integers, which [ST15] Algorithm 2 minimizes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from reanon_core.kernels.matching import BITS, ENTROPY, LINE, TREE, LossTables, row_losses
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.schema import QuasiIdentifier
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.recoding.attribute_scales import length_scales

Loss = Literal["lm", "em"]


@dataclass(frozen=True, eq=False)
class Measure:
    """The loss measure of the columns that a release shows.

    A value is a place: the code less the first one, the leaf, or (for entropy) the rank among the values that occur. A
    generalized value is an interval of places, or a node twice.

    Paper: [ST15] Section 2.2, Equation 1: LM and EM.
    """

    tables: LossTables
    unit: float
    """The integer that stands for a loss of 1."""
    monotone: bool
    """Whether a wider value always loses more: then equal values may be matched before anything else."""
    greatest: int
    """The loss of a row that is generalized completely; 2^40 where a wider value may lose less."""
    ends: tuple[tuple[Int32, Int32], ...]
    """For each attribute the first and last code of each place, or of each node."""
    leaf_nodes: tuple[Int32, ...]
    """For each attribute the node of each leaf; empty where places are no leaves."""

    def places(self, qi: Int32) -> Int32:
        """The place of each code, [d, n]."""
        placed = np.empty_like(qi)
        for attribute, codes in enumerate(qi):
            kind, first = self.tables.kind[attribute], self.ends[attribute][0]
            if kind == LINE:
                placed[attribute] = codes - first[0]
            elif kind == TREE:
                placed[attribute] = codes
            else:
                placed[attribute] = first.searchsorted(codes)
        return placed

    def ungeneralized(self, places: Int32) -> tuple[Int32, Int32]:
        """The generalized values that hold one place each: low and high, [d, n]."""
        low = places.copy()
        for attribute, nodes in enumerate(self.leaf_nodes):
            if self.tables.kind[attribute] == TREE:
                low[attribute] = nodes[places[attribute]]
        return low, low.copy()

    def codes(self, low: Int32, high: Int32) -> tuple[Int32, Int32]:
        """The first and last code of generalized values."""
        first, last = np.empty_like(low), np.empty_like(high)
        for attribute, ends in enumerate(self.ends):
            if self.tables.kind[attribute] == LINE:
                first[attribute], last[attribute] = low[attribute] + ends[0][0], high[attribute] + ends[0][0]
            else:
                first[attribute], last[attribute] = ends[0][low[attribute]], ends[1][high[attribute]]
        return first, last

    def losses(self, low: Int32, high: Int32) -> Int64:
        """The loss of each row, in units."""
        return row_losses(low, high, self.tables)


def measure_of(columns: Sequence[QuasiIdentifier], qi: Int32, extent: Int64, loss: Loss) -> Measure:
    """The measure of these columns; `extent` [2, d] is the declared domain of each, or all codes seen so far.

    Entropy is taken over the frequencies in the table that is released.

    Paper: [ST15] Definition 2.2: closures are looked up in the tables that this builds.
    """
    scales = length_scales(extent[1] - extent[0], max(1, qi.shape[1]))
    parts = [
        _tree(column.taxonomy, scale, codes, loss)
        if column.hierarchical and column.taxonomy is not None
        else _line(codes, first, loss)
        for column, codes, first, scale in zip(columns, qi, extent[0].tolist(), scales.tolist(), strict=True)
    ]
    spans = [span * scale for span, scale in zip((extent[1] - extent[0]).tolist(), scales.tolist(), strict=True)]
    tables = LossTables(
        kind=np.array([part.kind for part in parts], dtype=np.int8),
        weight=np.array(scales, dtype=np.int64),
        width=np.array([part.width for part in parts], dtype=np.int64),
        join=_concatenate([part.join for part in parts], np.int32),  # type: ignore[arg-type]
        join_at=_starts([part.join for part in parts]),
        loss=_concatenate([part.loss for part in parts], np.int64),  # type: ignore[arg-type]
        loss_at=_starts([part.loss for part in parts]),
        mass=_concatenate([part.mass for part in parts], np.float64),  # type: ignore[arg-type]
        information=_concatenate([part.information for part in parts], np.float64),  # type: ignore[arg-type]
        mass_at=_starts([part.mass for part in parts]),
    )
    return Measure(
        tables=tables,
        unit=BITS if loss == "em" else float(max(spans, default=1) or 1),
        monotone=loss == "lm",
        greatest=sum(spans) if loss == "lm" else 2**40,
        ends=tuple(part.ends for part in parts),
        leaf_nodes=tuple(part.leaf_nodes for part in parts),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """The tables of one attribute."""

    kind: int
    ends: tuple[Int32, Int32]
    join: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    width: int = 0
    loss: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    mass: Float64 = field(default_factory=lambda: np.empty(0, np.float64))
    information: Float64 = field(default_factory=lambda: np.empty(0, np.float64))
    leaf_nodes: Int32 = field(default_factory=lambda: np.empty(0, np.int32))


def _line(codes: Int32, first: int, loss: Loss) -> _Part:
    if loss == "lm":
        base = np.array([first], dtype=np.int32)
        return _Part(LINE, (base, base))
    values, counts = np.unique(codes, return_counts=True)
    mass, information = _running_sums(counts / max(1, counts.sum()))
    return _Part(ENTROPY, (values, values), mass=mass, information=information)


def _tree(taxonomy: Taxonomy, scale: int, codes: Int32, loss: Loss) -> _Part:
    leaves = len(taxonomy.leaves)
    every = np.arange(leaves, dtype=np.int32)
    nodes = len(taxonomy.labels)
    first, last = np.full(nodes, leaves, dtype=np.int32), np.full(nodes, -1, dtype=np.int32)
    for level in taxonomy.ancestors:
        np.minimum.at(first, level, every)
        np.maximum.at(last, level, every)
    low = np.minimum(first[:, None], every).ravel()
    high = np.maximum(last[:, None], every).ravel()
    covering = taxonomy.covering_node(low, high).reshape(nodes, leaves)
    inside = (first[:, None] <= every) & (every <= last[:, None])
    join = np.where(inside, np.arange(nodes, dtype=np.int32)[:, None], covering)
    if loss == "lm":
        costs = (last - first).astype(np.int64) * scale
    else:
        share = np.bincount(codes, minlength=leaves) / max(1, len(codes))
        mass, information = _running_sums(share)
        whole, sums = mass[last + 1] - mass[first], information[last + 1] - information[first]
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where((whole > 0) & (last > first), np.log2(whole) - sums / whole, 0.0)
        costs = np.rint(np.maximum(entropy, 0.0) * BITS).astype(np.int64)
    return _Part(
        TREE,
        (first, last),
        join=join.ravel(),
        width=leaves,
        loss=costs,
        leaf_nodes=taxonomy.covering_node(every, every),
    )


def _running_sums(share: Float64) -> tuple[Float64, Float64]:
    """Running sums of p and of p log2 p, with 0 in front; 0 log 0 is 0."""
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.concatenate([[0.0], np.cumsum(share)]), np.concatenate([[0.0], np.cumsum(share * logs)])


def _concatenate(parts: Sequence[Int32 | Int64 | Float64], dtype: type) -> Int32 | Int64 | Float64:
    return np.concatenate([np.empty(0, dtype), *parts])


def _starts(parts: Sequence[Int32 | Int64 | Float64]) -> Int64:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)[:-1]
