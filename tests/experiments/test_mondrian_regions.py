"""The Mondrian without care for quality: its regions tile the domain and hold their rows."""

import numpy as np
from experiments.results.rpb12.mondrian_regions import partition, region_penalties
from populations import exams

VIEW = next(iter(exams.snapshots(3, views=1, rows=400, pool=600)))


def test_regions_are_disjoint_hold_their_rows_and_are_diverse() -> None:
    for in_turn in (False, True):
        groups = partition(VIEW, 2, in_turn=in_turn)
        assert sorted(np.concatenate([rows for rows, _ in groups]).tolist()) == list(range(VIEW.size))
        sizes = [int(np.prod(high - low + 1)) for _, (low, high) in groups]
        assert sum(sizes) == 30 * 2 * 30
        for rows, (low, high) in groups:
            assert (VIEW.qi[:, rows] >= low[:, None]).all()
            assert (VIEW.qi[:, rows] <= high[:, None]).all()
            assert len(np.unique(VIEW.sensitive[rows])) >= 2


def test_a_mondrian_that_gives_up_early_loses_more() -> None:
    found = region_penalties(VIEW, 2)
    assert found["hulls, widest"] < found["regions, widest"] < found["regions, in turn"]
