"""Point masks: the values that a release leaves possible at a point, for people who come a part at a time.

People of different parts share quasi-identifier values. A lookup among all boxes takes long, so what was found for a
point is kept.
"""

import numpy as np
import numpy.typing as npt

from reanon_core.inference.view.box_lookup import distinct_points, masks_at
from reanon_core.inference.view.shown_boxes import shown_masks
from reanon_core.inference.view.value_sets import group_masks
from reanon_core.model.arrays import Int32, UInt64, forget_pages
from reanon_core.model.release import Release

MOST_POINTS = 1 << 20
"""No more points of a release are kept."""


class PointMasks:
    """The boxes of a release with the values of each, and the points that were looked up among them."""

    def __init__(self, release: Release, values: int, most: int | None = None) -> None:
        self._boxes, self._masks = shown_masks(release, group_masks(release, values))
        self._most = MOST_POINTS if most is None else most
        self._points: npt.NDArray[np.void] = _comparable(np.empty((len(self._boxes.low), 0), np.int32))
        self._found = np.empty((0, self._masks.shape[1]), np.uint64)

    def at(self, points: Int32) -> UInt64:
        """The union of the masks of all groups that may contain each point, uint64[points, words]."""
        kept, inverse = distinct_points(points)
        distinct = np.ascontiguousarray(points[:, kept])
        asked = _comparable(distinct)
        place = self._points.searchsorted(asked)
        known = place < len(self._points)
        known[known] = self._points[place[known]] == asked[known]
        unions = np.empty((len(kept), self._masks.shape[1]), np.uint64)
        unions[known] = self._found[place[known]]
        new = np.flatnonzero(~known)
        if len(new):
            unions[new] = masks_at(np.ascontiguousarray(distinct[:, new]), self._boxes, self._masks)
            forget_pages(self._boxes.low, self._boxes.high, self._boxes.missing)
            self._keep(asked[new], unions[new])
        return unions[inverse]

    def _keep(self, points: npt.NDArray[np.void], masks: UInt64) -> None:
        if len(self._points) + len(points) > self._most:
            return
        every = np.concatenate([self._points, points])
        order = np.argsort(every)
        self._points, self._found = every[order], np.concatenate([self._found, masks])[order]


def _comparable(points: Int32) -> npt.NDArray[np.void]:
    """Each point of codes [d, n] as one item that can be compared; the order is any."""
    rows = np.ascontiguousarray(points.T)
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).reshape(-1)
