"""t-closeness from its definition, with exact fractions."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import array_checks
from oracles.builders import Member, entry_of, plain_schema

from reanon_core.checks.t_closeness import TCloseness
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.taxonomy import Taxonomy

groups = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=5)


def entry(listed: list[list[int]]):  # type: ignore[no-untyped-def]
    members = [(g, v) for g, values in enumerate(listed) for v in values]
    return entry_of(plain_schema(), [Member(i, (g, g), v, g) for i, (g, v) in enumerate(members)])


def distance(part: list[int], whole: list[int]) -> Fraction:
    return sum(
        (abs(Fraction(part.count(v), len(part)) - Fraction(whole.count(v), len(whole))) for v in range(4)), Fraction(0)
    ) / 2  # fmt: skip


@given(groups, st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_the_check_agrees_with_the_definition(listed: list[list[int]], t: float) -> None:
    whole = [v for values in listed for v in values]
    far = [g for g in listed if distance(g, whole) > Fraction(t).limit_denominator(1000)]
    verdict, _ = TCloseness(t=t).examine(entry(listed), {})
    assert (verdict.holds, verdict.violations) == (not far, len(far))


TREE = Taxonomy.from_lines([["v0", "p", "any"], ["v1", "p", "any"], ["v2", "q", "any"], ["v3", "any"]], name="t")


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@given(listed=groups, whole=st.sampled_from(["release", "snapshot"]), withheld=st.integers(0, 3))
def test_every_distance_is_that_over_arrays(distance: str, listed: list[list[int]], whole: str, withheld: int) -> None:
    members = [(g, v) for g, values in enumerate(listed) for v in values]
    people = [Member(i, (0, 0), v, g) for i, (g, v) in enumerate(members)]
    people += [Member(100 + i, (0, 0), 3, None) for i in range(withheld)]
    schema = plain_schema()
    schema = replace(schema, sensitive=replace(schema.sensitive, taxonomy=TREE))
    options = {"t": 0.3, "distance": distance, "whole": whole}
    found, _ = TCloseness(**options).examine(entry_of(schema, people), {})
    expected, _ = array_checks.BY_NAME["t-closeness"](**options).examine(entry_of(schema, people), {})
    assert found.violations == expected.violations
    assert found.observed == pytest.approx(expected.observed)


def test_a_group_of_one_value_is_far_from_the_whole() -> None:
    verdict, _ = TCloseness(t=0.4).examine(entry([[0, 0], [0, 1], [1, 1]]), {})
    assert not verdict.holds
    assert verdict.violations == 2
    assert verdict.observed["greatest distance"] == pytest.approx(0.5)


def test_t_must_be_a_share() -> None:
    with pytest.raises(InvalidParameter, match=r"t \(1.5\) must be between 0 and 1"):
        TCloseness(t=1.5)
