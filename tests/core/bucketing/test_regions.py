"""Regions: cut from quasi-identifiers and sizes alone, and entered in whole layers, so that they tell no value."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from builders.examples import share_of
from builders.regions import cut_small_regions
from core.bucketing.test_blindness import VALUES, counts_of, relabelled, schema, snapshots
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from reanon_core.adversary_knowledge import readings_of
from reanon_core.bucketing import regions
from reanon_core.bucketing.division import NO_EPISODE
from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.regions import ShownRows, allocated_slots, region_of_new_rows, relation, strongest
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, Unpublishable
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

REGIONAL = MInvariance(m=2, not_eligible="blocks", regions="sizes", balancing="blind")


@pytest.fixture
def small_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions of four rows or more."""
    cut_small_regions(monkeypatch, rows=4)


def codes(rows: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 50, (2, rows)).astype(np.int32)


def nothing(attributes: int = 2) -> ShownRows:
    """What the buckets show before the first release."""
    return ShownRows(np.empty((attributes, 0), np.int32), np.empty(0, np.int32), Signatures.of([]))


def shown_by(rows: int, *, related: bool) -> ShownRows:
    """Old rows in buckets of two signatures; which of them depends on the first quasi-identifier, or on nothing."""
    qi = codes(rows, 2)
    signature = qi[0] < 25 if related else np.arange(rows) % 2
    return ShownRows(qi, signature.astype(np.int32), Signatures.of([(0, 1), (2, 3)]))


@given(rows=st.integers(0, 3000), m=st.integers(2, 5), old=st.booleans(), missing=st.booleans())
@settings(max_examples=share_of(50), deadline=None)
def test_every_new_row_is_in_a_region_of_enough_rows(rows: int, m: int, old: bool, missing: bool) -> None:
    qi = codes(rows)
    if missing:
        qi[0, ::3] = MISSING
    region = region_of_new_rows(qi, shown_by(4000, related=True) if old else nothing(), m, 6)
    sizes = np.bincount(region)
    assert len(region) == rows
    assert (sizes > 0).all()
    assert len(sizes) <= 1 or sizes.min() >= regions.LEAST_ROWS * m


def test_the_first_regions_are_boxes_and_small_tables_have_one() -> None:
    qi = codes(4000)
    region = region_of_new_rows(qi, nothing(), 2, 6)
    assert region.max() > 3
    low, high = (
        np.array([qi[:, region == one].__getattribute__(end)(axis=1) for one in np.unique(region)])
        for end in ("min", "max")
    )
    for one, other in permutations(range(len(low)), 2):
        assert ((high[one] < low[other]) | (high[other] < low[one])).any()
    assert not region_of_new_rows(qi, nothing(), 2, 3 * 2 - 1).any()  # too few values
    small = regions.TABLE_ROWS * 2 * 6 - 1
    assert not region_of_new_rows(codes(small), nothing(), 2, 6).any()


def test_later_regions_are_cut_where_old_rows_show_a_relation_and_only_there() -> None:
    qi = codes(2000)
    region = region_of_new_rows(qi, shown_by(4000, related=True), 2, 6)
    assert region.max() > 0
    for one in range(int(region.max()) + 1):
        assert np.ptp(qi[1, region == one]) > 45  # the second column tells nothing, so it is not cut
    assert not set(region[qi[0] < 22]) & set(region[qi[0] > 28])
    assert not region_of_new_rows(qi, shown_by(4000, related=False), 2, 6).any()


def test_a_release_of_which_half_is_new_is_like_a_first_one() -> None:
    qi = codes(4000)
    assert np.array_equal(
        region_of_new_rows(qi, shown_by(4000, related=True), 2, 6), region_of_new_rows(qi, nothing(), 2, 6)
    )


