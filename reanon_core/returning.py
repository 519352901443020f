"""How many people of a release are in a later table, by the value that they had."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int32, Int64, forget_pages


@dataclass(frozen=True, eq=False)
class Returning:
    """How many people had each value, by its code, and how many of them are there again."""

    before: Int64
    here: Int64


def returning(parts: Iterable[tuple[Int64, Int32]], persons: Int64, values: int) -> Returning:
    """Who of the people of a release, given with their codes some at a time, is among `persons`.

    Requires: `persons` ascend, and codes are less than `values`.
    """
    before, here = np.zeros(values, np.int64), np.zeros(values, np.int64)
    for people, codes in parts:
        before += np.bincount(codes, minlength=values)
        if len(persons):
            places = np.minimum(persons.searchsorted(people), len(persons) - 1)
            here += np.bincount(codes[persons[places] == people], minlength=values)
            forget_pages(persons)
    return Returning(before, here)


def value_returning(releases: Iterable[tuple[Int64, Int32]], code: int) -> list[tuple[int, int]]:
    """For each release and the next: how many people with a value returned, and how many had it; the latest first.

    Requires: the people of each release ascend.
    """
    found: list[tuple[int, int]] = []
    before: Int64 | None = None
    for persons, codes in releases:
        if before is not None:
            found.append((int(np.isin(before, persons).sum()), len(before)))
        before = persons[codes == code]
    return found[::-1]
