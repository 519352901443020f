"""Eligibility, balancing, assignment and moving, against brute force on small tables."""

from itertools import product

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_core.bucketing.assignment import assign
from reanon_core.bucketing.balancing import balance
from reanon_core.bucketing.count_plan import BucketCounts, assign_new_rows, balance_buckets
from reanon_core.bucketing.eligibility import deferred, is_eligible, padding, require_eligible
from reanon_core.bucketing.layout import lay_out
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.errors import NotEligible, Unpublishable

few_counts = st.lists(st.integers(0, 12), min_size=1, max_size=6)
parameters = st.integers(2, 4)


def array(counts: list[int]) -> np.ndarray:
    return np.array(counts, dtype=np.int64)


def signatures_of(draw: st.DrawFn, values: int, m: int) -> Signatures:
    sets = draw(st.lists(st.frozensets(st.integers(0, values - 1), min_size=min(m, values)), max_size=5, unique=True))
    return Signatures.of([tuple(sorted(one)) for one in sets if len(one) >= m])


@st.composite
def buckets(draw: st.DrawFn) -> tuple[int, Signatures, np.ndarray, np.ndarray]:
    """m, signatures, old rows in each slot, and an m-eligible pool of new rows."""
    m = draw(parameters)
    pool = array(draw(st.lists(st.integers(0, 9), min_size=m, max_size=6)))
    pool -= deferred(pool, m)
    signatures = signatures_of(draw, len(pool), m)
    slots = len(signatures.values)
    return m, signatures, array(draw(st.lists(st.integers(0, 4), min_size=slots, max_size=slots))), pool


@given(few_counts, parameters)
def test_deferring_keeps_the_most_rows_that_are_eligible(counts: list[int], m: int) -> None:
    counts = [min(count, 4) for count in counts[:4]]
    kept = array(counts) - deferred(array(counts), m)
    assert is_eligible(kept, m)
    best = max(sum(part) for part in product(*(range(c + 1) for c in counts)) if is_eligible(array(list(part)), m))
    assert int(kept.sum()) == best


@given(few_counts, parameters)
def test_padding_adds_the_least_number_of_counterfeits(counts: list[int], m: int) -> None:
    if len(counts) < m and not is_eligible(array(counts), m):
        with pytest.raises(Unpublishable, match="publish a later snapshot, with more values"):
            padding(array(counts), m, np.random.default_rng(0))
        return
    pads = padding(array(counts), m, np.random.default_rng(0))
    padded = array(counts) + pads
    assert is_eligible(padded, m)
    assert padded.max() == max(counts)
    assert int(pads.sum()) == max(0, m * max(counts) - sum(counts))


def test_the_refusal_names_value_count_bound_and_the_largest_m_that_works() -> None:
    with pytest.raises(NotEligible) as caught:
        require_eligible(array([5, 2, 4]), 3, ("flu", "cold", "asthma"))
    error = caught.value
    assert (error.value, error.count, error.rows, error.m, error.largest_m) == ("flu", 5, 11, 3, 2)
    assert "'flu' has 5 of 11 new rows, the bound is 3" in str(error)
    assert "in a series that begins, m = 2 would work" in str(error)


def literal_balance(signatures: Signatures, old: np.ndarray, pool: np.ndarray, m: int) -> tuple[list[int], list[int]]:
    """Phase 2 of the specification, row by row."""
    pool, taken, counterfeits = pool.tolist(), [0] * len(old), [0] * len(old)
    for signature in sorted(signatures.tuples):
        first = int(signatures.offsets[signatures.number[signature]])
        depth = max((int(old[first + i]) for i in range(len(signature))), default=0)
        for i, value in enumerate(signature):
            for _ in range(depth - int(old[first + i])):
                less = [n - (v == value) for v, n in enumerate(pool)]
                if pool[value] and max(less) * m <= sum(less):
                    pool, taken[first + i] = less, taken[first + i] + 1
                else:
                    counterfeits[first + i] += 1
    return taken, counterfeits


@given(buckets())
def test_balancing_in_bulk_equals_balancing_row_by_row(case: tuple[int, Signatures, np.ndarray, np.ndarray]) -> None:
    m, signatures, old, pool = case
    taken, counterfeits = balance(signatures, old, pool, m)
    assert (taken.tolist(), counterfeits.tolist()) == literal_balance(signatures, old, pool, m)


@pytest.mark.parametrize("balancing", ["blind", "filled"])
@pytest.mark.parametrize("how", ["paper", "stable", "deep"])
@given(case=buckets())
@settings(max_examples=share_of(200))
def test_every_bucket_ends_balanced_and_every_new_row_is_placed(
    case: tuple[int, Signatures, np.ndarray, np.ndarray], how: str, balancing: str
) -> None:
    m, signatures, old, pool = case
    counts = BucketCounts(signatures, old, np.zeros_like(old)[None], pool[None])
    plan = assign_new_rows(counts, balance_buckets(counts, m, balancing), m, how)
    taken = plan.taken[0]
    total = taken + plan.counterfeits
    total[: len(old)] += old
    for number in range(plan.signatures.count):
        slots = total[plan.signatures.offsets[number] : plan.signatures.offsets[number + 1]]
        assert len(set(slots.tolist())) == 1
    assert np.bincount(plan.signatures.values, taken, len(pool)).astype(int).tolist() == pool.tolist()
    assert all(len(signature) >= m for signature in plan.signatures.tuples)


@given(few_counts, parameters)
def test_the_paper_assigns_with_the_smallest_beta_and_the_largest_alpha(counts: list[int], m: int) -> None:
    pool = array(counts) - deferred(array(counts), m)
    if not pool.any():
        return
    first, layers = assign(Signatures.of([]), array([]), pool, m, "paper")
    ranked = sorted(range(len(pool)), key=lambda v: (-pool[v], v))
    for beta in range(m, int((pool > 0).sum()) + 1):
        feasible = [
            alpha
            for alpha in range(1, int(pool[ranked[beta - 1]]) + 1)
            if is_eligible(pool - alpha * np.isin(np.arange(len(pool)), ranked[:beta]), m)
        ]
        if feasible:
            assert first.tuples[0] == tuple(sorted(ranked[:beta]))
            assert layers[0] >= max(feasible)  # the same signature may come up again in a later iteration
            return
    raise AssertionError("Lemma 5")


def test_rows_move_to_slots_of_their_own_value_in_keyed_order() -> None:
    signatures = Signatures.of([(0, 1), (1, 2)])
    sensitive = np.array([0, 1, 1, 2, 1], dtype=np.int32)
    old_slot = np.array([0, -1, -1, -1, -1], dtype=np.int32)
    layout = lay_out(
        values=signatures.values,
        old_slot=old_slot,
        sensitive=sensitive,
        withheld=array([0, 1, 0]),
        taken=array([0, 1, 1, 1]),
        pads=array([0, 0, 0]),
        counterfeits=array([0, 0, 0, 0]),
        order=np.array([5, 4, 3, 2, 1], dtype=np.uint64),
        allocation=None,
        rng=np.random.default_rng(0),
    )
    # Value 1 has the rows 4, 2, 1 in keyed order: the first is withheld, the next two go to slots 1 and 2.
    assert layout.row.tolist() == [0, 2, 1, 3]
    assert layout.slot.tolist() == [0, 1, 2, 3]
