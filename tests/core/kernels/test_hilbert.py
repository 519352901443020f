"""The Hilbert curve, against a public implementation."""

import numpy as np
import pytest
from builders.examples import share_of
from hilbertcurve.hilbertcurve import HilbertCurve
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_core.kernels.hilbert import hilbert_bits, hilbert_indices, stable_order
from reanon_core.model.arrays import MISSING


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=share_of(60), deadline=None)
def test_indices_are_those_of_a_public_implementation(attributes: int, bits: int, seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 2**bits, (attributes, 20)).astype(np.int32)
    top = np.full(attributes, 2**bits - 1)
    ours = hilbert_indices(points, np.zeros(attributes, np.int64), top, bits)
    theirs = HilbertCurve(bits, attributes).distances_from_points(points.T.tolist())
    assert ours.tolist() == theirs


def test_neighbours_on_the_curve_are_neighbours_in_space() -> None:
    points = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij")).reshape(3, -1).astype(np.int32)
    order = np.argsort(hilbert_indices(points, np.zeros(3, np.int64), np.full(3, 7), 3))
    assert (np.abs(np.diff(points[:, order], axis=1)).sum(axis=0) == 1).all()


def test_a_missing_value_has_the_place_of_the_lowest() -> None:
    points = np.array([[MISSING, 5], [3, 3]], dtype=np.int32)
    index = hilbert_indices(points, np.array([5, 0]), np.array([7, 7]), 3)
    assert index[0] == index[1]


@pytest.mark.parametrize(("attributes", "widest", "bits"), [(3, 30, 5), (1, 0, 1), (10, 10**6, 6), (2, 2**31, 31)])
def test_bits_tell_codes_apart_while_an_index_can_hold_them(attributes: int, widest: int, bits: int) -> None:
    span = np.zeros(attributes, np.int64)
    span[0] = widest
    assert hilbert_bits(span) == bits


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=share_of(40), deadline=None)
def test_the_order_is_stable(bits: int, seed: int) -> None:
    keys = np.random.default_rng(seed).integers(0, 2**bits, 200, dtype=np.uint64) % np.uint64(50)
    assert stable_order(keys, bits).tolist() == np.argsort(keys, kind="stable").tolist()
