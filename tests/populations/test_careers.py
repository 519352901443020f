"""Occupations of Adult that change: real people first, then the course that the knowledge describes."""

import numpy as np
import pytest
from populations import adult, adult_panel, careers

pytestmark = pytest.mark.skipif(not adult.FOLDER.exists(), reason="Adult does not lie beside the project")


def test_the_knowledge_is_learned_from_people_who_are_not_published() -> None:
    whole = adult_panel.table(careers.COLUMNS)
    published, learned = careers.people(True), careers.people(False)
    rows = [np.vstack([one.qi, one.sensitive]).T.tolist() for one in (published, learned, whole)]
    assert sorted(rows[0] + rows[1]) == sorted(rows[2])
    kind, counted = careers.classes().of(learned.qi), careers.knowledge().prior
    assert counted is not None
    third = np.bincount(learned.sensitive[kind == 3], minlength=14) + 1
    assert counted[3] == pytest.approx(third / third.sum())


def test_a_person_begins_with_the_real_occupation_and_then_follows_the_course() -> None:
    views = list(careers.snapshots(5, views=6, rows=1000, pool=1200))
    half, known = careers.people(True), careers.knowledge()
    assert known.following is not None
    assert known.emission is not None
    state: dict[int, int] = {}
    kept, again = 0, 0
    for view in views:
        for person, value in zip(view.persons.tolist(), view.sensitive.tolist(), strict=True):
            if person not in state:
                assert value == half.sensitive[person]
            else:
                kept, again = kept + ((state[person] - 1) // 2 == value), again + 1
            state[person] = int(known.following[state.get(person, 0), value])
    assert np.allclose(known.emission[:, 1:].sum(axis=2), 1)
    assert 0.7 < kept / again < 0.85  # 0.85 for the settled, 0.5 for those who have just moved


def test_the_same_seed_gives_the_same_views_and_another_does_not() -> None:
    first, second, other = (next(iter(careers.snapshots(seed, rows=200, pool=300))) for seed in (1, 1, 2))
    assert np.array_equal(first.persons, second.persons)
    assert np.array_equal(first.sensitive, second.sensitive)
    assert not np.array_equal(first.persons, other.persons)
