"""Regions: cut from quasi-identifiers and sizes alone, and entered in whole layers, so that they tell no value."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from builders.examples import share_of
from builders.regions import cut_small_regions
from core.bucketing.test_blindness import VALUES, counts_of, relabelled, schema, snapshots
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reanon_core.bucketing import regions
from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.regions import allocated_slots, are_merged, cells_of, merged, shown_values
from reanon_core.bucketing.roster import NO_EPISODE
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, Unpublishable
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

REGIONAL = MInvariance(m=2, not_eligible="blocks", regions="sizes")


@pytest.fixture
def small_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions and pilots of four rows or more; any eligible pilot allows them."""
    cut_small_regions(monkeypatch, least=2, rows=4)


def codes(rows: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 50, (2, rows)).astype(np.int32)


@given(rows=st.integers(0, 3000), m=st.integers(2, 5), pilot=st.booleans(), missing=st.booleans())
@settings(max_examples=share_of(50), deadline=None)
def test_every_new_row_is_in_the_pilot_or_in_a_region_of_enough_rows(
    rows: int, m: int, pilot: bool, missing: bool
) -> None:
    qi = codes(rows)
    if missing:
        qi[0, ::3] = MISSING
    cell = cells_of(qi, m, 6, pilot=pilot)
    sizes = np.bincount(cell, minlength=2)
    assert (sizes[1:] > 0).all() or rows == 0
    assert len(sizes) == 2 or sizes[1:].min() >= regions.LEAST_ROWS * m
    assert sizes[0] in ({0, max(regions.LEAST_ROWS * m, rows // regions.PILOT_SHARE)} if pilot else {0})


def test_regions_are_boxes_and_small_tables_have_one() -> None:
    qi = codes(4000)
    cell = cells_of(qi, 2, 6, pilot=False)
    assert cell.max() > 4
    low, high = (
        np.array([qi[:, cell == one].__getattribute__(end)(axis=1) for one in np.unique(cell)])
        for end in ("min", "max")
    )
    for one, other in permutations(range(len(low)), 2):
        assert ((high[one] < low[other]) | (high[other] < low[one])).any()
    assert cells_of(codes(60), 2, 6, pilot=True).tolist() == [1] * 60


def test_cells_are_merged_where_a_value_is_frequent_in_what_is_shown() -> None:
    none = np.zeros(4, np.int64)
    even, uneven = np.array([5, 5, 5, 5]), np.array([8, 4, 4, 4])
    cells = np.stack([even, uneven, uneven])
    assert not are_merged(cells, none, 2)  # the pilot decides
    assert are_merged(cells, uneven, 2)  # the buckets of old rows decide
    assert are_merged(np.stack([none, even]), none, 2)  # nothing is known
    assert merged(cells).tolist() == [[5, 5, 5, 5], [16, 8, 8, 8]]
    signatures = Signatures.of([(0, 1), (1, 2)])
    assert shown_values(signatures, np.array([3, 1]), 4).tolist() == [3, 4, 1, 0]


def test_new_rows_of_a_region_and_a_value_fill_its_slots_in_the_given_order() -> None:
    region, sensitive = np.array([1, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 1])
    taken = np.array([[0, 1, 1, 0], [1, 0, 1, 1]])  # of the slots of {0, 1} and {0, 1}, in this order
    values = np.array([0, 1, 0, 1], np.int32)
    in_order = np.array([2, 4, 0, 3, 1], np.int32)
    assert allocated_slots(region, sensitive, in_order, taken, values).tolist() == [2, 2, 0, 3, 1]


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("assignment", ["paper", "stable", "deep"])
@given(seed=st.integers(0, 2**32 - 1), episodes=st.booleans(), shift=st.integers(1, VALUES - 1))
@example(seed=253, episodes=True, shift=1)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_regions_and_their_layers_are_the_same_for_a_relabelled_bucket(
    assignment: str, seed: int, episodes: bool, shift: int
) -> None:
    """Lemmas 2 to 5 with regions. Where a region takes blocks, its draw may differ: that is Lemma 2 for one region."""
    change = "episode" if episodes else "refuse"
    technique = replace(REGIONAL, assignment=assignment, on_sensitive_change=change)
    state, rng = technique.initial_state(), np.random.default_rng(seed)
    for snapshot in snapshots(seed, episodes=episodes, people=32):
        try:
            plan = technique.plan(snapshot, state, rng)
        except Unpublishable:
            return
        divided, counts = counts_of(technique, snapshot, state)
        layered = ~divided.counts.blocked.any(axis=1)
        for bucket in np.unique(plan.signature[plan.signature >= 0]):
            first, last = plan.signatures.offsets[bucket], plan.signatures.offsets[bucket + 1]
            values = plan.signatures.values[first:last]
            mapping = np.arange(VALUES, dtype=np.int32)
            mapping[values] = np.roll(values, shift)
            latest = state.roster.sensitive
            inside = (state.roster.signature == bucket) & (latest != NO_EPISODE)
            roster = replace(state.roster, sensitive=np.where(inside, mapping[latest], latest))
            other = relabelled(snapshot, plan.signature, bucket, mapping)
            divided_other, counts_other = counts_of(technique, other, replace(state, roster=roster))
            assert divided_other.region.tolist() == divided.region.tolist()
            if layered.all():
                assert divided_other.counts.pool.tolist() == divided.counts.pool.tolist()
                assert counts_other.taken.tolist() == counts.taken.tolist()
                moved = np.arange(len(plan.signatures.values))
                moved[first:last] = first + np.searchsorted(values, mapping[values])
                assert counts_other.counterfeits[moved].tolist() == counts.counterfeits.tolist()
            assert (~divided_other.counts.blocked.any(axis=1)).tolist() == layered.tolist()
            assert divided_other.counts.pool[layered].tolist() == divided.counts.pool[layered].tolist()
        state = technique.advance(state, snapshot, plan)


@pytest.mark.usefixtures("small_regions")
def test_a_region_that_is_not_eligible_takes_blocks_and_the_others_take_layers() -> None:
    ages = np.array([[*range(8), *range(90, 98)]], np.int32)
    qi = np.vstack([ages, ages])
    first = Snapshot(schema(), np.arange(16), qi, np.array([0, 1, 2, 3, 1, 2, 3, 0] * 2, np.int32))
    crowded = np.array([0, 0, 0, 0, 0, 1, 2, 3, *[0, 1, 2, 3] * 2], np.int32)
    state = REGIONAL.initial_state()
    state = REGIONAL.advance(state, first, REGIONAL.plan(first, state, np.random.default_rng(1)))
    second = Snapshot(schema(), np.arange(20, 36), qi, crowded)
    divided = counts_of(REGIONAL, second, state)[0].counts
    blocked = divided.blocked.sum(axis=1)
    assert (blocked > 0).any()
    assert (divided.pool.sum(axis=1) > 0).any()
    assert all(is_eligible(pool, 2) for pool in divided.pool)


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("technique", [REGIONAL, CorSplit(m=2, n=1, not_eligible="blocks", regions="sizes")])
def test_releases_with_regions_keep_every_promise_and_are_read(technique: MInvariance | CorSplit) -> None:
    series = snapshots(5, episodes=False, people=40)
    ledger = replay(technique, series, np.random.default_rng(5))
    found = Counter[bool]()
    for reading in technique.readings(ledger):
        assert reading.unread == 0
        found[bool((reading.log_likelihood[1:] != 0).any() and not reading.complete)] += 1
    assert found[False] > 0
    assert found[True] == 0


def test_regions_need_blocks() -> None:
    for technique in (MInvariance, CorSplit):
        more = {"n": 1} if technique is CorSplit else {}
        with pytest.raises(InvalidParameter, match="must be none unless not_eligible is blocks or partial-blocks"):
            technique(m=2, regions="sizes", **more)


def test_boxes_are_smaller_with_regions() -> None:
    """Values that depend on where people are, four releases; no fixture: regions as they are."""
    rng = np.random.default_rng(3)
    qi = rng.integers(0, 100, (2, 6000)).astype(np.int32)
    value = ((qi[0] // 50 + rng.integers(0, 4, 6000)) % VALUES).astype(np.int32)
    width = {}
    for how in ("none", "sizes"):
        technique = MInvariance(m=2, not_eligible="blocks", regions=how)
        series = [
            Snapshot(schema(), here, qi[:, here], value[here])
            for here in (np.arange(start, start + 3000) for start in (0, 800, 1600))
        ]
        release = replay(technique, series, np.random.default_rng(1)).entries[-1].release
        spans = release.boxes.high - release.boxes.low
        width[how] = float(spans[:, release.group].mean())
    assert width["sizes"] < 0.8 * width["none"]
