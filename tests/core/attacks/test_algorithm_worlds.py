"""What a reader of the source concludes, against all worlds of tiny series with the technique replayed in each."""

from collections import Counter
from fractions import Fraction
from itertools import count, islice
from math import exp, inf, isclose
from typing import Any

import numpy as np
import pytest
from builders.long_lists import sampled
from builders.random_series import changing_series, layered_series, published, tiny_ledgers, tiny_series
from oracles.algorithm import Likelihoods, Variable, World, true_world

from reanon_core.adversary_knowledge import readings_of
from reanon_core.attacks.algorithm import relabellings as is_relabelling
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading
from reanon_core.readers.bucket_history import bucket_history
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

FILLED = MInvariance(m=2, balancing="filled")
BLIND = [
    MInvariance(m=2, assignment=assignment, balancing="blind", not_eligible="refuse")
    for assignment in ("deep", "stable", "paper")
]
LEAKING = [
    FILLED,
    MInvariance(m=2, not_eligible="defer"),
    MInvariance(m=2, balancing="filled", not_eligible="defer"),
    MInvariance(m=2, not_eligible="pad"),
    CorSplit(m=2, n=1, balancing="filled"),
]


def changed(ledger: Ledger) -> Variable:
    """A variable for each stretch of time in which a person has one value."""
    stretch: dict[tuple[int, int], int] = {}
    last: dict[int, tuple[int, int]] = {}
    for time, entry in enumerate(ledger.entries):
        for person, value in zip(entry.snapshot.persons.tolist(), entry.snapshot.sensitive.tolist(), strict=True):
            number, before = last.get(person, (0, value))
            last[person] = (number + (value != before), value)
            stretch[person, time] = 1000 * last[person][0] + person
    return lambda person, time: stretch[person, time]


def shares(likelihoods: Likelihoods) -> tuple[Counter[str], list[int]]:
    """How many posteriors are uneven and certain, and which variables are certain."""
    signature = likelihoods.signatures()
    found: Counter[str] = Counter()
    certain = []
    for one, share in likelihoods.posteriors().items():
        even = {value: Fraction(1, len(signature[one])) for value in signature[one]}
        found += Counter(people=1, uneven=share != even, certain=len(share) == 1)
        certain += [one] if len(share) == 1 else []
    return found, certain


def rearranged(reading: Reading, arrangement: int, truth: World, signature: dict[int, tuple[int, ...]]) -> World:
    """The true world, with the values that the arrangement gives to the variables of its bucket."""
    bucket = tuple(sorted(set(reading.values.ravel().tolist())))
    place = {(p, int(reading.values[0, at])): at for p, at in zip(reading.persons.tolist(), reading.place, strict=True)}
    world = dict(truth)
    for one, its_own in signature.items():
        if its_own == bucket:
            world[one] = int(reading.values[arrangement, place[one % 1000, truth[one]]])
    return world


def require_exact(technique: Any, ledger: Ledger, likelihoods: Likelihoods, truth: World) -> Counter[str]:
    """Require that everything that the readings claim is so, and count it.

    The repair of Cor-Split tells values apart by their codes where it is not blind, so its relabellings are not exact.
    """
    true_chance, signature = likelihoods.of(truth), likelihoods.signatures()
    assert true_chance > 0
    claims: Counter[str] = Counter()
    for reading in readings_of(technique, ledger):
        assert reading.unread == 0
        exact = is_relabelling(reading) & (technique.balancing == "blind" or technique.name == "m-invariance")
        listed = [rearranged(reading, at, truth, signature) for at in range(len(reading.values))]
        for world, claimed, relabelled in zip(listed, reading.log_likelihood.tolist(), exact.tolist(), strict=True):
            ratio = likelihoods.of(world) / true_chance
            claims += Counter(arrangements=1, ruled_out=claimed == -inf, unequal=claimed not in {0.0, -inf})
            assert not (claimed == -inf and ratio)
            assert not relabelled or (ratio == 1) == (claimed == 0)
            assert not relabelled or isclose(exp(claimed), ratio, rel_tol=1e-9)
        if reading.complete:  # no other world differs from the truth in this bucket alone
            inside = set(reading.persons.tolist())
            alike = [w for w in likelihoods.worlds() if all(w[one] == truth[one] for one in w if one not in inside)]
            assert sorted(map(sorted, (w.items() for w in alike))) == sorted(map(sorted, (w.items() for w in listed)))
    return claims


