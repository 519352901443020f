"""Monotonous principles: what holds for some people holds for any larger set."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest

from reanon_core.techniques.bpg.technique import not_monotonous

TABLE = (0, 0, 0, 1, 1, 2)


def satisfies(values: tuple[int, ...], *, k: int, ell: int, diversity: str, t: Fraction | None) -> bool:
    """The principle of a set of people with these values, from its definition."""
    counts, whole = Counter(values), Counter(TABLE)
    if len(values) < k:
        return False
    if diversity == "distinct" and len(counts) < ell:
        return False
    if diversity == "frequency" and max(counts.values()) * ell > len(values):
        return False
    apart = sum(abs(Fraction(counts[v], len(values)) - Fraction(whole[v], len(TABLE))) for v in whole) / 2
    return t is None or apart <= t


@pytest.mark.parametrize("diversity", ["distinct", "frequency"])
@pytest.mark.parametrize("t", [None, Fraction(1, 6)])
def test_a_parameter_is_monotonous_exactly_if_no_larger_set_breaks_it(diversity: str, t: Fraction | None) -> None:
    subsets = [
        frozenset(people) for size in range(1, len(TABLE) + 1) for people in combinations(range(len(TABLE)), size)
    ]
    good = {
        people for people in subsets if satisfies(tuple(TABLE[p] for p in people), k=2, ell=2, diversity=diversity, t=t)
    }
    broken = any(small < large and large not in good for small in good for large in subsets)
    assert broken == bool(not_monotonous(diversity=diversity, t=None if t is None else float(t)))


def test_every_parameter_that_is_not_monotonous_is_named() -> None:
    assert not_monotonous(diversity="distinct", t=None) == ()
    assert not_monotonous(diversity="frequency", t=0.2) == ("diversity", "t")
