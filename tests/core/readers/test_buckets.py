"""What a reader of the source learns from buckets: relabellings, chances, and releases that are not read."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import count, permutations, product
from math import inf
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from builders.long_lists import sampled
from builders.random_series import published, small_series
from scipy.special import gammaln

from reanon_core.adversary_knowledge import readings_of
from reanon_core.attacks.algorithm import relabellings as is_relabelling
from reanon_core.bucketing import eligibility
from reanon_core.model.errors import InvalidParameter
from reanon_core.readers import buckets as bucket_reading
from reanon_core.readers import count_likelihood
from reanon_core.readers.bucket_history import bucket_history
from reanon_core.readers.buckets import relabellings
from reanon_core.readers.count_likelihood import LISTED, block_chances, log_factorials, pad_chances
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

FILLED = MInvariance(m=2, balancing="filled")


@pytest.mark.parametrize("wanted", sampled([16, 40], [16]))
@pytest.mark.parametrize("balancing", ["filled", "blind", "median"])
def test_filled_rules_out_relabellings_of_many_buckets_and_blind_of_none(balancing: Any, wanted: int) -> None:
    """Random small series of four releases, like those that the argument was first tried on."""
    found: Counter[str] = Counter()
    seeds = count()
    while found["series"] < wanted:
        seed = next(seeds)
        m, series = small_series(seed)
        ledger = published(MInvariance(m=m, balancing=balancing, not_eligible="refuse"), series, seed)
        if ledger is None:
            continue
        found += Counter(series=1)
        for reading in readings_of(MInvariance(m=m, balancing=balancing, not_eligible="refuse"), ledger):
            of_relabellings = reading.log_likelihood[is_relabelling(reading)]
            assert reading.unread == 0
            found += Counter(
                buckets=1,
                ruled_out=bool((of_relabellings == -inf).any()),
                unequal=bool((of_relabellings != 0).any()),
            )
    assert found["buckets"] > 6.25 * wanted
    if balancing != "filled":
        assert found["unequal"] == 0
    else:
        assert 0.2 < found["ruled_out"] / found["buckets"] < 0.6
        assert found["unequal"] > found["ruled_out"]


def test_relabellings_begin_with_the_truth_and_are_all_if_they_are_few() -> None:
    assert len(relabellings(4, 720)) == 24
    assert relabellings(5, 15).shape == (15, 5)  # 5 shifts and 10 exchanges
    assert relabellings(5, 14).tolist() == [np.roll(np.arange(5), shift).tolist() for shift in range(5)]
    assert relabellings(5, 0).tolist() == [[0, 1, 2, 3, 4], [4, 0, 1, 2, 3]]
    for most in (720, 15, 0):
        assert relabellings(5, most)[0].tolist() == [0, 1, 2, 3, 4]


def test_a_release_that_was_made_with_other_parameters_is_left_out() -> None:
    snapshots = next(series for m, series in map(small_series, count()) if m == 2 and published(FILLED, series, 0))
    ledger = replay(FILLED, snapshots, np.random.default_rng(0))
    assert {reading.unread for reading in readings_of(FILLED, ledger)} == {0}
    assert (
        min(
            reading.unread
            for reading in readings_of(MInvariance(m=2, balancing="blind", not_eligible="refuse"), ledger)
        )
        > 0
    )


def test_releases_without_a_memory_are_not_read() -> None:
    snapshots = next(series for m, series in map(small_series, count()) if m == 2 and published(FILLED, series, 0))
    ledger = replay(FILLED, snapshots, np.random.default_rng(0), memory=False)
    with pytest.raises(InvalidParameter, match="signature of each person"):
        next(readings_of(FILLED, ledger))


def test_the_chances_of_pads_are_those_of_all_orders() -> None:
    counts = np.array([5, 1, 0, 2], dtype=np.int64)
    for m in (2, 3):
        orders: Counter[tuple[int, ...]] = Counter()
        for order in permutations(range(4)):
            with patch.object(eligibility, "keyed_permutation", return_value=np.array(order)):
                orders[tuple(eligibility.padding(counts, m, np.random.default_rng(0)).tolist())] += 1
        drawn = {tuple(pads.tolist()): chance for chance, pads in pad_chances(counts, m)}
        assert drawn == pytest.approx({pads: often / 24 for pads, often in orders.items()})


def test_the_chances_of_blocks_divide_equal_counts_evenly() -> None:
    pool, known = np.array([4, 1, 1, 1]), np.ones(4, dtype=bool)
    assert block_chances(pool, known, 2, [(0, 1), (2, 3)]) == [(pytest.approx(1 / 3), [(0, 1)])]
    assert block_chances(pool, known, 2, [(1, 2), (0, 3)]) == [(pytest.approx(1 / 3), [(0, 3)])]
    assert [blocks for _, blocks in block_chances(pool, known, 2, [(0, 1), (0, 2)])] == [[(0, 1)], [(0, 2)]]
    crowded = np.array([9, 1, 9, 1])
    assert block_chances(crowded, known, 3, [(0, 1, 2, 3)]) == [(1.0, [(0, 1, 2, 3)])]
    assert block_chances(crowded, known, 3, [(0, 1, 2)]) == []
    few = np.array([3, 0, 0, 0])  # one value, joined by one of three known ones
    assert block_chances(few, known, 2, [(0, 2)]) == [(pytest.approx(1 / 3), [(0, 2)])]
    assert block_chances(few, np.array([True, False, False, False]), 2, [(0, 2)]) == []


def test_what_is_kept_of_earlier_decisions_changes_no_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = next(series for m, series in map(small_series, count()) if m == 2 and published(FILLED, series, 0))
    ledger = replay(FILLED, snapshots, np.random.default_rng(0))
    kept = [reading.log_likelihood.tolist() for reading in readings_of(FILLED, ledger)]
    monkeypatch.setattr(count_likelihood, "MOST_KEPT", -1)
    assert [reading.log_likelihood.tolist() for reading in readings_of(FILLED, ledger)] == kept


def test_all_arrangements_of_a_bucket_are_those_that_its_groups_have_room_for() -> None:
    """Every way to give people slots, word for word, in the small buckets of some random series."""
    buckets = 0
    for seed in range(12):
        m, series = small_series(seed)
        ledger = published(MInvariance(m=m, balancing="blind", not_eligible="refuse"), series, seed)
        if ledger is None:
            continue
        history = bucket_history(ledger, max_lifespan=None, withholds=False)
        rows = history.rows
        for bucket, signature in enumerate(history.signatures.tuples):
            members = np.flatnonzero(rows.bucket == bucket)
            people = np.unique(rows.person[members]).tolist()
            place, found, complete = bucket_reading._arrangements(history, bucket, members, 10**6)
            if not complete or len(signature) ** len(people) > 10**4:
                continue
            shown = members[rows.group[members] >= 0]
            groups = list(zip(rows.time[shown].tolist(), rows.group[shown].tolist(), strict=True))
            layers = dict(zip(groups, rows.layers[shown].tolist(), strict=True))
            inside = [(group, people.index(rows.person[row])) for group, row in zip(groups, shown, strict=True)]
            expected = {
                slots
                for slots in product(range(len(signature)), repeat=len(people))
                if all(often <= layers[of[0]] for of, often in Counter((g, slots[p]) for g, p in inside).items())
            }
            assert len(found) == len(expected)
            assert set(map(tuple, found.tolist())) == expected
            assert np.array(signature)[found[0][place]].tolist() == rows.value[members].tolist()
            buckets += 1
    assert buckets > 10


@pytest.mark.parametrize("most", [0, 1, 30, LISTED - 1, LISTED, 10 * LISTED])
def test_logarithms_of_factorials_are_those_of_the_gamma_function(most: int) -> None:
    counts = np.array([[0, 1, 2], [3, most // 2, most]])
    assert log_factorials(counts) == pytest.approx(gammaln(counts + 1.0).sum(), rel=1e-14)
    assert log_factorials(counts[:, :0]) == 0


def test_of_very_many_buckets_some_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = next(series for m, series in map(small_series, count()) if m == 2 and published(FILLED, series, 0))
    ledger = replay(FILLED, snapshots, np.random.default_rng(0))
    buckets = len(list(readings_of(FILLED, ledger)))
    monkeypatch.setattr(bucket_reading, "MOST_WORK", 2 * buckets**2)  # of the four releases, two
    some = list(readings_of(FILLED, ledger))
    assert len(some) == (buckets + 1) // 2
    assert all(len(one.log_likelihood) == 2 and not one.complete for one in some)


ALL_READ = [
    MInvariance(m=2, not_eligible="blocks", on_sensitive_change="episode", balancing="blind"),
    MInvariance(m=2, not_eligible="defer", on_sensitive_change="episode", balancing="filled"),
    MInvariance(m=2, not_eligible="pad", on_sensitive_change="episode"),
    CorSplit(m=2, n=1, not_eligible="blocks", max_lifespan=2, on_lifespan="withhold", balancing="blind"),
    CorSplit(m=3, n=2, not_eligible="defer", max_lifespan=3, on_lifespan="withhold"),
]


@pytest.mark.parametrize("technique", ALL_READ, ids=lambda one: f"{one.name}-{one.not_eligible}")
def test_every_release_is_read_whatever_the_options(technique: Any) -> None:
    """Otherwise a reading without leaks would say nothing. With blind balancing and blocks there are none."""
    read = 0
    for seed in range(7):
        _, snapshots = small_series(seed)
        if technique.on_sensitive_change == "episode":
            rng = np.random.default_rng(seed)
            snapshots = [
                replace(one, sensitive=np.where(rng.random(one.size) < 0.1, 0, one.sensitive)) for one in snapshots
            ]
        ledger = published(technique, snapshots, seed)
        for reading in readings_of(technique, ledger) if ledger is not None else ():
            read += 1
            assert reading.unread == 0
            blind = technique.not_eligible == "blocks"
            assert not blind or (reading.log_likelihood[is_relabelling(reading)] == 0).all()
    assert read > 10


@pytest.mark.parametrize("seed", [258, 285])
def test_a_bucket_is_read_whose_last_value_only_counterfeits_have(seed: int) -> None:
    """People whose value moves within their episode's signature are relabelled together, all values of it."""
    m, series = small_series(seed)
    values, rng = len(series[0].schema.sensitive.values), np.random.default_rng(seed)
    added, changing = np.zeros(1000, np.int32), []
    for snapshot in series:
        changing.append(replace(snapshot, sensitive=(snapshot.sensitive + added[snapshot.persons]) % values))
        added += np.where(rng.random(1000) < 1 / 12, rng.integers(1, values, 1000), 0).astype(np.int32)
    technique = MInvariance(m=m, on_sensitive_change="episode", balancing="blind", not_eligible="refuse")
    ledger = published(technique, changing, seed)
    assert ledger is not None
    readings = list(readings_of(technique, ledger))
    assert any(int(reading.place.max()) + 1 < reading.values.shape[1] for reading in readings)
    assert all((reading.log_likelihood == 0)[is_relabelling(reading)].all() for reading in readings)


@pytest.mark.parametrize("technique", [MInvariance, partial(CorSplit, n=1)])
@pytest.mark.parametrize("balancing", ["blind", "median"])
def test_releases_with_partial_blocks_are_left_out_and_nothing_is_claimed(technique: Any, balancing: Any) -> None:
    for seed in range(4):
        m, series = small_series(seed)
        made = technique(m=m, balancing=balancing, not_eligible="partial-blocks")
        ledger = published(made, series, seed)
        assert ledger is not None
        readings = list(readings_of(made, ledger))
        assert readings
        for reading in readings:
            assert reading.unread == len(series)
            assert not reading.log_likelihood.any()
