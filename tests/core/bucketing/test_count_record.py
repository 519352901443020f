"""The private record of a release: the plan follows from the recorded counts, and both survive packing."""

from typing import Any

import numpy as np
import pytest

from reanon_core.bucketing.count_plan import CountRecord, assign_new_rows, balance_buckets
from reanon_core.model.arrays import Int32
from reanon_core.model.packing import pack, unpack
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.decoupled import decouple
from reanon_core.techniques.m_invariance.technique import MInvariance
from reanon_core.techniques.mondrian.technique import Mondrian

SCHEMA = Schema(
    quasi_identifiers=(QuasiIdentifier(name="a", domain=(0, 99)), QuasiIdentifier(name="b", domain=(0, 99))),
    sensitive=Sensitive(name="s", values=tuple("abcdefg")),
)


def table(rng: np.random.Generator, values: Int32) -> Snapshot:
    here = np.flatnonzero(rng.random(len(values)) < 0.6)
    qi = rng.integers(0, 100, (2, len(here))).astype(np.int32)
    return Snapshot(SCHEMA, here.astype(np.int64), qi, values[here])


@pytest.mark.parametrize(
    "technique",
    [
        MInvariance(m=3),
        MInvariance(m=3, balancing="filled"),
        MInvariance(m=3, balancing="median", assignment="stable"),
        MInvariance(m=2, balancing="median", not_eligible="partial-blocks", regions="sizes"),
        CorSplit(m=3, n=2, not_eligible="blocks"),
        decouple(MInvariance(m=3), 4),
    ],
    ids=["blind", "filled", "median", "regions", "cor-split", "decoupled"],
)
def test_the_plan_follows_from_the_counts(technique: Any) -> None:
    rng = np.random.default_rng(1)
    state, values = technique.initial_state(), rng.integers(0, 7, 900).astype(np.int32)
    options = getattr(technique, "technique", technique)
    for _ in range(3):
        publication = publish(technique, table(rng, values), state, rng)
        state = publication.state
        record = CountRecord.restored(unpack(pack(publication.count_record)))
        balanced = balance_buckets(record.counts, options.m, options.balancing)
        plan = assign_new_rows(record.counts, balanced, options.m, options.assignment)
        assert plan.signatures.tuples == record.plan.signatures.tuples
        for name in ("taken", "counterfeits", "surplus"):
            np.testing.assert_array_equal(getattr(plan, name), getattr(record.plan, name), err_msg=name)
        placed = record.counts.old.sum() - record.plan.surplus.sum() + record.plan.taken.sum()
        assert placed == len(publication.trace.persons)


def test_counterfeits_are_those_of_the_plan_where_groups_of_counterfeits_alone_are_none() -> None:
    rng = np.random.default_rng(2)
    technique = MInvariance(m=3)
    values = rng.integers(0, 7, 300).astype(np.int32)
    first = publish(technique, table(rng, values), technique.initial_state(), rng)
    second = publish(technique, table(rng, values), first.state, rng)
    planned = int(CountRecord.restored(second.count_record).plan.counterfeits.sum())
    assert 0 < second.auxiliary.total <= planned


def test_a_technique_that_does_not_decide_over_counts_records_nothing() -> None:
    rng = np.random.default_rng(3)
    technique = Mondrian(k=3)
    made = publish(technique, table(rng, rng.integers(0, 7, 90).astype(np.int32)), technique.initial_state(), rng)
    assert made.count_record == {}


def test_a_record_of_another_version_is_not_read() -> None:
    with pytest.raises(ValueError, match="count record version 2 is not 1"):
        CountRecord.restored({"version": 2})
