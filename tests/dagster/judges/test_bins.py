"""The judges at size know the same bins as the check in memory, and as their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_core.checks.grid_ends import off_grid
from reanon_core.model.schema import Ends, Kind, QuasiIdentifier
from reanon_core.model.taxonomy import Taxonomy
from reanon_dagster.judges.bins import ends_inside_a_bin

TREE = Taxonomy.from_lines(
    [[f"v{i}", *up, "any"] for i, up in enumerate([["p"], ["p"], ["q"], ["q"], ["q"], []])], name="t"
)
FLAT = Taxonomy.flat([str(i) for i in range(11)])
LEAST, MOST = -(2**31), 2**31 - 1
EDGES = [edge + step for edge in (LEAST + 2, -512, 0, 256, 512, 1024, 2**30, MOST - 1) for step in (-1, 0, 1)]


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"domain": (0, 2)},
        {"domain": (-3, 10)},
        {"domain": (0, 100_000)},
        {"domain": (5, 24), "kind": Kind.DATE},
        {"kind": Kind.DATE},
        {"kind": Kind.CATEGORICAL, "taxonomy": FLAT},
        {"kind": Kind.CATEGORICAL, "taxonomy": TREE},
        {"kind": Kind.CATEGORICAL, "taxonomy": TREE, "hierarchical": True},
    ],
)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_both_judges_know_the_same_bins(width: int, options: dict, data: st.DataObject) -> None:
    if options.get("domain") == (0, 2) and width > 3:
        return
    column = QuasiIdentifier(name="a", min_width=width, ends=Ends.GRID, **options)
    codes = st.one_of(st.integers(-5, 30), st.sampled_from(EDGES), st.integers(LEAST, MOST), st.just(2**31 - 1))
    pairs = data.draw(st.lists(st.tuples(codes, codes), min_size=1, max_size=60))
    low, high = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
    assert ends_inside_a_bin(low, high, column).tolist() == off_grid(low, high, column).tolist()
