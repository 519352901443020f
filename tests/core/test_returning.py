"""Who returns is counted by value, some people at a time."""

import numpy as np
import pytest

from reanon_core.returning import returning, value_returning


@pytest.mark.parametrize("persons", [[], [1], [1, 3, 5, 7, 9], list(range(-50, 50, 3))])
def test_people_are_counted_some_at_a_time(persons: list[int]) -> None:
    before, codes = np.arange(-40, 40, 2), np.arange(40, dtype=np.int32) % 3
    parts = [(before[:7], codes[:7]), (before[:0], codes[:0]), (before[7:][::-1], codes[7:][::-1])]
    found, there = returning(parts, np.array(persons, np.int64), 4), np.isin(before, persons)
    assert found.before.tolist() == [14, 13, 13, 0]
    assert found.here.tolist() == [int(there[codes == code].sum()) for code in range(4)]


def test_a_value_is_followed_from_release_to_release() -> None:
    tables = [([1, 2, 3], [0, 0, 1]), ([2, 3, 4], [1, 0, 0]), ([3, 4], [0, 0])]
    rows = [(np.array(persons), np.array(codes, np.int32)) for persons, codes in tables]
    assert value_returning(rows, 0) == [(2, 2), (1, 2)]
    assert value_returning(rows, 1) == [(0, 1), (1, 1)]
    assert value_returning(rows[:1], 0) == value_returning([], 0) == []
