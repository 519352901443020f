"""What the plan of a release does to the people of each sensitive value, for its steward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.count_record import CountRecord
from reanon_core.model.arrays import Int64
from reanon_core.model.packing import Packable


@dataclass(frozen=True)
class PlannedValue:
    """One sensitive value in the plan over counts."""

    value: str
    buckets: int
    """How many signatures in use have it."""
    people: int
    """How many people are placed with it."""
    counterfeits: int
    """How many counterfeits fill it up."""
    withheld: int
    """How many people with it are withheld for this release, because their bucket has too many."""


def planned_values(packed: Mapping[str, Packable], values: Sequence[str]) -> list[PlannedValue]:
    """The values that have people or counterfeits, those that cost most first; nothing without a record."""
    if not packed:
        return []
    record = CountRecord.restored(packed)
    plan, slots = record.plan, len(record.plan.signatures.values)
    old = np.zeros(slots, np.int64)
    old[: len(record.counts.old)] = record.counts.old
    people = old - plan.surplus + plan.taken.sum(axis=0)

    def by_value(of_slot: Int64) -> list[int]:
        found = np.zeros(len(values), np.int64)
        np.add.at(found, plan.signatures.values, of_slot)
        return [int(number) for number in found]

    used = (people + plan.counterfeits + plan.surplus > 0).astype(np.int64)
    numbers = zip(*map(by_value, (used, people, plan.counterfeits, plan.surplus)), strict=True)
    found = [PlannedValue(value, *own) for value, own in zip(values, numbers, strict=True) if own[0]]
    return sorted(found, key=lambda one: (-one.counterfeits - one.withheld, -one.people))
