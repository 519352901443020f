"""The compiled split against the paper's words."""

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.split import split as literal_split

from reanon_core.bucketing import bucket_split
from reanon_core.bucketing.bucket_split import split_buckets
from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.kernels.ranks import DENSE_RANGE, dense_ranks, field_width
from reanon_core.kernels.split import MIDDLE
from reanon_core.model.arrays import MISSING
from reanon_core.recoding.attribute_scales import length_scales
from reanon_core.threads import thread_limit


def groups_of(group: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(np.flatnonzero(group == one).tolist()) for one in np.unique(group)}


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.tuples(st.integers(2, 4), st.integers(1, 7)), min_size=1, max_size=3),
    spread=st.sampled_from([3, 20, 300, 70_000, 10**9]),
    attributes=st.integers(1, 5),
    empty=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=share_of(60), deadline=None)
def test_the_compiled_split_makes_the_groups_of_the_literal_one(
    seed: int, sizes: list[tuple[int, int]], spread: int, attributes: int, empty: float
) -> None:
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *(length for lists, length in sizes for _ in range(lists))])
    entries = int(starts[-1])
    qi = rng.integers(-spread // 2, spread, size=(attributes, entries)).astype(np.int32)
    qi[rng.random(qi.shape) < empty] = MISSING
    no_one = rng.random(entries) < empty / 2
    row = np.where(no_one, COUNTERFEIT, np.arange(entries)).astype(np.int32)
    slot = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).astype(np.int32)
    signatures = Signatures.of([tuple(range(lists)) for lists, _ in sizes])
    extent = np.tile(np.array([[-spread // 2], [spread]], dtype=np.int64), attributes)
    layout = Layout(row, slot, starts, signatures.values)
    scales = length_scales(extent[1] - extent[0], layout.deepest)
    group = split_buckets(qi, layout, signatures, extent[0], scales)

    codes = [
        [None if no_one[e] or qi[a, e] == MISSING else int(qi[a, e]) for a in range(attributes)] for e in range(entries)
    ]
    expected, at = set(), 0
    for lists, length in sizes:
        bucket = [list(range(at + i * length, at + (i + 1) * length)) for i in range(lists)]
        at += lists * length
        expected |= {
            tuple(sorted(found))
            for found in literal_split(bucket, codes, [spread + spread // 2 + (spread % 2)] * attributes)
        }
    assert groups_of(group) == expected


def split_in_arrays(entries: np.ndarray, codes: np.ndarray) -> list[tuple[int, ...]]:
    """The literal split of one bucket, `entries` [lists, layers], with all schemes of an attribute at once."""
    waiting, found = [entries], []
    while waiting:
        node = waiting.pop()
        if node.shape[1] == 1:
            found.append(tuple(sorted(node[:, 0].tolist())))
            continue
        best = None
        for attribute in range(len(codes)):
            # The entries of a list are ascending, so a stable sort breaks ties by their numbers.
            ordered = np.take_along_axis(node, np.argsort(codes[attribute, node], axis=1, kind="stable"), axis=1)
            low, high = codes[:, ordered].min(axis=1), codes[:, ordered].max(axis=1)  # [d, layers]
            before = np.maximum.accumulate(high, axis=1) - np.minimum.accumulate(low, axis=1)
            after = np.maximum.accumulate(high[:, ::-1], axis=1) - np.minimum.accumulate(low[:, ::-1], axis=1)
            layers = np.arange(1, node.shape[1])
            cost = layers * before.sum(axis=0)[:-1] + layers[::-1] * after[:, ::-1].sum(axis=0)[1:]
            at = int(cost.argmin())
            if best is None or cost[at] < best[0]:
                best = (cost[at], ordered, at + 1)
        assert best is not None
        waiting += [np.sort(best[1][:, : best[2]], axis=1), np.sort(best[1][:, best[2] :], axis=1)]
    return found


@pytest.mark.parametrize("most", [1, 40, 400])
@pytest.mark.parametrize("threads", [1, 3])
def test_parts_and_threads_change_no_group(most: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    sizes = [(3, 40), (2, 0), (4, 7), (2, 1), (5, 25), (2, 0)]  # lists and layers: some buckets are empty
    starts = np.cumsum([0, *(length for lists, length in sizes for _ in range(lists))])
    row = np.where(rng.random(starts[-1]) < 0.1, COUNTERFEIT, rng.permutation(starts[-1])).astype(np.int32)
    slot = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).astype(np.int32)
    signatures = Signatures.of([tuple(range(lists)) for lists, _ in sizes])
    layout = Layout(row, slot, starts, signatures.values)
    qi = rng.integers(0, 30, (3, starts[-1])).astype(np.int32)
    scales = length_scales(np.full(3, 29), layout.deepest)
    whole = split_buckets(qi, layout, signatures, np.zeros(3, np.int64), scales)
    assert len(np.unique(whole)) == whole.max() + 1 == sum(length for _, length in sizes)
    monkeypatch.setattr(bucket_split, "PART_ENTRIES", most)
    with thread_limit(threads):
        parts = split_buckets(qi, layout, signatures, np.zeros(3, np.int64), scales)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.slow
def test_a_bucket_that_fits_in_no_cache_is_split_alike() -> None:
    rng, layers = np.random.default_rng(0), MIDDLE // 2 + 500
    codes = rng.integers(0, 1000, (2, 2 * layers)).astype(np.int32)
    layout = Layout(
        np.arange(2 * layers, dtype=np.int32),
        np.repeat(np.arange(2, dtype=np.int32), layers),
        np.array([0, layers, 2 * layers]),
        np.arange(2, dtype=np.int32),
    )
    scales = length_scales(np.array([999, 999]), layers)
    group = split_buckets(codes, layout, Signatures.of([(0, 1)]), np.zeros(2, np.int64), scales)
    order = np.argsort(group, kind="stable").reshape(-1, 2)
    expected = split_in_arrays(np.arange(2 * layers).reshape(2, layers), codes.astype(np.int64))
    assert {tuple(pair) for pair in order.tolist()} == set(expected)


@pytest.mark.parametrize(("distinct", "width"), [(1, 8), (127, 8), (128, 16), (32_767, 16), (32_768, 32)])
def test_a_field_has_room_for_every_rank_and_the_empty_one(distinct: int, width: int) -> None:
    assert field_width(distinct) == width


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=6), st.integers(1, 10**6))
def test_scaled_lengths_are_whole_comparable_and_never_overflow(spans: list[int], layers: int) -> None:
    scales = length_scales(np.array(spans), layers)
    normalised = [int(scale) * span for scale, span in zip(scales, spans, strict=True)]
    assert layers * sum(normalised) < 2**63
    assert max(normalised) <= 1.51 * min(normalised) or max(spans) > 2**30


@pytest.mark.parametrize("far", [0, DENSE_RANGE, 2**30])
def test_ranks_are_dense_whatever_the_spread(far: int) -> None:
    codes = np.array([5, MISSING, -3, 5, far], dtype=np.int32)
    ranks, values = dense_ranks(codes)
    assert values.tolist() == sorted({5, -3, far})
    assert [int(values[r]) if r >= 0 else None for r in ranks] == [5, None, -3, 5, far]
