"""What an interval reveals by itself: its ends are values of its people, and a person alone is published exactly."""

import numpy as np

from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.boxes import bounding_boxes

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


def test_a_person_alone_with_counterfeits_is_published_exactly_by_default() -> None:
    assert boxes_of(1) == [(21, 21), (30, 38)]


def test_a_least_width_leaves_the_low_end_exact() -> None:
    assert boxes_of(5) == [(21, 25), (30, 38)]
