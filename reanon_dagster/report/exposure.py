"""Whom an intersection of the releases exposes: after each release, and by each release alone. Private."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from reanon_core.attacks.intersection import candidates_left
from reanon_core.inference.view.value_sets import mask_sizes
from reanon_core.model.arrays import Int64, UInt64
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge

Candidates: TypeAlias = tuple[Int64, UInt64]
"""People, and the values that are left possible for each, as bit masks."""


def candidates_over_time(history: History, knowledge: Knowledge) -> list[Candidates]:
    """For the releases up to each one: everyone, and the values that an intersection leaves possible for them."""
    count = len(history.releases)
    return [_left(history, knowledge, slice(end)) for end in range(1, count + 1)]


def candidates_alone(history: History, knowledge: Knowledge) -> list[Candidates]:
    """For each release by itself: its people, and the values that it leaves possible for them."""
    return [_left(history, knowledge, slice(at, at + 1)) for at in range(len(history.releases))]


def exposed_people(found: Sequence[Candidates]) -> list[int]:
    """How many people have one value left, in each of these."""
    return [int(np.count_nonzero(mask_sizes(masks) == 1)) for _, masks in found]


def _left(history: History, knowledge: Knowledge, some: slice) -> Candidates:
    return candidates_left(History(history.schema, history.releases[some]), Knowledge(knowledge.presences[some]))
