"""Cuts of boxes: both sides keep enough rows, and the first cut is the one that gains most, tried one by one."""

import numpy as np
import pytest

from reanon_core.kernels.box_cuts import Columns, cut_rows
from reanon_core.model.arrays import Int32


def loss(codes: Int32, least: int) -> float:
    """The root of the summed squares of the distances from an even spread, position by position, and the width."""
    low, high = int(codes.min()), int(codes.max())
    width, rows = high - low + 1, len(codes)
    squares = sum((np.count_nonzero(codes <= at) - rows * (at - low + 1) / width) ** 2 for at in range(low, high + 1))
    return float(np.sqrt(squares * width)) + rows * max(width, least)


def gains(rows: Int32, least: int, domain: float) -> dict[tuple[int, int], float]:
    """What each cut of one set gains; narrower than three positions is not published."""
    found = {}
    for attribute, codes in enumerate(rows.T):
        for code in np.unique(codes)[:-1]:
            left, right = codes[codes <= code], codes[codes > code]
            if min(len(left), len(right)) >= least:
                both = loss(left, 3) + loss(right, 3)
                found[attribute, int(code)] = (loss(codes, 3) - both) / domain
    return found


@pytest.mark.parametrize("spread", [5, 12, 4000])
def test_the_first_cut_is_the_one_that_gains_most(spread: int) -> None:
    columns = Columns(
        np.tile(np.arange(spread), (2, 1)), np.tile(np.arange(spread), (2, 1)), np.full(2, 3), np.full(2, 10.0)
    )
    cut = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = np.minimum(rng.geometric(3 / spread, (9, 2)), spread - 1).astype(np.int32)
        least = 5 if seed % 2 else 4  # nine rows: none of five, or one cut of four
        piece, pieces = cut_rows(rows.copy(), columns, np.array([0, 9]), least)
        found = gains(rows, least, 10.0)
        if not found or max(found.values()) < 1e-6:
            assert pieces == 1
            continue
        cut += 1
        assert pieces == 2
        left = piece == piece[np.lexsort(rows.T[::-1])[0]]
        sides = [
            value
            for (attribute, code), value in found.items()
            if np.array_equal(left, rows[:, attribute] <= code) or np.array_equal(~left, rows[:, attribute] <= code)
        ]
        assert max(sides) == pytest.approx(max(found.values()))
    assert cut > 5


def test_every_piece_has_enough_rows_of_one_set_and_pieces_are_numbered_set_by_set() -> None:
    rng = np.random.default_rng(3)
    columns = Columns(np.tile(np.arange(50), (3, 1)), np.tile(np.arange(50), (3, 1)), np.ones(3, int), np.full(3, 50.0))
    rows = rng.integers(0, 50, (300, 3)).astype(np.int32)
    piece, pieces = cut_rows(rows, columns, np.array([0, 100, 107, 300]), 6)
    assert np.bincount(piece).min() >= 6
    assert pieces == len(np.unique(piece)) > 20
    assert piece[:100].max() < piece[100:107].min() == piece[100:107].max() < piece[107:].min()
