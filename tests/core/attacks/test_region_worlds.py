"""Regions tell nothing: all worlds of tiny series, with the technique replayed in each."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest
from builders.long_lists import sampled
from builders.random_series import published, schema, tiny_series
from builders.regions import cut_small_regions
from core.attacks.test_algorithm_worlds import require_exact, shares
from oracles.algorithm import Likelihoods, true_world

from reanon_core.bucketing import new_rows, phases
from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.new_rows import counts_by_region
from reanon_core.model.ledger import Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

REGIONAL = MInvariance(m=2, not_eligible="blocks", regions="sizes", balancing="blind")


@pytest.fixture
def small_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions of two rows, so that tiny tables have several."""
    cut_small_regions(monkeypatch, rows=2)


def regional_ledgers(technique: Any, wanted: int, monkeypatch: pytest.MonkeyPatch, people: int) -> Iterator[Ledger]:
    """So many tiny series in which new rows entered from several regions; first those with blocks beside layers."""
    seen: list[np.ndarray] = []

    def blocked_rows(signatures: Any, pools: np.ndarray, blocks: list[Any]) -> Any:
        seen.append(np.array([pool.any() * (1 + bool(own)) for pool, own in zip(pools, blocks, strict=True)]))
        return original(signatures, pools, blocks)

    original = new_rows.blocked_rows
    found = Counter[bool]()
    for seed in count():
        seen.clear()
        with monkeypatch.context() as patches:
            patches.setattr(new_rows, "blocked_rows", blocked_rows)
            ledger = published(technique, tiny_series(seed, people=people), seed)
        if ledger is None or not any(np.count_nonzero(ways) > 2 for ways in seen):
            continue
        mixed = any({1, 2} <= set(ways.tolist()) for ways in seen)
        if found[mixed] < (wanted + 1) // 2:
            found[mixed] += 1
            yield ledger
        if sum(found.values()) == wanted:
            return


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize(
    "technique",
    sampled([REGIONAL, CorSplit(m=2, n=1, not_eligible="blocks", regions="sizes", balancing="blind")], [REGIONAL]),
)
def test_regions_give_every_value_of_a_signature_the_same_share(
    technique: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Counter[str] = Counter()
    for ledger in regional_ledgers(technique, 4, monkeypatch, people=7):
        found += shares(Likelihoods(technique, ledger))[0]
    assert found["people"] > 0
    assert found["uneven"] == 0


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("merging", [False, True])
def test_regions_that_are_merged_because_of_their_values_would_tell_them(
    monkeypatch: pytest.MonkeyPatch, merging: bool
) -> None:
    """Two regions, one of them with one value alone: a bucket of both is ruled out if its values are exchanged."""

    def counted(region: np.ndarray, value: np.ndarray, values: int) -> np.ndarray:
        counts = counts_by_region(region, value, values)
        if merging and not all(is_eligible(pool, 2) for pool in counts):
            region[:] = 0
            counts = counts.sum(axis=0, keepdims=True)
        return counts

    monkeypatch.setattr(phases, "counts_by_region", counted)
    ages = np.array([[10, 20, 70, 80]], np.int32)
    first = Snapshot(schema(3), np.arange(4), ages, np.array([0, 1, 0, 2], np.int32))
    second = Snapshot(schema(3), np.arange(4) + 4, ages, np.array([0, 0, 1, 2], np.int32))
    ledger = published(REGIONAL, [first, second], 1)
    assert ledger is not None
    likelihoods, truth = Likelihoods(REGIONAL, ledger), true_world(ledger)
    chances = set()
    for signature in set(likelihoods.signatures().values()):
        turned = dict(zip(signature, signature[1:] + signature[:1], strict=True))
        bucket = [one for one, own in likelihoods.signatures().items() if own == signature]
        chances.add(likelihoods.of(truth | {one: turned[truth[one]] for one in bucket}))
    assert (chances == {likelihoods.of(truth)}) == (not merging)


def test_a_block_beside_layers_gives_every_value_the_same_share() -> None:
    """Four of seven have one value: it takes a block with one of the others, and the rest enters in a layer."""
    technique = MInvariance(m=2, not_eligible="blocks", balancing="blind")
    ages = np.array([[10, 25, 31, 44, 58, 70, 85]], np.int32)
    first = Snapshot(schema(4), np.arange(7), ages, np.array([0, 1, 0, 2, 0, 3, 0], np.int32))
    ledger = published(technique, [first], 1)
    assert ledger is not None
    likelihoods = Likelihoods(technique, ledger)
    assert sorted(Counter(likelihoods.signatures().values()).values()) == [2, 5]
    assert require_exact(technique, ledger, likelihoods, true_world(ledger))["unequal"] == 0
    assert shares(likelihoods)[0]["uneven"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("small_regions")
def test_regions_give_every_value_the_same_share_in_many_series(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[str] = Counter()
    for ledger in regional_ledgers(REGIONAL, 24, monkeypatch, people=7):
        found += shares(Likelihoods(REGIONAL, ledger))[0]
    assert found["people"] > 100
    assert found["uneven"] == 0
