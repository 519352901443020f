"""What exact ends reveal, and what ends on the grid leave: who shares a group still depends on exact values."""

import numpy as np

from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import Ends, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.recoding.boxes import bounding_boxes
from reanon_core.techniques.mondrian.technique import Mondrian

AGES = np.array([[21, 30, 33, 38]], dtype=np.int32)


def boxes_of(min_width: int) -> list[tuple[int, int]]:
    """A group of one person beside a counterfeit, and a group of three people."""
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="age", min_width=min_width),),
        sensitive=Sensitive(name="s", values=("x", "y", "z")),
    )
    snapshot = Snapshot(schema, np.arange(4), AGES, np.array([0, 0, 1, 2], np.int32))
    counterfeit = Counterfeits(np.zeros(1, np.int32), np.ones(1, np.int32))
    boxes = bounding_boxes(snapshot, Plan(np.array([0, 1, 1, 1], np.int32), 2, counterfeit))
    return [(int(low), int(high)) for low, high in zip(boxes.low[0], boxes.high[0], strict=True)]


def test_a_person_alone_with_counterfeits_is_published_exactly_if_ends_are_exact() -> None:
    assert boxes_of(1) == [(21, 21), (30, 38)]


def test_a_least_width_leaves_an_exact_low_end_exact() -> None:
    assert boxes_of(5) == [(21, 25), (30, 38)]


def test_who_shares_a_group_depends_on_more_than_bins() -> None:
    """All four are in one bin and every box is that bin, but the groups follow the ages inside it."""
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="age", min_width=5, ends=Ends.GRID),),
        sensitive=Sensitive(name="s", values=("x", "y")),
    )
    technique, shown = Mondrian(k=2), []
    for ages in ([20, 21, 23, 24], [20, 23, 24, 21]):
        snapshot = Snapshot(schema, np.arange(4), np.array([ages], np.int32), np.zeros(4, np.int32))
        published = publish(technique, snapshot, technique.initial_state(), np.random.default_rng(0))
        boxes = published.release.boxes
        assert (boxes.low.tolist(), boxes.high.tolist()) == ([[20, 20]], [[24, 24]])
        group = published.release.group[published.trace.rows]
        shown.append({frozenset(np.flatnonzero(group == own).tolist()) for own in (0, 1)})
    assert shown == [{frozenset({0, 1}), frozenset({2, 3})}, {frozenset({0, 3}), frozenset({1, 2})}]
