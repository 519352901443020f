"""The volume of boxes: how many points of the grid of codes they contain."""

import numpy as np

from reanon_core.model.arrays import MISSING, Float64, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING, SOME_MISSING


def group_volumes(entry: Entry) -> Float64:
    """The number of points in the box of each group, where a missing value is one more point of its attribute."""
    boxes = entry.release.boxes
    widths = boxes.high.astype(np.float64) - boxes.low + 1 + (boxes.missing == SOME_MISSING)
    return np.asarray(np.prod(np.where(boxes.missing == ALL_MISSING, 1.0, widths), axis=0), dtype=np.float64)


def table_volume(entry: Entry) -> float:
    """The number of points in the smallest box that contains all selected people."""
    volume = 1.0
    for codes in entry.snapshot.answer().qi:
        present = codes[codes != MISSING]
        width = float(present.max()) - float(present.min()) + 1 if len(present) else 0.0
        volume *= max(1.0, width + (len(present) < len(codes)))
    return volume


def group_sizes(entry: Entry, *, real: bool = False) -> tuple[Int64, Int64]:
    """The number of rows of each group, and how many of them are not selected: counterfeits and dirty records.

    With `real`, dirty records count as selected rows.
    """
    groups = entry.release.boxes.count
    sizes = np.bincount(entry.release.group, minlength=groups)
    extra = np.zeros(groups, dtype=np.int64)
    extra[entry.auxiliary.group] = entry.auxiliary.count
    if entry.snapshot.selected is not None and not real:
        place = entry.snapshot.persons.searchsorted(entry.trace.persons)
        dirty = ~entry.snapshot.selected[place] & ~entry.snapshot.invented[place]
        extra += np.bincount(entry.release.group[entry.trace.rows[dirty]], minlength=groups)
    return sizes.astype(np.int64), extra
