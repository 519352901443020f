"""KL divergence: how far the distribution reconstructed from a release is from the true one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.metrics.published_part import group_volumes, published_part, shared_boxes
from reanon_core.model.arrays import MISSING, Float64, Int8, Int32
from reanon_core.model.ledger import Entry
from reanon_core.model.release import NONE_MISSING, covers

_covers = compiled(covers)


@dataclass(frozen=True, kw_only=True)
class KlDivergence:
    """The divergence in bits of the joint distribution that a reader reconstructs from the release.

    The reader spreads the rows of each group evenly over its box; in a decoupled release, each person over their own
    box and over the values of their group. Withheld people do not count.
    """

    name: ClassVar[str] = "kl"
    quick: ClassVar[bool] = False

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Sum p1 * log2(p1 / p2) over the points that occur."""
        entry = published_part(entry)
        published = entry.snapshot.persons.searchsorted(entry.trace.persons)
        published = published[~entry.snapshot.invented[published]]
        if not len(published):
            return 0.0
        keys = np.vstack([entry.snapshot.qi[:, published], entry.snapshot.sensitive[published]])
        points, people = np.unique(keys, axis=1, return_counts=True)
        weight, entry = _value_weights(entry), shared_boxes(entry)
        order = np.argsort(points[_narrowest(entry)], kind="stable")
        points, people = np.ascontiguousarray(points[:, order]), people[order]
        boxes = entry.release.boxes
        density = weight / group_volumes(entry)[:, None]
        reconstructed = _densities(points, _narrowest(entry), boxes.low, boxes.high, boxes.missing, density)
        true = people / people.sum()
        return float(true @ np.log2(true / reconstructed))


def _value_weights(entry: Entry) -> Float64:
    """The share of the table that each box has of each value, [boxes, values]."""
    release, rows = entry.release, entry.release.person_rows
    counts = np.zeros((release.boxes.count, int(release.sensitive.max()) + 1))
    np.add.at(counts, (release.group, release.sensitive), 1)
    if rows is None:
        return counts / release.size
    weight = np.zeros((rows.boxes.count, counts.shape[1]))
    np.add.at(weight, rows.box, (counts / counts.sum(axis=1, keepdims=True))[rows.group])
    return weight / len(rows.box)


def _narrowest(entry: Entry) -> int:
    """The attribute on which boxes are narrowest relative to the table, which is the best one to search along."""
    boxes, spans = entry.release.boxes, np.ptp(entry.snapshot.qi, axis=1).astype(np.float64)
    widths = (boxes.high.astype(np.float64) - boxes.low).mean(axis=1)
    return int(np.argmin(np.where(spans > 0, widths / np.maximum(spans, 1), np.inf)))


@compiled
def _densities(points: Int32, along: int, low: Int32, high: Int32, missing: Int8, density: Float64) -> Float64:
    """The density at each point: the sum over all boxes that contain it. Points ascend on the attribute `along`."""
    attributes, boxes = low.shape
    total: Float64 = np.zeros(points.shape[1])
    for box in range(boxes):
        first = int(np.searchsorted(points[along], low[along, box] if missing[along, box] == NONE_MISSING else MISSING))
        for point in range(first, points.shape[1]):
            if points[along, point] > high[along, box]:
                break
            inside = True
            for attribute in range(attributes):
                sides = low[attribute, box], high[attribute, box], missing[attribute, box]
                inside = inside and _covers(*sides, points[attribute, point])
            if inside:
                total[point] += density[box, points[attributes, point]]
    return total
