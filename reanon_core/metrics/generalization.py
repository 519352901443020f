"""Generalization: how long the published intervals are relative to their domains.

In a decoupled release these are the boxes of people, and there are no counterfeits among its rows.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar

import numpy as np

from reanon_core.metrics.published_part import domains, published_part, shared_boxes
from reanon_core.model.arrays import Float64, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING, Boxes
from reanon_core.model.taxonomy import Taxonomy


@dataclass(frozen=True, kw_only=True)
class GlobalCertaintyPenalty:
    """The mean normalized length over all rows and attributes: 0 is exact, 1 is fully generalized."""

    name: ClassVar[str] = "gcp"
    quick: ClassVar[bool] = True

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Average the lengths (high - low) / (last - first), counterfeits included."""
        entry = shared_boxes(published_part(entry))
        return _row_mean(_lengths(entry), entry)


@dataclass(frozen=True, kw_only=True)
class AverageInformationLoss:
    """The mean sum of normalized lengths of a row: GCP times the number of attributes."""

    name: ClassVar[str] = "ail"
    quick: ClassVar[bool] = False

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Average over rows the sum of (high - low) / (last - first), counterfeits included."""
        entry = shared_boxes(published_part(entry))
        return _row_mean(_lengths(entry), entry) * len(entry.snapshot.qi)


@dataclass(frozen=True, kw_only=True)
class NormalizedCertaintyPenalty:
    """The sum of the normalized lengths over all rows and attributes."""

    name: ClassVar[str] = "ncp"
    quick: ClassVar[bool] = False

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Sum the lengths (high - low) / (last - first), counterfeits included."""
        entry = shared_boxes(published_part(entry))
        return float(_lengths(entry).sum(axis=0) @ _sizes(entry))


@dataclass(frozen=True, kw_only=True)
class LossMetric:
    """The mean share of the other values of the domain that a published value leaves possible.

    An interval leaves the codes that it covers, a node of a taxonomy its leaves.
    """

    name: ClassVar[str] = "lm"
    quick: ClassVar[bool] = True

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Average (covered - 1) / (domain size - 1), counterfeits included."""
        entry = shared_boxes(published_part(entry))
        losses = _lengths(entry)
        for attribute, column in enumerate(entry.snapshot.schema.quasi_identifiers):
            if column.hierarchical and column.taxonomy is not None:
                losses[attribute] = _hierarchy_losses(column.taxonomy, entry.release.boxes, attribute)
        return _row_mean(losses, entry)


def _lengths(entry: Entry) -> Float64:
    """The normalized length of each interval, float64[d, groups].

    A group whose members all lack the value loses nothing there, because that is published. An interval that
    was widened beyond an undeclared domain is as long as the domain.
    """
    boxes = entry.release.boxes
    first, last = domains(entry.snapshot)
    extent = (last - first)[:, None]
    lengths = boxes.high.astype(np.int64) - boxes.low
    normalized = np.minimum(lengths / np.maximum(extent, 1), 1.0)
    return np.where((boxes.missing == ALL_MISSING) | (extent == 0), 0.0, normalized)


def _hierarchy_losses(taxonomy: Taxonomy, boxes: Boxes, attribute: int) -> Float64:
    """For each group, the share of the other leaves that lie under its covering node."""
    leaves = len(taxonomy.leaves)
    losses = np.zeros(boxes.count)
    known = np.flatnonzero(boxes.missing[attribute] != ALL_MISSING)
    if leaves > 1 and len(known):
        ends = np.stack([boxes.low[attribute, known], boxes.high[attribute, known]], axis=1)
        pairs, which = np.unique(ends, axis=0, return_inverse=True)
        losses[known] = ((_leaves_under(taxonomy, pairs.astype(np.int64)) - 1) / (leaves - 1))[which.reshape(-1)]
    return losses


def _leaves_under(taxonomy: Taxonomy, pairs: Int64) -> Int64:
    """The number of leaves under the lowest common ancestor of the two leaves of each pair."""
    downwards = [tuple(reversed(path)) for path in taxonomy.paths]
    leaves = Counter(path[: depth + 1] for path in downwards for depth in range(len(path)))
    counts = []
    for low, high in pairs.tolist():
        shared = takewhile(lambda labels: labels[0] == labels[1], zip(downwards[low], downwards[high], strict=False))
        counts.append(1 if low == high else leaves[downwards[low][: len(list(shared))]])
    return np.array(counts, dtype=np.int64)


def _sizes(entry: Entry) -> Int64:
    return np.bincount(entry.release.group, minlength=entry.release.boxes.count).astype(np.int64, copy=False)


def _row_mean(losses: Float64, entry: Entry) -> float:
    """The mean over rows and attributes of what each group loses; 0 for a release without rows."""
    rows = entry.release.size
    return float(losses.mean(axis=0) @ _sizes(entry)) / rows if rows else 0.0
