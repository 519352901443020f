"""Every example of the paper, with its numbers."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from oracles.worlds import factorizations

from papers.ST15.examples import IMAGES, POINTS, VALUES, all_subsets, history, known, release, spelled
from reanon_core.attacks.worlds import WorldsAttack
from reanon_core.inference.enumeration.worlds import PossibleWorlds, possible_worlds
from reanon_core.kernels.rings import random_factors
from reanon_core.model.arrays import Int32
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.techniques.sequential.generalization import GeneralizedRows, generalize, homogeneous, non_sequential


def found(past: History, knowledge: Knowledge) -> PossibleWorlds:
    return possible_worlds(past, knowledge, people=9, limit=10**6)


def test_example_1_1_either_release_leaves_four_worlds_and_both_leave_one() -> None:
    points = [(20, 0), (20, 1), (30, 0), (30, 1)]
    ages = release(2, {0: [(20, 20), (20, 20), (30, 30), (30, 30)]}, [0, 1, 2, 3])
    genders = release(2, {1: [(0, 0), (1, 1), (0, 0), (1, 1)]}, [0, 1, 2, 3])
    first, second = (found(history(2, 4, one), known(points, 1)) for one in (ages, genders))
    both = found(history(2, 4, ages, genders), known(points, 2))
    assert [len(one.worlds) for one in (first, second, both)] == [4, 4, 1]
    assert first.linkage()[0] == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert second.linkage()[0] == {0: Fraction(1, 2), 2: Fraction(1, 2)}
    assert both.linkage()[0] == {0: Fraction(1)}


def test_example_3_1_has_three_worlds_and_a_linkage_of_two_thirds() -> None:
    past = history(1, 3, release(1, {0: [(0, 5)] * 3}, [1, 1, 2]))
    attack = WorldsAttack().run(past, known([(0,), (1,), (2,)], 1))
    assert attack.extra == {"worlds": 3.0, "greatest linkage": pytest.approx(2 / 3), "fewest values": 2.0}
    assert "greatest linkage 2/3" in attack.note


def test_example_3_2_one_who_knows_everybody_is_left_with_one_world_and_one_who_knows_a_only_with_three() -> None:
    points = [(0, 0), (1, 0), (0, 1)]  # r x, s x, r y
    v1 = release(2, {1: [(0, 0), (0, 0), (1, 1)]}, [1, 2, 2])
    v2 = release(2, {0: [(0, 0), (1, 1), (0, 0)]}, [1, 2, 2])
    assert len(found(history(2, 3, v1, v2), known(points, 2)).worlds) == 1
    # One who knows a alone: any two people beside a, in any order, that make up both releases.
    people = list(product((0, 1), (0, 1), (1, 2)))
    worlds = set()
    for mine, *others in ((a, *sorted(rest)) for a in people if a[:2] == (0, 0) for rest in product(people, repeat=2)):
        table = [mine, *others]
        if sorted((y, s) for _, y, s in table) == [(0, 1), (0, 2), (1, 2)] and sorted((x, s) for x, _, s in table) == [
            (0, 1),
            (0, 2),
            (1, 2),
        ]:
            worlds.add((mine, *others))
    assert len(worlds) == 3
    assert sum(world[0][2] == 1 for world in worlds) == 2


def test_example_4_1_table_8_is_one_of_36_factorizations_and_the_walks_find_all_of_them() -> None:
    every = factorizations(5, 4)
    table_8 = ((1, 3, 4, 0, 2), (3, 2, 0, 4, 1), (2, 4, 3, 1, 0))
    assert len(every) == 36
    assert table_8 in every
    start, walked = np.array([0, 5]), set()
    for seed in range(1500):
        offsets = random_factors(start, 4, np.array([seed, 99], np.uint64))
        walked.add(tuple(tuple(((np.arange(5) + one) % 5).tolist()) for one in offsets))
    assert walked == every


def rows_of(attributes: list[int], loss: str, seed: int) -> GeneralizedRows:
    places = np.array([[point[at] for point in POINTS] for at in attributes], np.int32)
    suffix = np.array(VALUES, np.int32)
    return generalize(places, suffix, IMAGES, all_subsets(attributes, loss), np.random.default_rng(seed))


def published(rows: GeneralizedRows, letters: str) -> list[tuple[str, int]]:
    """The rows of one attribute with the sensitive value of the person the true world sees in them."""
    return sorted(zip(spelled(rows.low[0], letters), [VALUES[person] for person in rows.person[1]], strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_example_4_2_the_releases_are_tables_10b_and_11b(seed: int) -> None:
    assert published(rows_of([0], "lm", seed), "rst") == [("r", 2), ("rt", 1), ("rt", 3), ("s", 2), ("s", 3)]
    assert published(rows_of([1], "lm", seed), "xyz") == [("x", 2), ("xz", 1), ("xz", 3), ("y", 2), ("y", 3)]


def totals(loss: str) -> tuple[float, float, float]:
    """What the two releases lose together: sequentially, not sequentially, and with one value for a bucket."""
    bucket = np.array([0, 0, 0, 1, 1], np.int32)
    sums = np.zeros(3)
    for attributes in ([0], [1]):
        places = np.array([[point[at] for point in POINTS] for at in attributes], np.int32)
        measure = all_subsets(attributes, loss)
        owner = IMAGES[-1]
        for at, rows in enumerate(
            (
                rows_of(attributes, loss, 0),
                non_sequential(places, IMAGES, owner, measure),
                homogeneous(places, IMAGES, owner, bucket, measure),
            )
        ):
            sums[at] += measure.losses(rows.low, rows.high).sum() / measure.unit
    return tuple(sums.tolist())


def test_example_4_2_and_tables_13_and_14_lose_what_they_lose() -> None:
    assert totals("lm") == (2.0, 3.5, 5.0)
    sequential, plain, _ = totals("em")
    assert sequential == pytest.approx(3.673183, abs=1e-6)
    assert plain == pytest.approx(6.673183, abs=1e-6)


def test_generalized_entries_are_4_and_7_and_10() -> None:
    bucket = np.array([0, 0, 0, 1, 1], np.int32)
    counts = []
    for made in ("sequential", "plain", "homogeneous"):
        wide = 0
        for at in (0, 1):
            places = np.array([[point[at] for point in POINTS]], np.int32)
            measure = all_subsets([at], "lm")
            rows = {
                "sequential": lambda: rows_of([at], "lm", 3),  # noqa: B023
                "plain": lambda: non_sequential(places, IMAGES, IMAGES[-1], measure),  # noqa: B023
                "homogeneous": lambda: homogeneous(places, IMAGES, IMAGES[-1], bucket, measure),  # noqa: B023
            }[made]()
            wide += int((measure.losses(rows.low, rows.high) > 0).sum())
        counts.append(wide)
    assert counts == [4, 7, 10]


def table_12() -> tuple[History, Knowledge]:
    """V1 and V2 as published; the values are ordered so that every published set is an interval."""
    first = {"s": 0, "r": 1, "t": 2}
    second = {"y": 0, "x": 1, "z": 2}
    points = [(first["rst"[a]], second["xyz"[b]]) for a, b in POINTS]
    v1 = release(2, {0: [(1, 2), (1, 1), (0, 0), (0, 0), (1, 2)]}, VALUES)
    v2 = release(2, {1: [(1, 2), (0, 0), (0, 0), (1, 1), (1, 2)]}, VALUES)
    return history(2, 4, v1, v2), known(points, 2)


def test_table_12_has_three_worlds_and_links_four_people_with_two_thirds() -> None:
    """The gap of the published construction: the promise of Definition 3.3 is 1/2, and ring worlds do not keep it."""
    worlds = found(*table_12())
    spelled_out = {"".join(str(suffix[0]) for suffix in world) for world in worlds.worlds}
    assert spelled_out == {"12323", "23231", "32321"}
    linkage = worlds.linkage()
    two_thirds = [(person, value) for person, shares in linkage.items() for value, s in shares.items() if s > 0.5]
    assert two_thirds == [(1, 2), (2, 3), (3, 2), (4, 1)]
    assert all(linkage[person][value] == Fraction(2, 3) for person, value in two_thirds)
    attack = WorldsAttack().run(*table_12())
    assert attack.exposed == 0
    assert attack.extra["greatest linkage"] == pytest.approx(2 / 3)


def ring_order(counts: tuple[int, ...], ell: int) -> Int32:
    """The values of a ring, as Lemma 8.1 puts them."""
    values = np.repeat(np.arange(len(counts)), sorted(counts, reverse=True))
    height = len(values) // ell
    return np.concatenate([values[line::height] for line in range(height)])


def test_lemma_8_1_with_q_for_r_puts_different_values_beside_each_other_for_all_frequencies() -> None:
    """Erratum E1: the paper prints z_(i + r j)."""
    cases = 0
    for size in range(2, 15):
        for counts in partitions(size):
            for ell in range(2, size // max(counts) + 1):
                ring = ring_order(counts, ell)
                for at in range(size):
                    window = [int(ring[(at + step) % size]) for step in range(ell)]
                    assert len(set(window)) == ell
                cases += 1
    assert cases > 500


def partitions(size: int, most: int | None = None) -> list[tuple[int, ...]]:
    """Every way to write a number as a sum of smaller ones, the greatest first."""
    if size == 0:
        return [()]
    return [(one, *rest) for one in range(min(size, most or size), 0, -1) for rest in partitions(size - one, one)]
