"""The mark of a forgotten person: few bits, the same rank, no one known beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reanon_core.model.erasure import SPARE_BITS, Mark, cut, marked
from reanon_core.model.errors import Refused

words = st.integers(-(2**63), 2**63 - 1)


@given(st.integers(0, 2**32 - 1), st.integers(2, 400))
def test_a_mark_keeps_its_rank_and_matches_no_one_else_who_is_known(seed: int, people: int) -> None:
    rng = np.random.default_rng(seed)
    known = np.unique(rng.integers(-(2**63), 2**63 - 1, people, dtype=np.int64))
    for person in (int(known[0]), int(known[-1]), int(known[len(known) // 2])):
        mark = cut(person, known, len(known), 3)
        assert mark.number != person
        assert mark.bits >= int(np.ceil(np.log2(len(known)))) + SPARE_BITS
        assert mark.matches(known).tolist() == (known == person).tolist()
        renamed = np.where(known == person, mark.number, known)
        assert (renamed[1:] > renamed[:-1]).all()
        assert mark.releases == 3


def test_a_mark_matches_one_newcomer_in_two_to_the_power_of_its_bits() -> None:
    rng = np.random.default_rng(1)
    mark = Mark(int(rng.integers(2**62)), 10)
    newcomers = rng.integers(-(2**63), 2**63 - 1, 2**20, dtype=np.int64)
    assert 2**10 * 0.85 < np.count_nonzero(mark.matches(newcomers)) < 2**10 * 1.15


def test_only_the_first_bits_are_left_and_the_rest_is_drawn_anew() -> None:
    person = 0x0123456789ABCDEF
    numbers = {cut(person, np.array([person]), 1, 1).number for _ in range(20)}
    assert len(numbers) == 20
    assert {number >> 57 for number in numbers} == {person >> 57}


@given(words)
def test_a_neighbour_makes_the_mark_longer(person: int) -> None:
    neighbour = person ^ (1 << 20)
    mark = cut(person, np.array([person, neighbour]), 2, 1)
    assert mark.bits == 44
    assert not mark.matches(np.array([neighbour]))[0]


def test_pseudonyms_that_differ_in_their_last_bits_alone_cannot_be_cut() -> None:
    with pytest.raises(Refused, match="too similar"):
        cut(5, np.array([4, 5]), 2, 1)


def test_any_of_several_marks_is_enough() -> None:
    marks = (Mark(1 << 60, 8), Mark(-(1 << 60), 8))
    assert marked(marks, np.array([1 << 60, 1 << 61, -(1 << 60)])).tolist() == [True, False, True]
    assert not marked((), np.array([1, 2])).any()
