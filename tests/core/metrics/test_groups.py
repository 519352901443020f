"""The measures of groups and intervals."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.builders import Member, entry_of, plain_schema, random_entry
from oracles.metrics import total_length

from reanon_core.metrics.counterfeits import CounterfeitCount
from reanon_core.metrics.discernibility import Discernibility
from reanon_core.metrics.generalization import GlobalCertaintyPenalty, LossMetric, NormalizedCertaintyPenalty
from reanon_core.metrics.group_size import AverageGroupSize
from reanon_core.metrics.published_part import domains
from reanon_core.model.arrays import MISSING
from reanon_core.model.ledger import Entry
from reanon_core.model.schema import Kind, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.protocols import Metric

METRICS = (
    GlobalCertaintyPenalty(),
    NormalizedCertaintyPenalty(),
    LossMetric(),
    Discernibility(),
    AverageGroupSize(),
    CounterfeitCount(),
)


def measured(metric: Metric, entry: Entry) -> float:
    return metric.measure(entry, np.random.default_rng(0))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_an_empty_release_measures_zero(metric: Metric) -> None:
    assert measured(metric, entry_of(plain_schema(), [])) == 0.0


def example() -> Entry:
    """Group 0: three rows, one counterfeit, 2 of 10 and all of 5 wide. Group 1: one row, exact."""
    members = [Member(0, (0, 0), 0, 0), Member(1, (2, 4), 1, 0), Member(2, (10, 4), 0, 1)]
    return entry_of(plain_schema(), members, counterfeits=[(0, 2)])


def test_counterfeits_and_groups_are_counted() -> None:
    assert measured(CounterfeitCount(), example()) == 1.0
    assert measured(AverageGroupSize(), example()) == 2.0
    assert measured(Discernibility(), example()) == 10.0


def test_lengths_are_measured_against_the_domain_and_counted_for_every_row() -> None:
    assert measured(NormalizedCertaintyPenalty(), example()) == pytest.approx(3 * (0.2 + 1.0))
    assert measured(GlobalCertaintyPenalty(), example()) == pytest.approx(3 * (0.2 + 1.0) / 8)
    assert measured(LossMetric(), example()) == pytest.approx(3 * (0.2 + 1.0) / 8)


def test_a_declared_domain_counts_rather_than_the_observed_one() -> None:
    entry = entry_of(plain_schema(columns=1, domain=(0, 20)), [Member(0, (5,), 0, 0), Member(1, (10,), 1, 0)])
    assert measured(GlobalCertaintyPenalty(), entry) == 0.25
    assert domains(entry.snapshot).tolist() == [[0], [20]]


def test_an_interval_widened_beyond_the_observed_domain_is_as_long_as_it() -> None:
    entry = entry_of(plain_schema(columns=1), [Member(0, (5,), 0, 0), Member(1, (6,), 1, 0)], boxes={0: [(5, 9)]})
    assert measured(GlobalCertaintyPenalty(), entry) == 1.0


def test_a_group_that_lacks_a_value_loses_nothing_there() -> None:
    members = [Member(0, (MISSING,), 0, 0), Member(1, (MISSING,), 1, 0), Member(2, (1,), 1, 1), Member(3, (5,), 1, 1)]
    entry = entry_of(plain_schema(columns=1), members)
    assert measured(GlobalCertaintyPenalty(), entry) == 0.5
    only = entry_of(plain_schema(columns=1), members[:2])
    assert measured(GlobalCertaintyPenalty(), only) == 0.0
    assert domains(only.snapshot).tolist() == [[0], [0]]


TREE = Taxonomy.from_lines(
    [
        ("primary", "low", "*"),
        ("lower", "low", "*"),
        ("upper", "high", "*"),
        ("a", "uni", "high", "*"),
        ("b", "uni", "high", "*"),
    ],
    name="education",
)


@pytest.mark.parametrize(
    ("ends", "leaves"), [((0, 0), 1), ((0, 1), 2), ((1, 2), 5), ((2, 3), 3), ((3, 4), 2), ((4, 4), 1), ((0, 4), 5)]
)
def test_the_loss_of_a_hierarchy_counts_the_leaves_under_the_covering_node(ends: tuple[int, int], leaves: int) -> None:
    column = QuasiIdentifier(name="education", kind=Kind.CATEGORICAL, taxonomy=TREE, hierarchical=True)
    schema = Schema(quasi_identifiers=(column,), sensitive=Sensitive(name="s", values=("v",)))
    entry = entry_of(schema, [Member(0, (ends[0],), 0, 0), Member(1, (ends[1],), 0, 0)])
    assert measured(LossMetric(), entry) == (leaves - 1) / 4
    assert measured(GlobalCertaintyPenalty(), entry) == (ends[1] - ends[0]) / 4


def test_a_hierarchy_whose_values_are_all_missing_loses_nothing() -> None:
    column = QuasiIdentifier(name="education", kind=Kind.CATEGORICAL, taxonomy=TREE, hierarchical=True)
    schema = Schema(quasi_identifiers=(column,), sensitive=Sensitive(name="s", values=("v",)))
    assert measured(LossMetric(), entry_of(schema, [Member(0, (MISSING,), 0, 0)])) == 0.0


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_each_measure_is_that_of_the_definition(random: Random) -> None:
    entry = random_entry(random, plain_schema(), missing=True)
    first, last = domains(entry.snapshot).tolist()
    length, rows = total_length(entry, first, last), entry.release.size
    sizes = [entry.release.group.tolist().count(group) for group in range(entry.release.boxes.count)]
    assert measured(NormalizedCertaintyPenalty(), entry) == pytest.approx(length)
    assert measured(GlobalCertaintyPenalty(), entry) == pytest.approx(length / (2 * rows) if rows else 0.0)
    assert measured(LossMetric(), entry) == measured(GlobalCertaintyPenalty(), entry)
    assert measured(Discernibility(), entry) == sum(size**2 for size in sizes)
    assert measured(AverageGroupSize(), entry) == (rows / len(sizes) if sizes else 0.0)