@given(seed=st.integers(0, 2**32 - 1), bins=st.integers(2, 6), values=st.integers(2, 6))
@settings(max_examples=share_of(50), deadline=None)
def test_a_relation_is_chi_square_beyond_chance_for_each_row(seed: int, bins: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 40, (bins, values))
    found = relation(table * regions.WHOLE)
    square, _, freedom, _ = chi2_contingency(table, correction=False)
    beyond = square - freedom
    if beyond > regions.CHANCE * np.sqrt(2 * freedom):
        assert found == pytest.approx(beyond / table.sum())
    else:
        assert found == 0
    assert relation(np.outer(table[:, 0], table[0]) * regions.WHOLE) == 0
    assert strongest(table * regions.WHOLE) >= found


def test_a_weak_relation_is_seen_between_few_bins_where_many_hide_it_in_chance() -> None:
    """A value becomes a little more frequent from the first bin to the last: too little for sixteen bins."""
    table = np.full((16, 8), 40)
    table[:, 0] += 2 * np.arange(16) - 15
    table += np.random.default_rng(4).integers(-3, 4, table.shape)
    assert relation(table * regions.WHOLE) == 0
    assert strongest(table * regions.WHOLE) > 0


def test_old_rows_show_all_values_of_their_bucket_alike() -> None:
    signatures = Signatures.of([(0, 1), (1, 2, 4)])
    shown = regions._shown_values(np.array([0, 0, 1]), 2, np.array([0, 1, 1], np.int32), signatures)
    half, third = regions.WHOLE // 2, regions.WHOLE // 3
    assert shown.tolist() == [[half, half + third, third, 0, third], [0, third, third, 0, third]]


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
@pytest.mark.parametrize(
    "technique", [REGIONAL, CorSplit(m=2, n=1, not_eligible="blocks", regions="sizes", balancing="blind")]
)
def test_releases_with_regions_keep_every_promise_and_are_not_read(technique: MInvariance | CorSplit) -> None:
    ledger = replay(technique, snapshots(5, episodes=False, people=40), np.random.default_rng(5))
    readings = list(readings_of(technique, ledger))
    assert readings
    assert all(reading.unread == len(ledger.entries) for reading in readings)


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("how", ["blocks", "partial-blocks"])
def test_a_region_with_few_values_is_joined_by_values_of_others_in_layers(how: str) -> None:
    """Nothing is known before the first release; the young have one value, which the old have too, or have not."""
    technique = replace(REGIONAL, not_eligible=how)
    ages = np.array([[*range(8), *range(90, 98)]], np.int32)
    everywhere = np.array([0] * 8 + [0, 1, 2, 3] * 2, np.int32)
    first = Snapshot(schema(), np.arange(16), np.vstack([ages, ages]), everywhere)
    plan = technique.plan(first, technique.initial_state(), np.random.default_rng(1))
    assert (plan.group >= 0).all()
    alone = replace(first, sensitive=np.where(np.arange(16) < 8, 0, np.maximum(everywhere, 1)).astype(np.int32))
    with pytest.raises(Unpublishable):
        technique.plan(alone, technique.initial_state(), np.random.default_rng(1))


def test_regions_need_blocks() -> None:
    for technique in (MInvariance, CorSplit):
        more = {"n": 1} if technique is CorSplit else {}
        with pytest.raises(InvalidParameter, match="must be none unless not_eligible is blocks or partial-blocks"):
            technique(m=2, not_eligible="refuse", regions="sizes", **more)


def test_boxes_are_smaller_with_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that depend on where people are, three releases; regions as they are, but with five values."""
    monkeypatch.setattr(regions, "VALUES", 2)
    rng = np.random.default_rng(3)
    qi = rng.integers(0, 100, (2, 6000)).astype(np.int32)
    value = ((qi[0] // 50 + rng.integers(0, 4, 6000)) % VALUES).astype(np.int32)
    width = {}
    for how in ("none", "sizes"):
        technique = MInvariance(m=2, not_eligible="blocks", regions=how, balancing="blind")
        series = [
            Snapshot(schema(), here, qi[:, here], value[here])
            for here in (np.arange(start, start + 3000) for start in (0, 800, 1600))
        ]
        release = replay(technique, series, np.random.default_rng(1)).entries[-1].release
        spans = release.boxes.high - release.boxes.low
        width[how] = float(spans[:, release.group].mean())
    assert width["sizes"] < 0.8 * width["none"]
