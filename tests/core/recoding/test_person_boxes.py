"""Boxes that people share: k of them in every release, over tiny series with leavers, newcomers, returners, movers."""

from collections.abc import Iterator

import numpy as np
import pytest

from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import Unpublishable
from reanon_core.model.packing import pack, unpack
from reanon_core.model.plan import PersonBoxes
from reanon_core.model.release import covers
from reanon_core.model.schema import Ends, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.recoding.person_boxes import Cohorts, People, box_people, cohort_size


def schema(*columns: QuasiIdentifier) -> Schema:
    return Schema(quasi_identifiers=columns, sensitive=Sensitive(name="s"))


AGE = QuasiIdentifier(name="age", domain=(0, 99), ends=Ends.EXACT)
TWO = schema(AGE, QuasiIdentifier(name="zip", missing=Missing.SEPARATE, ends=Ends.GRID))


def people(persons: list[int], *columns: list[int]) -> People:
    return People(np.array(persons, np.int64), np.array(columns, np.int32))


def random_series(seed: int, k: int) -> Iterator[People]:
    """Six releases: people come, leave and return; in every other series all age; a few move, a few lack a value."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 60, (2, 80)).astype(np.int32)
    for _ in range(6):
        here = np.sort(rng.choice(80, int(rng.integers(k, 80)), replace=False))
        values[0] = np.minimum(values[0] + seed % 2, 99)
        moved = rng.random(80) < 0.05
        values[:, moved] = rng.integers(0, 99, (2, int(moved.sum())))
        values[1, rng.random(80) < 0.02] = MISSING
        yield People(here.astype(np.int64), values[:, here])


def all_boxes(series: list[People], k: int) -> list[PersonBoxes]:
    cohorts, found = Cohorts.initial(2), []
    for release in series:
        boxes, cohorts = box_people(release, TWO, cohorts, k)
        found.append(boxes)
    return found


@pytest.mark.parametrize("k", [2, 5])
def test_every_box_holds_its_people_and_is_shared_by_k_of_them(k: int) -> None:
    for seed in range(30):
        series = list(random_series(seed, k))
        for release, found in zip(series, all_boxes(series, k), strict=True):
            shown, own = found.boxes, found.number
            low, high, missing = shown.low[:, own], shown.high[:, own], shown.missing[:, own]
            assert covers(low, high, missing, release.qi).all()
            assert np.bincount(found.number, minlength=found.boxes.count).min() >= k


def test_boxes_are_not_random_and_do_not_depend_on_how_the_cohorts_were_stored() -> None:
    for seed in range(5):
        stored, kept = Cohorts.initial(2), Cohorts.initial(2)
        for release in random_series(seed, 3):
            one, stored = box_people(release, TWO, Cohorts.restored(unpack(pack(stored.packed()))), 3)
            two, kept = box_people(release, TWO, kept, 3)
            assert one.number.tolist() == two.number.tolist()
            assert np.array_equal(one.boxes.low, two.boxes.low)
        assert pack(stored.packed()) == pack(kept.packed())


def test_pseudonyms_decide_nothing_but_the_order_of_people() -> None:
    for seed in range(5):
        series = list(random_series(seed, 3))
        renamed = [People(release.persons * 7 + 3, release.qi) for release in series]
        for one, two in zip(all_boxes(series, 3), all_boxes(renamed, 3), strict=True):
            assert one.number.tolist() == two.number.tolist()


def test_people_who_stay_keep_the_people_with_whom_they_share_a_box() -> None:
    series = list(random_series(2, 5))[:1] * 4
    first, *later = all_boxes(series, 5)
    for boxes in later:
        assert boxes.number.tolist() == first.number.tolist()
        assert np.array_equal(boxes.boxes.low, first.boxes.low)


def test_the_boxes_of_people_who_age_together_move_with_them() -> None:
    rng = np.random.default_rng(1)
    born = rng.integers(10, 60, 90).astype(np.int32)
    series = [People(np.arange(90), np.stack([born + year, born % 7])) for year in range(5)]
    first, *later = all_boxes(series, 4)
    for year, boxes in enumerate(later, start=1):
        assert boxes.number.tolist() == first.number.tolist()
        assert (boxes.boxes.low[0] - year).tolist() == first.boxes.low[0].tolist()


def test_a_newcomer_joins_the_cohort_that_holds_them_and_a_returner_is_in_the_old_one() -> None:
    k, one = 3, schema(AGE)
    ages = [*range(10, 17), *range(50, 57)]
    start = people(list(range(14)), ages)
    boxes, cohorts = box_people(start, one, Cohorts.initial(1), k)
    assert boxes.boxes.low.tolist() == [[10, 50]]
    _, cohorts = box_people(people(list(range(1, 15)), [*ages[1:], 52]), one, cohorts, k)
    assert cohorts.cohort.tolist() == [0] * 7 + [1] * 8  # person 0 is absent, and remembered
    back, cohorts = box_people(people(list(range(15)), [17, *ages[1:], 52]), one, cohorts, k)
    assert back.number.tolist() == [0] * 7 + [1] * 8
    assert back.boxes.high.tolist() == [[17, 56]]


def test_a_cohort_that_falls_below_k_shares_the_box_of_a_neighbour_until_it_has_k_again() -> None:
    k, one = 3, schema(AGE)
    ages = [*range(10, 17), *range(20, 27), *range(80, 87), *range(90, 97)]
    start, cohorts = box_people(people(list(range(28)), ages), one, Cohorts.initial(1), k)
    assert start.boxes.low.tolist() == [[10, 20, 80, 90]]
    few, cohorts = box_people(people(list(range(5, 28)), ages[5:]), one, cohorts, k)
    assert few.boxes.low.tolist() == [[15, 80, 90]]
    assert few.boxes.high.tolist() == [[26, 86, 96]]
    again, _ = box_people(people(list(range(28)), ages), one, cohorts, k)
    assert again.boxes.low.tolist() == [[10, 20, 80, 90]]


def test_a_cut_is_where_people_are_not_spread_evenly() -> None:
    """Nine of ten were born here: they are cut off, though the median lies among them and ages are spread widely."""
    k, here = 3, 90
    place = QuasiIdentifier(name="birthplace", domain=(0, 9), ends=Ends.EXACT)
    born = [0] * here + [1 + at % 9 for at in range(10)]
    everyone = people(list(range(100)), [20 + at % 3 for at in range(100)], born)
    boxes, _ = box_people(everyone, schema(AGE, place), Cohorts.initial(2), k)
    assert set(boxes.boxes.high[1, boxes.number[:here]].tolist()) == {0}


def test_newcomers_unlike_all_others_are_a_cohort_once_they_are_enough() -> None:
    k, one = 3, schema(AGE)
    _, cohorts = box_people(people(list(range(6)), [10, 11, 12, 13, 14, 15]), one, Cohorts.initial(1), k)
    far = list(range(90, 90 + cohort_size(k)))
    boxes, after = box_people(people(list(range(6 + len(far))), [*range(10, 16), *far]), one, cohorts, k)
    assert boxes.boxes.low.tolist() == [[10, 90]]
    assert after.count == 2
    few, after = box_people(people(list(range(7)), [*range(10, 16), 90]), one, cohorts, k)
    assert few.boxes.high.tolist() == [[90]]
    assert after.count == 1


def test_fewer_than_k_people_cannot_be_published_and_none_can() -> None:
    with pytest.raises(Unpublishable, match=r"2 people are to be published, fewer than the k = 3"):
        box_people(people([1, 2], [10, 11]), schema(AGE), Cohorts.initial(1), 3)
    boxes, cohorts = box_people(people([], []), schema(AGE), Cohorts.initial(1), 3)
    assert (boxes.boxes.count, cohorts.count) == (0, 0)
    after, _ = box_people(people([1, 2, 3], [10, 11, 12]), schema(AGE), cohorts, 3)
    assert after.boxes.count == 1
