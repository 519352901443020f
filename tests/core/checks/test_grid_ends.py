"""The judge of ends on the grid agrees with the bins as they are defined, and well-formedness refuses other ends."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.bins import bins
from oracles.builders import Member, entry_of, plain_schema

from reanon_core.checks.grid_ends import off_grid
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.model.coding import LEAST_CODE, MOST_CODE
from reanon_core.model.schema import Ends, Kind, QuasiIdentifier
from reanon_core.model.taxonomy import Taxonomy

FLAW = "intervals that end inside a bin"
TREE = Taxonomy.from_lines(
    [[f"v{i}", *up, "any"] for i, up in enumerate([["p"], ["p"], ["q"], ["q"], ["q"], []])], name="t"
)


def judged_wrong(column: QuasiIdentifier, low: list[int], high: list[int]) -> list[bool]:
    return off_grid(np.array(low, np.int32), np.array(high, np.int32), column).tolist()


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"domain": (0, 2)},
        {"domain": (-3, 10)},
        {"domain": (5, 24), "kind": Kind.DATE},
        {"kind": Kind.CATEGORICAL, "taxonomy": Taxonomy.flat([str(i) for i in range(11)])},
        {"kind": Kind.CATEGORICAL, "taxonomy": TREE, "hierarchical": True},
    ],
)
def test_every_interval_of_a_small_domain_is_judged_by_the_list_of_bins(width: int, options: dict) -> None:
    column = QuasiIdentifier(name="a", min_width=width, ends=Ends.GRID, **options)
    assert column.bounds is not None
    codes = range(column.bounds[0], column.bounds[1] + 1)
    pairs = [(low, high) for low, high in product(codes, codes) if low <= high]
    begins, finishes = map(set, zip(*bins(column), strict=True))
    expected = [low not in begins or high not in finishes for low, high in pairs]
    assert judged_wrong(column, *map(list, zip(*pairs, strict=True))) == expected


@settings(deadline=None)
@given(
    st.sampled_from([Kind.NUMERIC, Kind.DATE]),
    st.sampled_from([1, 2, 3, 7]),
    st.integers(-2500, 2500),
    st.integers(0, 300),
)
def test_without_a_domain_ends_are_judged_by_the_list_of_bins(kind: Kind, width: int, low: int, more: int) -> None:
    column = QuasiIdentifier(name="a", kind=kind, min_width=width, ends=Ends.GRID)
    begins, finishes = map(set, zip(*bins(column, 3000), strict=True))
    assert judged_wrong(column, [low], [low + more]) == [low not in begins or low + more not in finishes]


def test_the_ends_of_all_numbers_are_ends_of_bins() -> None:
    for width in (1, 7):
        column = QuasiIdentifier(name="a", min_width=width, ends=Ends.GRID)
        assert judged_wrong(column, [LEAST_CODE, LEAST_CODE + 1], [MOST_CODE, MOST_CODE]) == [False, True]


def test_a_candidate_with_an_end_inside_a_bin_is_refused_unless_ends_are_exact() -> None:
    """A box as exact ends have it: from the member's age, five wide."""
    members = [Member(0, (21,), 0, 0), Member(1, (22,), 1, 0)]
    for ends, box, flaws in (("exact", (21, 25), None), ("grid", (21, 25), 1), ("grid", (20, 24), 0)):
        schema = plain_schema(columns=1, min_width=5, domain=(0, 99), ends=Ends(ends))
        verdict = WellFormedness().examine(entry_of(schema, members, boxes={0: [box]}), {})[0]
        assert verdict.observed.get(FLAW) == flaws
        assert verdict.holds == (not flaws)
