"""The rules of assignment beyond the paper: existing buckets first, homes for scarce values."""

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_core.bucketing.assignment import HOME_SHARE, Assignment, _homes, assign
from reanon_core.bucketing.eligibility import deferred, is_eligible
from reanon_core.bucketing.signatures import Signatures


def array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@st.composite
def pools(draw: st.DrawFn) -> tuple[int, Signatures, np.ndarray, np.ndarray]:
    """m, known signatures (some below m values), the depth of their buckets, and an m-eligible pool."""
    m = draw(st.integers(2, 4))
    counts = array(draw(st.lists(st.integers(0, 60), min_size=m, max_size=9)))
    pool = counts - deferred(counts, m)
    subsets = st.sets(st.integers(0, len(pool) - 1), min_size=1).map(lambda values: tuple(sorted(values)))
    signatures = Signatures.of(draw(st.lists(subsets, max_size=6, unique=True)))
    depth = array(draw(st.lists(st.integers(0, 50), min_size=signatures.count, max_size=signatures.count)))
    return m, signatures, depth, pool


@pytest.mark.parametrize("how", ["paper", "stable", "deep"])
@given(case=pools())
@settings(max_examples=share_of(150), deadline=None)  # the first call compiles
def test_every_new_row_finds_a_bucket_of_at_least_m_values(
    case: tuple[int, Signatures, np.ndarray, np.ndarray], how: Assignment
) -> None:
    m, signatures, depth, pool = case
    given_pool, given_depth = pool.copy(), depth.copy()
    extended, layers = assign(signatures, depth, pool, m, how)
    assert np.bincount(extended.values, extended.per_slot(layers), len(pool)).astype(int).tolist() == pool.tolist()
    assert extended.tuples[: signatures.count] == signatures.tuples
    assert all(len(extended.tuples[number]) >= m for number in np.flatnonzero(layers))
    assert (pool == given_pool).all()
    assert (depth == given_depth).all()


@pytest.mark.parametrize("how", ["stable", "deep"])
def test_an_existing_bucket_is_filled_before_a_new_one_is_made(how: Assignment) -> None:
    signatures = Signatures.of([(0, 2), (1, 3)])
    extended, layers = assign(signatures, array([5, 5]), array([7, 6, 7, 6]), 2, how)
    assert extended.count == 2
    assert layers.tolist() == [7, 6]


def test_stable_fills_the_scarcest_value_first_and_deep_may_prefer_a_deeper_bucket() -> None:
    signatures, depth = Signatures.of([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]), array([900, 1, 1, 1, 1])
    filled = {how: assign(signatures, depth, array([10, 8, 7, 9]), 2, how)[1][0] for how in ("stable", "deep")}
    assert filled["deep"] > filled["stable"]


def test_a_scarce_value_has_one_home_with_the_most_frequent_values() -> None:
    pool = array([300, 280, 260, 240, 220, 200, 4, 7])
    extended, layers = assign(Signatures.of([]), array([]), pool, 3, "deep")
    for value, count in ((6, 4), (7, 7)):
        homes = [number for number, signature in enumerate(extended.tuples) if value in signature]
        assert len(homes) == 1
        assert layers[homes[0]] == count
        assert set(extended.tuples[homes[0]]) == {0, 1, value}
    spread = assign(Signatures.of([]), array([]), pool, 3, "paper")[0]
    assert sum(6 in signature for signature in spread.tuples) >= 1


def test_a_scarce_value_that_a_bucket_holds_gets_no_other_home() -> None:
    pool = array([300, 280, 260, 240, 220, 200, 4])
    extended, layers = assign(Signatures.of([(3, 4, 6)]), array([50]), pool, 3, "deep")
    assert [signature for signature in extended.tuples if 6 in signature] == [(3, 4, 6)]
    assert layers[0] >= 4


@given(st.lists(st.integers(0, 400), min_size=3, max_size=30), st.integers(2, 6))
def test_homes_hold_all_rows_of_their_value_and_at_most_their_share_of_the_rows(counts: list[int], m: int) -> None:
    pool = array(counts) - deferred(array(counts), m)
    homes = _homes(np.zeros(len(pool), dtype=np.bool_), pool, m)
    assert sum(m * layers for _, layers in homes) * HOME_SHARE <= pool.sum()
    left = pool.copy()
    for signature, layers in homes:
        assert len(signature) == m
        assert layers == left[list(signature)].min()
        left[list(signature)] -= layers
        assert is_eligible(left, m)


def test_assignment_of_many_values_visits_the_buckets_of_a_step_and_no_others() -> None:
    """Two regions of 20,000 values: a scan of all buckets at each step would take minutes."""
    pool = array([2, 3] * 10_000)
    signatures, depth = Signatures.of([]), array([])
    for own in (pool, pool[::-1].copy()):
        signatures, layers = assign(signatures, depth, own, 3, "stable")
        depth = np.append(depth, np.zeros(signatures.count - len(depth), np.int64)) + layers
        assert (
            np.bincount(signatures.values, signatures.per_slot(layers), len(own)).astype(int).tolist() == own.tolist()
        )
