"""All arrangements of a group's values, or all exchanges of two of them."""

from itertools import permutations

import numpy as np
import pytest

from reanon_core.readers.arrangements import MOST_CELLS, arrangement_count, arrangements


@pytest.mark.parametrize("values", [[0], [2, 2], [1, 0, 1, 2], [3, 1, 2, 0, 1]])
def test_the_arrangements_are_all_different_permutations_the_given_one_first(values: list[int]) -> None:
    found, complete = arrangements(np.array(values, np.int32), 100)
    assert complete
    assert found[0].tolist() == values
    assert sorted(map(tuple, found.tolist())) == sorted(set(permutations(values)))
    assert len(found) == arrangement_count(np.array(values, np.int32))


def test_where_there_are_too_many_they_are_the_exchanges_of_two_different_values() -> None:
    values = [0, 1, 1, 2]
    found, complete = arrangements(np.array(values, np.int32), 11)
    assert not complete
    assert found[0].tolist() == values
    exchanged = {(1, 0, 1, 2), (1, 1, 0, 2), (2, 1, 1, 0), (0, 2, 1, 1), (0, 1, 2, 1)}
    assert {tuple(row) for row in found[1:].tolist()} == exchanged
    assert len(found) == 6


def test_of_a_large_group_some_pairs_are_exchanged() -> None:
    values = np.arange(3_000, dtype=np.int32)
    found, complete = arrangements(values, 10)
    assert not complete
    assert found.size <= MOST_CELLS + 2 * len(values)
    assert (np.count_nonzero(found[1:] != values, axis=1) == 2).all()
    assert len(np.unique(found, axis=0)) == len(found) > 300
