"""Merge boxes with too few rows into the neighbours that lose least."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32, Int64


@compiled
def merge_small_boxes(low: Int32, high: Int32, size: Int64, least: int) -> Int64:
    """For each box the one that it is merged into, itself if none, so that every merged box has enough rows.

    The smallest box is merged first, with the box for which the volumes of all their rows grow least. Boxes without
    rows stay alone. Requires: at least `least` rows in all.
    """
    attributes, boxes = low.shape
    into, size = np.arange(boxes), size.copy()
    first, last = low.astype(np.float64), high.astype(np.float64)
    volume = np.ones(boxes)
    for box in range(boxes):
        for attribute in range(attributes):
            volume[box] *= last[attribute, box] - first[attribute, box] + 1
    while True:
        small = -1
        for box in range(boxes):
            if 0 < size[box] < least and (small < 0 or size[box] < size[small]):
                small = box
        if small < 0:
            return into
        best, cost, union = -1, np.inf, 0.0
        for box in range(boxes):
            if box == small or size[box] == 0:
                continue
            both = 1.0
            for attribute in range(attributes):
                both *= (
                    max(last[attribute, box], last[attribute, small])
                    - min(first[attribute, box], first[attribute, small])
                    + 1
                )
            growth = (both - volume[box]) * size[box] + (both - volume[small]) * size[small]
            if growth < cost:
                best, cost, union = box, growth, both
        first[:, best] = np.minimum(first[:, best], first[:, small])
        last[:, best] = np.maximum(last[:, best], last[:, small])
        volume[best] = union
        size[best] += size[small]
        size[small] = 0
        for box in range(boxes):
            if into[box] == small:
                into[box] = best
