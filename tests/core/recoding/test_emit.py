"""From a plan to public rows: nothing of the order in which they were built is left, and boxes keep the least width."""

import numpy as np

from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.emit import emit

SCHEMA = Schema(
    quasi_identifiers=(QuasiIdentifier(name="age", min_width=5, domain=(0, 20)),),
    sensitive=Sensitive(name="s", values=("x", "y")),
)


def pairs(count: int) -> tuple[Snapshot, Plan]:
    """Groups of one person with x and one counterfeit with y, built in order."""
    people = np.arange(count)
    snapshot = Snapshot(SCHEMA, people, people[None, :] % 21, np.zeros(count, np.int32))
    groups = np.arange(count, dtype=np.int32)
    return snapshot, Plan(groups, count, Counterfeits(groups, np.ones(count, np.int32)))


def test_counterfeits_stand_anywhere_among_the_rows() -> None:
    snapshot, plan = pairs(200)
    release, _, trace = emit(snapshot, plan, np.random.default_rng(0))
    counterfeits = np.setdiff1d(np.arange(release.size), trace.rows)
    assert 150 < counterfeits.mean() < 250  # built last they would be 200 .. 399
    assert (np.diff(trace.rows) < 0).any()  # and people are not in the order of their pseudonyms


def test_group_numbers_say_nothing_about_the_order_of_building() -> None:
    snapshot, plan = pairs(200)
    release, auxiliary, trace = emit(snapshot, plan, np.random.default_rng(0))
    number = release.group[trace.rows]
    assert abs(np.corrcoef(number, np.arange(200))[0, 1]) < 0.3
    assert sorted(number) == auxiliary.group.tolist() == list(range(200))
    other, _, _ = emit(snapshot, plan, np.random.default_rng(1))
    assert not np.array_equal(release.group, other.group)


def test_every_row_keeps_its_own_value_and_box() -> None:
    snapshot, plan = pairs(50)
    release, _, trace = emit(snapshot, plan, np.random.default_rng(0))
    assert np.array_equal(release.sensitive[trace.rows], snapshot.sensitive)
    group = release.group[trace.rows]
    assert (release.boxes.low[0, group] <= snapshot.qi[0]).all()
    assert (release.boxes.high[0, group] >= snapshot.qi[0]).all()


def test_a_narrow_box_is_widened_to_the_right_and_shifted_left_at_the_edge_of_the_domain() -> None:
    snapshot, plan = pairs(21)
    release, _, trace = emit(snapshot, plan, np.random.default_rng(0))
    group = release.group[trace.rows]
    low, high = release.boxes.low[0, group], release.boxes.high[0, group]
    assert np.array_equal(high - low + 1, np.full(21, 5))
    assert low.tolist() == [*range(17), 16, 16, 16, 16]
