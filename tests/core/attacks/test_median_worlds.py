"""The median and partial blocks tell nothing: all worlds of tiny series, with the technique replayed in each."""

from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np
import pytest
from builders.random_series import published, schema, tiny_series
from core.attacks.test_algorithm_worlds import require_exact, shares
from oracles.algorithm import Likelihoods, true_world

from reanon_core.adversary_knowledge import readings_of
from reanon_core.bucketing import new_rows
from reanon_core.bucketing.new_rows import PartialBlock
from reanon_core.model.ledger import Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.m_invariance.technique import MInvariance

MEDIAN = MInvariance(m=3, balancing="median", not_eligible="refuse")
PARTIAL = MInvariance(m=2, not_eligible="partial-blocks", balancing="blind", regions="none")


def frequent_series(seed: int, m: int) -> list[Snapshot]:
    """Two releases of few people; one value is frequent, and some of the people of the first come back."""
    rng = np.random.default_rng(seed)
    values, people = m + 1, 7 if m == 2 else 8
    sensitive = np.where(rng.random(people) < 0.35, 0, rng.integers(0, values, people)).astype(np.int32)
    ages = rng.permutation(90)[:people].astype(np.int32)
    first = int(rng.integers(people - 2, people))
    back = np.flatnonzero((np.arange(people) >= first) | (rng.random(people) < 0.5))
    return [Snapshot(schema(values), here, ages[None, here], sensitive[here]) for here in (np.arange(first), back)]


@pytest.fixture
def large_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pilots of half of the rows, so that tiny tables have one with m values."""
    monkeypatch.setattr(new_rows, "PILOT_SHARE", 2)


def partial_ledgers(technique: Any, wanted: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """So many tiny series in which some rows went to a partial block."""
    used: list[PartialBlock] = []

    def watched(*given: Any) -> PartialBlock | None:
        found = original(*given)
        used.extend([found] if found else [])
        return found

    original = new_rows.partial_block
    for seed in count():
        used.clear()
        with monkeypatch.context() as patches:
            patches.setattr(new_rows, "partial_block", watched)
            ledger = published(technique, frequent_series(seed, technique.m), seed)
        if ledger is not None and used:
            wanted -= 1
            yield ledger
        if not wanted:
            return


def require_even(technique: Any, ledgers: Iterator[Ledger]) -> None:
    found: Counter[str] = Counter()
    for ledger in ledgers:
        found += shares(Likelihoods(technique, ledger))[0]
        assert all(reading.unread == len(ledger.entries) for reading in readings_of(technique, ledger))
    assert found["people"] > 0
    assert found["uneven"] == 0


@pytest.mark.parametrize("ledgers", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_the_median_gives_every_value_of_a_signature_the_same_share(ledgers: int) -> None:
    withheld, found = 0, Counter[str]()
    series = (published(MEDIAN, tiny_series(seed, people=6), seed) for seed in count())
    some_withheld = (one for one in series if one is not None and any(entry.withheld for entry in one.entries))
    for ledger in islice(some_withheld, ledgers):
        likelihoods = Likelihoods(MEDIAN, ledger)
        withheld += sum(entry.withheld for entry in ledger.entries)
        assert require_exact(MEDIAN, ledger, likelihoods, true_world(ledger))["unequal"] == 0
        found += shares(likelihoods)[0]
    assert withheld > 0
    assert found["people"] > 0
    assert found["uneven"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("large_pilots")
def test_partial_blocks_give_every_value_of_a_signature_the_same_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the median a pilot needs three values, and so more people than all worlds can be made of."""
    require_even(PARTIAL, partial_ledgers(PARTIAL, 5, monkeypatch))
