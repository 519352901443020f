"""The boxes that a reader of a release sees: those of its groups, or those of its people if it is decoupled."""

import numpy as np

from reanon_core.inference.view.box_lookup import masks_at
from reanon_core.model.arrays import Int32, UInt64
from reanon_core.model.release import Boxes, Release


def group_masks_at(points: Int32, release: Release, masks: UInt64) -> UInt64:
    """The union of the masks of all groups that may contain each point, uint64[points, words].

    `masks` has a bit mask for each group. A group may contain a point if its box does; in a decoupled release, if the
    box of one of its people does.
    """
    return masks_at(points, *shown_masks(release, masks))


def shown_masks(release: Release, masks: UInt64) -> tuple[Boxes, UInt64]:
    """The boxes that a reader sees, and the union of the masks of all groups that each of them stands for."""
    rows = release.person_rows
    if rows is None:
        return release.boxes, masks
    united = np.zeros((rows.boxes.count, masks.shape[1]), dtype=np.uint64)
    np.bitwise_or.at(united, rows.box, masks[rows.group])
    return rows.boxes, united
