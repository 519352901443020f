"""What a published release says by itself: group sizes, widths of intervals, frequencies. All of it is public."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.history import Published
from reanon_core.model.release import ALL_MISSING, Boxes, Release
from reanon_core.model.schema import Schema

LARGEST = 12
"""The sizes of groups that are told apart; larger ones are counted together."""


@dataclass(frozen=True)
class Width:
    """How exactly a column is published, over all rows."""

    column: str
    mean: float
    """The mean length of its intervals, as a share of the domain."""
    exact: float
    """The share of rows that show one value."""


def box_of_rows(release: Release) -> tuple[Boxes, Int32]:
    """The boxes of the rows that show people, and the box of each row."""
    rows = release.person_rows
    return (release.boxes, release.group) if rows is None else (rows.boxes, rows.box)


def group_sizes(release: Release) -> Int64:
    """How many published rows share a box, for each box."""
    boxes, box = box_of_rows(release)
    return np.bincount(box, minlength=boxes.count).astype(np.int64)


def told_sizes(sizes: Int64) -> dict[str, int] | None:
    """The smallest size, the one that half of the groups reach, and the largest; None without groups."""
    if not len(sizes):
        return None
    return {"smallest": int(sizes.min()), "middle": int(np.median(sizes)), "largest": int(sizes.max())}


def size_counts(sizes: Int64) -> list[tuple[str, int]]:
    """How many groups have each size; sizes above LARGEST together."""
    if not len(sizes):
        return []
    counts = np.bincount(np.minimum(sizes, LARGEST + 1), minlength=LARGEST + 2)
    labels = [*(str(size) for size in range(LARGEST + 1)), f"> {LARGEST}"]
    shown = range(int(np.minimum(sizes.min(), LARGEST + 1)), int(np.minimum(sizes.max(), LARGEST + 1)) + 1)
    return [(labels[at], int(counts[at])) for at in shown]


def fewest_values(release: Release) -> int:
    """The least number of different sensitive values in a group."""
    pairs = np.unique(np.stack([release.group, release.sensitive]), axis=1)
    return int(np.bincount(pairs[0]).min()) if pairs.size else 0


def widths(release: Release, schema: Schema) -> list[Width]:
    """How exactly each quasi-identifier is published; the domain is the declared one, or what the release spans."""
    boxes, box = box_of_rows(release)
    found = []
    for at, column in enumerate(schema.quasi_identifiers):
        shown = boxes.missing[at][box] != ALL_MISSING
        if not release.shows(column.name) or not shown.any():
            continue
        low, high = boxes.low[at][box][shown].astype(np.int64), boxes.high[at][box][shown].astype(np.int64)
        first, last = (int(low.min()), int(high.max())) if column.bounds is None else column.bounds
        mean = float(np.mean((high - low) / max(1, last - first)))
        found.append(Width(column.name, min(1.0, mean), float(np.mean(low == high))))
    return found


def row_weights(published: Published) -> Float64:
    """How many real people a row stands for, on average: counterfeits of its group are weighted out."""
    release, auxiliary = published.release, published.auxiliary
    size = np.bincount(release.group, minlength=release.boxes.count).astype(np.float64)
    real = size.copy()
    real[auxiliary.group] -= auxiliary.count
    weights: Float64 = (real / np.maximum(size, 1))[release.group]
    return weights
