"""The nearest box, and merged boxes, against loops over all boxes."""

import numpy as np
import pytest

from reanon_core.kernels.box_cuts import merge_small_boxes
from reanon_core.kernels.box_index import LEAF, index_boxes, nearest_boxes


@pytest.mark.parametrize("boxes", [1, 2, LEAF, LEAF + 1, 50])
def test_the_nearest_box_is_the_one_that_a_loop_over_all_boxes_finds(boxes: int) -> None:
    rng = np.random.default_rng(boxes)
    low = rng.integers(0, 20, (3, boxes)).astype(np.int32)
    high = (low + rng.integers(0, 6, (3, boxes))).astype(np.int32)
    points = rng.integers(-3, 30, (3, 60)).astype(np.int32)
    weight = np.array([1.0, 0.5, 0.25])
    found = nearest_boxes(index_boxes(low, high, weight), low, high, points, weight)
    for at, point in enumerate(points.T):
        gaps = (np.maximum(np.maximum(low.T - point, point - high.T), 0) * weight).sum(axis=1)
        volumes = np.log(high - low + 1.0).sum(axis=0)
        assert found[at] == min(range(boxes), key=lambda box: (gaps[box], round(volumes[box], 9), box))


def test_small_boxes_are_merged_with_the_neighbour_that_loses_least() -> None:
    low = np.array([[0, 10, 13, 40, 99]], dtype=np.int32)
    high = np.array([[4, 11, 19, 49, 99]], dtype=np.int32)
    size = np.array([5, 1, 6, 7, 0], dtype=np.int64)
    assert merge_small_boxes(low, high, size, 5).tolist() == [0, 2, 2, 3, 4]


def test_merged_boxes_have_enough_rows_even_if_all_become_one() -> None:
    rng = np.random.default_rng(3)
    for least in (2, 5, 12, 40):
        low = rng.integers(0, 20, (2, 12)).astype(np.int32)
        high = (low + 2).astype(np.int32)
        size = rng.integers(0, 7, 12)
        size[0] += 40
        into = merge_small_boxes(low, high, size, least)
        rows = np.bincount(into, weights=size, minlength=12)
        assert (rows[into[size > 0]] >= least).all()
        assert (into[size == 0] == np.flatnonzero(size == 0)).all()