@pytest.mark.parametrize("least", sampled([4, 12], [4]))
@pytest.mark.parametrize(
    "technique",
    sampled(LEAKING, [one for one in LEAKING if (one.balancing, one.not_eligible) != ("filled", "defer")]),
    ids=lambda one: f"{one.name}-{one.balancing}-{one.not_eligible}",
)
def test_what_a_reading_claims_is_so_in_all_worlds_and_it_finds_leaks(technique: Any, least: int) -> None:
    """In so many series at least, and in more, up to twelve, until somebody's value is certain."""
    claims: Counter[str] = Counter()
    found: Counter[str] = Counter()
    few = tiny_ledgers(technique, 12, people=5 if technique.not_eligible == "pad" else 7)
    for number, ledger in enumerate(few, 1):
        likelihoods = Likelihoods(technique, ledger)
        claims += require_exact(technique, ledger, likelihoods, true_world(ledger))
        found += shares(likelihoods)[0]
        if number >= least and found["certain"]:
            break
    assert claims["ruled_out"] > 0
    assert found["certain"] > 0
    assert found["uneven"] >= found["certain"]


@pytest.mark.parametrize("series", sampled([3, 8], [3]))
@pytest.mark.parametrize("technique", BLIND, ids=lambda one: one.assignment)
def test_blind_gives_every_value_of_a_signature_the_same_share(technique: Any, series: int) -> None:
    require_even(technique, tiny_ledgers(technique, series, start=1000))


@pytest.mark.slow
@pytest.mark.parametrize("technique", BLIND, ids=lambda one: one.assignment)
def test_blind_gives_every_value_the_same_share_in_many_series(technique: Any) -> None:
    require_even(technique, tiny_ledgers(technique, 300, start=2000, people=8))


def require_even(technique: Any, ledgers: Any) -> None:
    found: Counter[str] = Counter()
    for ledger in ledgers:
        likelihoods = Likelihoods(technique, ledger)
        found += shares(likelihoods)[0]
        claims = require_exact(technique, ledger, likelihoods, true_world(ledger))
        assert claims["unequal"] == 0
    assert found["people"] > 0
    assert found["uneven"] == 0


@pytest.mark.parametrize("series", sampled([2, 5], [2]))
def test_blocks_give_every_value_the_same_share(series: int) -> None:
    technique = MInvariance(m=2, not_eligible="blocks", balancing="blind")
    refused = [seed for seed in range(60) if published(BLIND[0], tiny_series(seed, people=6), seed) is None]
    ledgers = (published(technique, tiny_series(seed, people=6), seed) for seed in refused)
    require_even(technique, islice((ledger for ledger in ledgers if ledger is not None), series))


def test_equal_quasi_identifiers_give_every_value_the_same_share() -> None:
    """Chance decides between equal codes: every order of the rows is replayed."""
    found: Counter[str] = Counter()
    for ledger in tiny_ledgers(BLIND[0], 8, people=4, ties=True):
        found += shares(Likelihoods(BLIND[0], ledger, ties=True))[0]
    assert found["people"] > 0
    assert found["uneven"] == 0


@pytest.mark.parametrize("balancing", ["filled", "blind"])
def test_cor_split_leaks_where_it_fills_and_gives_even_shares_where_it_is_blind(balancing: Any) -> None:
    technique = CorSplit(m=3, n=2, balancing=balancing, not_eligible="refuse")
    found: Counter[str] = Counter()
    ledgers = (published(technique, layered_series(seed, 3), seed) for seed in count())
    for ledger in islice((ledger for ledger in ledgers if ledger is not None), 3):
        likelihoods = Likelihoods(technique, ledger)
        require_exact(technique, ledger, likelihoods, true_world(ledger))
        found += shares(likelihoods)[0]
    assert (found["uneven"] > 0) == (balancing == "filled")


@pytest.mark.parametrize("balancing", ["filled", "blind"])
def test_an_episode_tells_the_new_value_in_the_way_of_0_1_0_and_not_in_the_blind_way(balancing: Any) -> None:
    technique = MInvariance(m=2, balancing=balancing, on_sensitive_change="episode", not_eligible="refuse")
    found: Counter[str] = Counter()
    claims: Counter[str] = Counter()
    ledgers = (published(technique, changing_series(seed), seed) for seed in range(400))
    begun = (one for one in ledgers if one is not None and bucket_history(one, max_lifespan=None).had)
    for ledger in islice(begun, 5):
        variable = changed(ledger)
        likelihoods = Likelihoods(technique, ledger, variable=variable)
        claims += require_relabellings(technique, ledger, likelihoods, true_world(ledger, variable))
        found += shares(likelihoods)[0]
    assert (found["uneven"] > 0) == (balancing == "filled")
    assert (claims["ruled_out"] > 0) == (balancing == "filled")


def require_relabellings(technique: Any, ledger: Ledger, likelihoods: Likelihoods, truth: World) -> Counter[str]:
    """Require that the likelihoods of relabellings are exact where values change."""
    claims: Counter[str] = Counter()
    for reading in readings_of(technique, ledger):
        for at in np.flatnonzero(is_relabelling(reading)).tolist():
            world = rearranged(reading, at, truth, likelihoods.signatures())
            claimed = float(reading.log_likelihood[at])
            claims += Counter(ruled_out=claimed == -inf)
            assert isclose(exp(claimed), likelihoods.of(world) / likelihoods.of(truth), rel_tol=1e-9)
    return claims
