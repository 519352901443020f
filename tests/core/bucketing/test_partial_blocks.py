"""Partial blocks: which rows go to the block does not depend on which of its values they have, as exact fractions."""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations
from math import comb, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reanon_core.bucketing import new_rows
from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.new_rows import PartialBlock, partial_block

Counts = tuple[int, ...]
Outcome = tuple[tuple[int, ...], Counts] | None
"""The block and how many rows of each value are in it; None if there is no block."""
Chooser = Callable[[Any, int, int, Any], PartialBlock | None]

VALUES, M = 4, 2


def full_block(values: Any, known: int, m: int, rng: Any) -> PartialBlock | None:
    """A block of the values that are most frequent among all new rows."""
    chosen = new_rows.frequent_values(
        np.bincount(values, minlength=known), np.bincount(values, minlength=known) > 0, rng
    )
    in_block = np.isin(np.arange(known), chosen[:m])
    counts = np.bincount(values[: len(values) // new_rows.PILOT_SHARE], minlength=known)
    inside = new_rows._inside(values, len(values) // new_rows.PILOT_SHARE, counts, in_block, m)
    return PartialBlock(tuple(sorted(chosen[:m].tolist())), inside) if inside.any() else None


def if_not_eligible(values: Any, known: int, m: int, rng: Any) -> PartialBlock | None:
    """A block only if all new rows together are not eligible."""
    return None if is_eligible(np.bincount(values, minlength=known), m) else partial_block(values, known, m, rng)


def with_one_more_chance(values: Any, known: int, m: int, rng: Any) -> PartialBlock | None:
    """A second order, if the first one leads to no block."""
    return partial_block(values, known, m, rng) or partial_block(values[::-1], known, m, rng)


def by_name(values: Any, known: int, m: int, rng: Any) -> PartialBlock | None:
    """No block of the first values: then whether there is one depends on names."""
    made = partial_block(values, known, m, rng)
    return None if made is not None and made.block == (0, 1) else made


def outcomes(choose: Chooser, counts: Counts, monkeypatch: pytest.MonkeyPatch) -> dict[Outcome, Fraction]:
    """The probability of every outcome for rows with these counts: all orders of rows, all draws among equals."""
    rows = [value for value, n in enumerate(counts) for _ in range(n)]
    found: dict[Outcome, Fraction] = defaultdict(Fraction)
    draws = list(permutations(range(VALUES)))
    for order in set(permutations(rows)):
        for draw in draws:
            drawn = partial(places_below, draw)
            monkeypatch.setattr(new_rows, "keyed_permutation", drawn)
            made = choose(np.array(order, np.int32), VALUES, M, None)
            inside = () if made is None else np.bincount(np.array(order)[made.inside], minlength=VALUES).tolist()
            found[None if made is None else (made.block, tuple(inside))] += 1
    total = sum(found.values())
    return {outcome: Fraction(times, total) for outcome, times in found.items()}


def places_below(draw: tuple[int, ...], count: int, _: object) -> Any:
    return np.array([place for place in draw if place < count])


def unlike(choose: Chooser, rows: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many outcomes are not as likely as others that differ in the values inside the block, or in names, alone.

    The chance that a given set of rows is in the block is that of their counts, over the number of such sets. It must
    be a function of the block, of the counts of the other rows, and of how many rows are inside. That there is no block
    must be as likely for any permutation of all values.
    """
    monkeypatch.setattr(new_rows, "PILOT_SHARE", 2)
    tables = {
        tuple(Counter(chosen)[value] for value in range(VALUES))
        for chosen in combinations_with_replacement(range(VALUES), rows)
    }
    chances = {counts: outcomes(choose, counts, monkeypatch) for counts in tables}
    found: Counter[str] = Counter()
    for counts in tables:
        none = {chances[other].get(None, 0) for other in permutations(counts)}
        found += Counter(without=None in chances[counts], unlike=len(none) > 1)
        for block, inside in (outcome for outcome in chances[counts] if outcome):
            let_in = tuple(n - r for n, r in zip(counts, inside, strict=True))
            alike = set()
            for chosen in combinations_with_replacement(block, sum(inside)):
                other = tuple(Counter(chosen)[value] for value in range(VALUES))
                together = tuple(n + r for n, r in zip(let_in, other, strict=True))
                sets = prod(comb(n, r) for n, r in zip(together, other, strict=True))
                alike.add(chances[together].get((block, other), Fraction(0)) / sets)
            found += Counter(blocks=1, unlike=len(alike) > 1)
    return found


@pytest.mark.parametrize("rows", [5, pytest.param(7, marks=pytest.mark.slow)])
def test_which_rows_go_to_the_block_does_not_depend_on_their_values(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = unlike(partial_block, rows, monkeypatch)
    assert found["blocks"] > 50
    assert found["without"] > 5
    assert found["unlike"] == 0


@pytest.mark.parametrize("choose", [full_block, if_not_eligible, with_one_more_chance, by_name])
def test_a_choice_that_looks_at_rows_of_the_block_is_noticed(choose: Chooser, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unlike(choose, 5, monkeypatch)["unlike"] > 0


@given(values=st.lists(st.integers(0, 9), max_size=80), m=st.integers(2, 5), seed=st.integers(0, 2**32 - 1))
def test_the_rows_that_are_let_in_are_eligible(values: list[int], m: int, seed: int) -> None:
    made = partial_block(np.array(values, np.int32), 10, m, np.random.default_rng(seed))
    if made is not None:
        assert len(made.block) == m
        assert not made.inside[: len(values) // new_rows.PILOT_SHARE].any()
        assert set(np.array(values)[made.inside]) <= set(made.block)
        assert is_eligible(np.bincount(np.array(values)[~made.inside], minlength=10), m)


def test_few_rows_go_to_the_block_where_one_value_is_a_little_too_frequent() -> None:
    rng = np.random.default_rng(3)
    values = rng.choice(25, 4000, p=[0.23, *[0.77 / 24] * 24]).astype(np.int32)
    made = partial_block(values, 25, 5, rng)
    assert made is not None
    assert 0 in made.block
    assert made.inside.mean() < 0.1  # blocks of all rows would hold a third of them
