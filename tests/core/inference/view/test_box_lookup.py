"""Box lookup: the union over every box that contains a point, whatever the size of blocks and bins."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.attacks import inside

from reanon_core.inference.view import box_lookup
from reanon_core.inference.view.box_lookup import masks_at
from reanon_core.inference.view.value_sets import full_masks, mask_sizes, only_values
from reanon_core.model.arrays import MISSING
from reanon_core.model.release import Boxes


def drawn(random: Random, *, attributes: int, points: int, boxes: int, codes: int) -> tuple[np.ndarray, Boxes]:
    """Random points and boxes, with missing values and every flag."""
    numbers = np.random.default_rng(random.randrange(2**32))
    qi = numbers.integers(-codes, codes, size=(attributes, points)).astype(np.int32)
    qi[numbers.random(qi.shape) < 0.2] = MISSING
    ends = np.sort(numbers.integers(-codes, codes, size=(2, attributes, boxes)), axis=0).astype(np.int32)
    missing = numbers.integers(0, 3, size=(attributes, boxes)).astype(np.int8)
    missing[numbers.random(missing.shape) < 0.5] = 0
    ends[:, missing == 2] = MISSING
    return qi, Boxes(ends[0], ends[1], missing)


def expected(points: np.ndarray, boxes: Boxes, masks: np.ndarray) -> np.ndarray:
    unions = np.zeros((points.shape[1], masks.shape[1]), np.uint64)
    for p in range(points.shape[1]):
        for box in range(boxes.count):
            if inside(boxes, box, tuple(points[:, p].tolist())):
                unions[p] |= masks[box]
    return unions


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3), st.integers(0, 12), st.integers(0, 150))
def test_a_point_gets_the_mask_of_every_box_that_contains_it(
    random: Random, attributes: int, points: int, boxes: int
) -> None:
    qi, some = drawn(random, attributes=attributes, points=points, boxes=boxes, codes=random.choice([2, 5, 50]))
    words = random.choice([1, 2])
    bits = [[1 << random.randrange(64) for _ in range(words)] for _ in range(boxes)]
    masks = np.array(bits, np.uint64).reshape(boxes, words)
    indexed, scanned = masks_at(qi, some, masks, scanned=-1), masks_at(qi, some, masks)
    assert np.array_equal(indexed, expected(qi, some, masks))
    assert np.array_equal(scanned, indexed)


@pytest.mark.parametrize("codes", [40, 2**30])
def test_blocks_and_bins_change_nothing(monkeypatch: pytest.MonkeyPatch, codes: int) -> None:
    qi, some = drawn(Random(7), attributes=2, points=300, boxes=300, codes=codes)
    masks = (np.uint64(1) << np.arange(300, dtype=np.uint64) % np.uint64(64))[:, None]
    whole = masks_at(qi, some, masks)
    assert np.array_equal(whole, expected(qi, some, masks))
    monkeypatch.setattr(box_lookup, "BLOCK_BYTES", 1)
    assert np.array_equal(masks_at(qi, some, masks), whole)
    monkeypatch.setattr(box_lookup, "BINS", 4)
    assert np.array_equal(masks_at(qi, some, masks), whole)


def test_more_attributes_than_one_key_can_hold_are_distinguished() -> None:
    numbers = np.random.default_rng(3)
    qi = numbers.integers(0, 2**30, size=(9, 400)).astype(np.int32)
    qi[:, 200:] = qi[:, :200]
    low = np.minimum(qi[:, :20], qi[:, 20:40])
    some = Boxes(low, np.maximum(qi[:, :20], qi[:, 20:40]), np.zeros(low.shape, np.int8))
    masks = (np.uint64(1) << np.arange(20, dtype=np.uint64))[:, None]
    assert np.array_equal(masks_at(qi, some, masks, scanned=-1), expected(qi, some, masks))


@pytest.mark.parametrize("values", [1, 63, 64, 65, 130])
def test_masks_count_and_name_their_values(values: int) -> None:
    assert mask_sizes(full_masks(2, values)).tolist() == [values, values]
    single = np.zeros((values, full_masks(1, values).shape[1]), np.uint64)
    for value in range(values):
        single[value, value // 64] = 1 << value % 64
    assert only_values(single).tolist() == list(range(values))
