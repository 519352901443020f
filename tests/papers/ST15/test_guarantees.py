"""What is guaranteed and what is not: exact Bayes on tiny tables, over all draws of the two constructions."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from oracles.worlds import World, posteriors, ring_chances, symmetric_chances, symmetric_draws

from reanon_core.kernels.siphash import siphash_words
from reanon_core.model.schema import QuasiIdentifier
from reanon_core.techniques.sequential.buckets import space_of
from reanon_core.techniques.sequential.generalization import generalize
from reanon_core.techniques.sequential.loss_measure import measure_of
from reanon_core.techniques.sequential.worlds import order_by_value, ring_worlds, symmetric_worlds

TABLES: list[tuple[World, int]] = [
    ((0, 1, 2, 3), 2),
    ((0, 0, 1, 1), 2),
    ((0, 0, 1, 2), 2),
    ((0, 0, 1, 1, 2), 2),
    ((0, 1, 2), 3),
    ((0, 0, 1, 1, 2, 2), 3),
    ((0, 0, 1, 2, 3), 2),
]


@pytest.mark.parametrize(("values", "ell"), TABLES)
def test_symmetric_worlds_are_equally_likely_to_be_the_truth(values: World, ell: int) -> None:
    for worlds, chances in posteriors(values, lambda truth: symmetric_chances(truth, ell)).items():
        assert chances == dict.fromkeys(worlds, Fraction(1, ell))


def test_ring_worlds_are_not_so_that_a_set_of_worlds_can_give_the_truth_away() -> None:
    """The order of a ring is a function of the truth, so a false world would often have led to another ring."""
    found = posteriors((0, 0, 1, 1, 2), lambda truth: ring_chances(truth, [0, 1, 3, 7, 12], 2))
    worst = [max(chances.values()) for chances in found.values()]
    assert max(worst) == 1
    assert (sum(chance > Fraction(1, 2) for chance in worst), len(worst)) == (24, 52)


def drawn(values: World, ell: int, seed: int) -> frozenset[World]:
    """The worlds that our code draws for one bucket."""
    rng = np.random.default_rng(seed)
    sensitive, bucket = np.array(values, np.int32), np.zeros(len(values), np.int32)
    keys = [siphash_words(np.arange(len(values)), rng.integers(0, 2**63, 2).astype(np.uint64)) for _ in range(2)]
    ordered = order_by_value(bucket, sensitive, keys[0], rng)
    made = symmetric_worlds(bucket, ordered, ell, keys[1], rng)
    return frozenset([values, *(tuple(sensitive[image].tolist()) for image in made.images)])


@pytest.mark.parametrize(("values", "ell"), TABLES[:5])
def test_our_code_draws_what_the_oracle_says_about_as_often(values: World, ell: int) -> None:
    expected = Counter(symmetric_draws(values, ell))
    total, tries = sum(expected.values()), 3000
    seen = Counter(drawn(values, ell, seed) for seed in range(tries))
    assert set(seen) == set(expected)
    for worlds, count in expected.items():
        share = count / total
        assert abs(seen[worlds] / tries - share) < 5 * (share * (1 - share) / tries) ** 0.5 + 1e-9


def test_ring_worlds_are_diverse_and_stay_within_the_next_places() -> None:
    rng = np.random.default_rng(4)
    sensitive = np.concatenate([rng.permutation(np.arange(15) % 7) for _ in range(4)]).astype(np.int32)
    qi = rng.integers(0, 9, (2, 60)).astype(np.int32)
    space = space_of((QuasiIdentifier(name="a"), QuasiIdentifier(name="b")), qi, np.array([[0, 0], [8, 8]]))
    bucket = np.repeat(np.arange(4), 15).astype(np.int32)
    ordered = order_by_value(bucket, sensitive, siphash_words(np.arange(60), np.zeros(2, np.uint64)), rng)
    made = ring_worlds(bucket, ordered, sensitive, space, 4, rng)
    for image in made.images:
        assert sorted(image.tolist()) == list(range(60))
        assert (bucket[image] == bucket).all()
    values = np.vstack([sensitive, sensitive[made.images]])
    assert all(len(set(column)) == 4 for column in values.T.tolist())


def outputs(images: np.ndarray, sensitive: np.ndarray, qi: np.ndarray, seeds: int) -> set[tuple[object, ...]]:
    """Every release, as a bag of rows, that chance makes of these worlds."""
    measure = measure_of((QuasiIdentifier(name="a"),), qi, np.array([[0], [9]]), "lm")
    found = set()
    for seed in range(seeds):
        rows = generalize(measure.places(qi), sensitive, images, measure, np.random.default_rng(seed))
        shown = zip(rows.low[0].tolist(), rows.high[0].tolist(), sensitive[rows.person[-1]].tolist(), strict=True)
        found.add(tuple(sorted(shown)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_release_does_not_depend_on_which_of_its_worlds_is_the_true_one(seed: int) -> None:
    """So, where all worlds of a set are equally likely, no release makes one likelier: the posterior stays 1/ell."""
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.array([0, 0, 1, 1, 2, 2])).astype(np.int32)
    qi = rng.integers(0, 10, (1, 6)).astype(np.int32)
    bucket, keys = np.zeros(6, np.int32), siphash_words(np.arange(6), np.array([seed, 1], np.uint64))
    made = symmetric_worlds(bucket, order_by_value(bucket, values, keys, rng), 3, keys, rng)
    images = np.vstack([made.images, np.arange(6, dtype=np.int32)])
    released = outputs(images, values, qi, 80)
    for world in range(2):
        # Seen from this world: its values are the true ones, and people are matched with whose suffix they then have.
        turned = values[images[world]]
        owner = np.empty(6, np.int32)
        owner[images[world]] = np.arange(6)
        seen = np.array([owner[image] for image in images], np.int32)
        order = [at for at in range(3) if at != world] + [world]
        assert outputs(seen[order], turned, qi, 80) == released
