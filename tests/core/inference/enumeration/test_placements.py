"""Placements of many people: no number of connected people is too deep to count."""

from math import factorial

import pytest

from reanon_core.inference.enumeration.surjections import Budget, Option, RowCounts, count_placements
from reanon_core.model.errors import InvalidParameter

MANY = 1_500
EVERY = frozenset({0})


def one_group(people: int) -> tuple[RowCounts, dict[int, list[Option]]]:
    """People who all have the only value of one group."""
    table = RowCounts(
        rows={(0, 0, 0): people}, people={(0, 0): people}, counterfeits={(0, 0): 0}, signatures={(0, 0): EVERY}
    )
    return table, {person: [Option(0, EVERY, (((0, 0, 0),),))] for person in range(people)}


def test_thousands_of_connected_people_are_counted() -> None:
    total, counts = count_placements(*one_group(MANY), Budget(10 * MANY))
    assert total == factorial(MANY)
    assert counts[0] == {0: factorial(MANY)}


def test_what_takes_too_many_steps_is_refused_in_a_sentence() -> None:
    with pytest.raises(InvalidParameter, match="small enough to count its surjections in 1500 steps"):
        count_placements(*one_group(MANY), Budget(MANY))
