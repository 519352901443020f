"""Lists that are too long are cut by rank, one attribute after the other."""

import numpy as np
import pytest

from reanon_core.bucketing import bucket_split
from reanon_core.bucketing.bucket_split import part_depths, parts_of_list, varying


def by_definition(codes: np.ndarray, entries: list[int], lists: int, level: int = 0) -> list[list[int]]:
    """The parts of a list, cut with sorted() and slices."""
    if lists * len(entries) <= bucket_split.MOST_ENTRIES or len(entries) < 2:
        return [entries]
    attribute = codes[level % len(codes)] if len(codes) else np.zeros(len(entries) + max(entries))
    ascending = sorted(entries, key=lambda entry: (attribute[entry], entry))
    middle = -(-len(entries) // 2)
    halves = sorted(ascending[:middle]), sorted(ascending[middle:])
    return [part for half in halves for part in by_definition(codes, half, lists, level + 1)]


@pytest.mark.parametrize("attributes", [0, 1, 3])
@pytest.mark.parametrize("length", [1, 2, 17, 100])
@pytest.mark.parametrize("most", [1, 9, 50, 1000])
def test_parts_are_those_of_the_definition(
    attributes: int, length: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_split, "MOST_ENTRIES", most)
    codes = np.random.default_rng(length).integers(0, 6, (attributes, length)).astype(np.int32)
    part = parts_of_list(codes, 3)
    expected = by_definition(codes, list(range(length)), 3)
    assert [np.flatnonzero(part == number).tolist() for number in range(part.max() + 1)] == expected
    assert part_depths(length, 3) == [len(one) for one in expected]


def test_a_list_of_a_small_bucket_is_one_part() -> None:
    assert part_depths(bucket_split.MOST_ENTRIES // 6, 6) == [bucket_split.MOST_ENTRIES // 6]


def test_attributes_without_a_step_are_not_cut_on() -> None:
    assert varying(np.array([3, 0, 1])).tolist() == [0, 2]
