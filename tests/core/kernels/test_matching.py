"""The kernels of the sequential technique against brute force."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from builders.worlds import CITIES, table
from oracles.worlds import cheapest
from scipy.optimize import linear_sum_assignment

from reanon_core.kernels.closures import closure_span
from reanon_core.kernels.ranks import column_ids
from reanon_core.kernels.rings import random_factors
from reanon_core.kernels.transport import transport
from reanon_core.model.schema import QuasiIdentifier
from reanon_core.techniques.sequential import generalization
from reanon_core.techniques.sequential.buckets import FixedSize, cut_buckets, space_of
from reanon_core.techniques.sequential.generalization import generalize, non_sequential
from reanon_core.techniques.sequential.loss_measure import measure_of

EXTENT = np.array([[0, 0, 0], [9, 5, 3]])


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_transport_costs_what_the_assignment_of_single_units_costs(dtype: type) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        supply = rng.integers(1, 5, rng.integers(1, 8))
        demand = np.bincount(rng.integers(0, rng.integers(1, 8), supply.sum()))
        demand = demand[demand > 0]
        cost = rng.integers(0, rng.choice([2, 9, 1000]), (len(supply), len(demand))).astype(dtype)
        origin, target, amount = transport(
            cost, supply, demand, np.int64(2**62) if dtype is np.int64 else np.int32(2**30)
        )
        assert (amount > 0).all()
        assert np.array_equal(np.bincount(origin, amount, len(supply)), supply)
        assert np.array_equal(np.bincount(target, amount, len(demand)), demand)
        units = cost[np.repeat(np.arange(len(supply)), supply)][:, np.repeat(np.arange(len(demand)), demand)]
        assert (cost[origin, target] * amount).sum() == units[linear_sum_assignment(units)].astype(np.int64).sum()


def widths(low: tuple[int, ...], high: tuple[int, ...], tree: bool) -> int:
    """The number of values of the closure, less one: an interval, or the leaves below the lowest common node."""
    if not tree or low == high:
        return high[0] - low[0]
    paths = [set(CITIES.paths[code]) for code in (low[0], high[0])]
    shared = [label for label in CITIES.paths[low[0]] if label in paths[1]]
    return sum(shared[0] in path for path in CITIES.paths) - 1


def cost_of(points: list[tuple[int, ...]]) -> int:
    """The loss of the closure of some people in units of the measure, from the definition."""
    total = 0
    for attribute, codes in enumerate(zip(*points, strict=True)):
        span = widths((min(codes),), (max(codes),), attribute == 1)
        total += span * 45 // (9, 5, 3)[attribute]
    return total


@pytest.mark.parametrize("seed", range(25))
def test_two_worlds_are_matched_at_the_least_loss_there_is(seed: int) -> None:
    """Brute force over all matchings of each component, for trees and intervals, with cancellation on."""
    snapshot = table(Random(seed), 10, values=2)
    qi, suffix = snapshot.qi, snapshot.sensitive
    images = np.stack([np.random.default_rng(seed).permutation(10), np.arange(10)]).astype(np.int32)
    measure = measure_of(snapshot.schema.quasi_identifiers, qi, EXTENT, "lm")
    assert measure.unit == 45
    rows = generalize(measure.places(qi), suffix, images, measure, np.random.default_rng(seed))
    points = [tuple(column) for column in qi.T.tolist()]
    expected = 0
    for value in (0, 1):
        left = [n for n in range(10) if suffix[images[0, n]] == value]
        right = [n for n in range(10) if suffix[n] == value]
        expected += cheapest([[cost_of([points[i], points[j]]) for j in right] for i in left])
    assert measure.losses(rows.low, rows.high).sum() == expected


def test_entropy_is_matched_at_the_least_loss_too_though_wider_may_lose_less() -> None:
    for seed in range(15):
        snapshot = table(Random(seed), 9, values=3)
        qi, suffix = snapshot.qi[:2], snapshot.sensitive
        images = np.stack([np.random.default_rng(seed).permutation(9), np.arange(9)]).astype(np.int32)
        measure = measure_of(snapshot.schema.quasi_identifiers[:2], qi, EXTENT[:, :2], "em")
        places = measure.places(qi)
        rows = generalize(places, suffix, images, measure, np.random.default_rng(seed))

        def pair(i: int, j: int, places: np.ndarray = places, measure: object = measure) -> int:
            both = non_sequential(places[:, [i, j]], np.array([[0, 1], [1, 0]], np.int32), np.array([0, 1]), measure)  # type: ignore[arg-type]
            return int(measure.losses(both.low, both.high)[0])  # type: ignore[attr-defined]

        expected = 0
        for value in range(3):
            left = [n for n in range(9) if suffix[images[0, n]] == value]
            right = [n for n in range(9) if suffix[n] == value]
            expected += cheapest([[pair(i, j) for j in right] for i in left])
        assert measure.losses(rows.low, rows.high).sum() == expected


@pytest.mark.parametrize("cells", [1, 7, 30])
def test_a_component_over_the_budget_is_cut_and_never_loses_more_than_the_plain_release(cells: int) -> None:
    snapshot = table(Random(cells), 60, values=3)
    rng = np.random.default_rng(cells)
    images = np.stack([*(rng.permutation(60) for _ in range(3)), np.arange(60)]).astype(np.int32)
    measure = measure_of(snapshot.schema.quasi_identifiers, snapshot.qi, EXTENT, "lm")
    places = measure.places(snapshot.qi)
    rows = generalize(places, snapshot.sensitive, images, measure, np.random.default_rng(0), cells=cells)
    plain = non_sequential(places, images, np.arange(60), measure)
    assert rows.cut > 0
    assert measure.losses(rows.low, rows.high).sum() <= measure.losses(plain.low, plain.high).sum()
    for world, seen in enumerate(rows.person):
        assert sorted(seen.tolist()) == list(range(60))
        assert np.array_equal(snapshot.sensitive[images[world, seen]], snapshot.sensitive[images[-1, rows.person[-1]]])


def test_the_largest_table_of_costs_takes_200_megabytes() -> None:
    assert generalization.CELLS * np.dtype(np.int32).itemsize == 200_000_000


@pytest.mark.parametrize("seed", range(10))
def test_buckets_are_diverse_and_cannot_be_cut_further(seed: int) -> None:
    snapshot = table(Random(seed), 40, values=4)
    space = space_of(snapshot.schema.quasi_identifiers, snapshot.qi, EXTENT)
    bucket = cut_buckets(space, snapshot.sensitive, FixedSize(2, len(snapshot.qi)), ell=2)
    for one in range(int(bucket.max()) + 1):
        mine = np.flatnonzero(bucket == one)
        assert max(Counter(snapshot.sensitive[mine].tolist()).values()) * 2 <= len(mine)
        assert not cuttable(snapshot.qi[:, mine], snapshot.sensitive[mine], 2)


def cuttable(qi: np.ndarray, sensitive: np.ndarray, ell: int) -> bool:
    """Whether a boundary between values, or children of the lowest common node, leaves both sides diverse."""
    for attribute, codes in enumerate(qi):
        for boundary in range(int(codes.min()), int(codes.max())):
            left = codes <= boundary
            if attribute == 1 and not separates(codes, boundary):
                continue
            sides = [Counter(sensitive[side].tolist()) for side in (left, ~left)]
            if all(max(side.values()) * ell <= sum(side.values()) for side in sides):
                return True
    return False


def separates(codes: np.ndarray, boundary: int) -> bool:
    """Whether the last leaf before the cut and the first after it lie below different children of the common node."""
    here, there = int(codes[codes <= boundary].max()), int(codes[codes > boundary].min())
    low, high = CITIES.paths[int(codes.min())], CITIES.paths[int(codes.max())]
    common = next(label for label in low if label in high)
    child = [path[path.index(common) - 1] for path in (CITIES.paths[here], CITIES.paths[there])]
    return child[0] != child[1]


def test_the_first_cut_is_the_one_that_gains_most() -> None:
    """One attribute, two heaps far apart: the cut lies between them."""
    qi = np.array([[0, 1, 1, 2, 50, 51, 52, 52]], np.int32)
    space = space_of((QuasiIdentifier(name="a"),), qi, np.array([[0], [60]]))
    bucket = cut_buckets(space, np.array([0, 1, 0, 1, 0, 1, 0, 1], np.int32), FixedSize(2, 1), ell=2)
    assert len({*bucket[:4].tolist()} & {*bucket[4:].tolist()}) == 0


@pytest.mark.parametrize(("sizes", "ell"), [((4, 5, 9), 4), ((3, 3), 3), ((30,), 7), ((2, 7), 2)])
def test_factors_are_permutations_that_use_every_step_once(sizes: tuple[int, ...], ell: int) -> None:
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    offsets = random_factors(start, ell, np.array([5, 6], np.uint64))
    assert all(sorted(steps) == list(range(1, ell)) for steps in offsets.T.tolist())
    for begin, end in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        for factor in offsets[:, begin:end]:
            assert sorted(((np.arange(end - begin) + factor) % (end - begin)).tolist()) == list(range(end - begin))


def test_equal_columns_get_equal_numbers_in_lexicographic_order() -> None:
    rng = np.random.default_rng(1)
    rows = rng.choice([-(2**31), -5, 0, 7, 2**31 - 1], (4, 200)).astype(np.int32)
    number = column_ids(rows)
    order = sorted(set(map(tuple, rows.T.tolist())))
    assert number.tolist() == [order.index(tuple(column)) for column in rows.T.tolist()]


def test_the_span_of_a_closure_is_the_number_of_values_it_covers_less_one() -> None:
    snapshot = table(Random(0), 10)
    space = space_of(snapshot.schema.quasi_identifiers, snapshot.qi, EXTENT)
    for attribute, last in ((0, 9), (1, 5)):
        part = (space.tree[attribute], int(space.depths[attribute]), space.leaves[attribute])
        for low in range(last + 1):
            for high in range(low, last + 1):
                assert closure_span(low, high, *part) == widths((low,), (high,), attribute == 1)
