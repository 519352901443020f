"""Query error: the workload of the paper, and the same answers as one query at a time."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from builders.random_series import small_series
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.builders import Member, entry_of, plain_schema, random_entry
from oracles.metrics import estimated_count, true_count, workload_error

from reanon_core.catalog import build_technique
from reanon_core.metrics import published_groups, published_part, query_error
from reanon_core.metrics.discernibility import Discernibility
from reanon_core.metrics.generalization import GlobalCertaintyPenalty
from reanon_core.metrics.group_size import AverageGroupSize
from reanon_core.metrics.kl_divergence import KlDivergence
from reanon_core.metrics.query_error import CountingQueryError, estimated_counts, random_ranges, true_counts
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple


def exact_entry(people: int = 40) -> Entry:
    """Everybody published as they are, each in a group of their own."""
    members = [Member(p, (p % 7, p % 11), p % 4, p) for p in range(people)]
    return entry_of(plain_schema(), members)


def test_a_release_that_generalizes_nothing_has_no_error() -> None:
    assert CountingQueryError(queries=200, theta=0.3).measure(exact_entry(), np.random.default_rng(1)) == 0.0


def test_counterfeits_are_taken_out_of_the_estimate() -> None:
    members = [Member(0, (0, 0), 0, 0), Member(1, (0, 0), 1, 0)]
    entry = entry_of(plain_schema(values=4), members, counterfeits=[(0, 2), (0, 3)])
    everything = np.array([[0], [0], [0]], np.int32), np.array([[0], [0], [3]], np.int32)
    assert estimated_counts(entry, *everything).tolist() == [2.0]
    half = np.array([[0], [0], [0]], np.int32), np.array([[0], [0], [1]], np.int32)
    assert estimated_counts(entry, *half).tolist() == [1.0]


def test_a_group_counts_by_the_share_of_its_box_that_the_query_covers() -> None:
    entry = entry_of(plain_schema(), [Member(0, (0, 0), 0, 0), Member(1, (3, 1), 0, 0)])
    ranges = np.array([[2], [1], [0]], np.int32), np.array([[9], [1], [0]], np.int32)
    assert estimated_counts(entry, *ranges).tolist() == [2 * (2 / 4) * (1 / 2)]


def test_a_missing_value_is_in_no_range() -> None:
    members = [Member(0, (MISSING, 0), 0, 0), Member(1, (MISSING, 1), 0, 0)]
    entry = entry_of(plain_schema(), members)
    ranges = np.array([[0], [0], [0]], np.int32), np.array([[9], [9], [3]], np.int32)
    assert true_counts(entry, *ranges).tolist() == [0]
    assert estimated_counts(entry, *ranges).tolist() == [0.0]


def test_ranges_have_the_length_of_the_paper_and_stay_in_their_domains() -> None:
    schema = plain_schema(columns=4, values=50, domain=(10, 109))
    entry = entry_of(schema, [Member(0, (10, 20, 30, 40), 0, 0)])
    low, high = random_ranges(entry, 500, 0.1, np.random.default_rng(5))
    assert np.all(high - low + 1 == np.array([63, 63, 63, 63, 32])[:, None])  # 100 and 50 times 0.1 to the 1/5
    assert low[:4].min() == 10
    assert high[:4].max() == 109
    assert (low[4].min(), high[4].max()) == (0, 49)


@pytest.mark.parametrize("theta", [1e-9, 1.0])
def test_a_range_has_at_least_one_code_and_at_most_all(theta: float) -> None:
    low, high = random_ranges(exact_entry(), 20, theta, np.random.default_rng(0))
    assert np.all(high - low + 1 == (1 if theta < 1 else np.array([7, 11, 4])[:, None]))


def test_the_same_generator_gives_the_same_number() -> None:
    entry = random_entry(Random(3), plain_schema(), people=30)
    first, second = (CountingQueryError().measure(entry, np.random.default_rng(9)) for _ in range(2))
    assert first == second


def test_an_empty_release_has_no_error() -> None:
    assert CountingQueryError().measure(entry_of(plain_schema(), []), np.random.default_rng(0)) == 0.0
    assert CountingQueryError().measure(entry_of(plain_schema(values=0), []), np.random.default_rng(0)) == 0.0


def test_withheld_rows_are_part_of_the_truth() -> None:
    entry = entry_of(plain_schema(), [Member(0, (0, 0), 0, None), Member(1, (0, 0), 0, 0)])
    assert CountingQueryError(theta=1.0).measure(entry, np.random.default_rng(0)) == 0.5


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 1000), st.sampled_from([0.1, 0.5, 1.0]))
def test_every_answer_is_that_of_the_definition(random: Random, seed: int, theta: float) -> None:
    entry = random_entry(random, plain_schema(), missing=True)
    low, high = random_ranges(entry, 8, theta, np.random.default_rng(seed))
    ranges = list(zip(low.T.tolist(), high.T.tolist(), strict=True))
    assert true_counts(entry, low, high).tolist() == [true_count(entry, *both) for both in ranges]
    assert estimated_counts(entry, low, high) == pytest.approx([estimated_count(entry, *both) for both in ranges])
    measured = CountingQueryError(queries=8, theta=theta).measure(entry, np.random.default_rng(seed))
    assert measured == pytest.approx(workload_error(entry, ranges))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"queries": 0}, r"queries \(0\) must be at least 1"),
        ({"theta": 0.0}, r"theta \(0.0\) must be above 0 and at most 1"),
        ({"theta": 1.5}, r"theta \(1.5\) must be above 0 and at most 1"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_a_sentence(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        CountingQueryError(**options)  # type: ignore[arg-type]


def test_a_decoupled_release_is_answered_by_the_own_box_of_each_person_and_the_values_of_their_group() -> None:
    technique = decouple(build_technique("m-invariance", {"m": 2, "balancing": "blind", "not_eligible": "blocks"}), 3)
    for entry in replay(technique, small_series(4)[1], np.random.default_rng(1)).entries:
        rows = entry.release.person_rows
        assert rows is not None
        low, high = random_ranges(entry, 30, 0.3, np.random.default_rng(2))
        for query, estimate in enumerate(estimated_counts(entry, low, high).tolist()):
            expected = 0.0
            for group, box in zip(rows.group, rows.box, strict=True):
                values = entry.release.sensitive[entry.release.group == group]
                part = np.mean((values >= low[-1, query]) & (values <= high[-1, query]))
                for attribute in range(2):
                    first, last = rows.boxes.low[attribute, box], rows.boxes.high[attribute, box]
                    inside = min(last, high[attribute, query]) - max(first, low[attribute, query]) + 1
                    part *= max(0, inside) / (last - first + 1)
                expected += part
            assert estimate == pytest.approx(expected)


def test_the_certainty_penalty_of_a_decoupled_release_is_that_of_its_peoples_boxes() -> None:
    technique = decouple(build_technique("m-invariance", {"m": 2, "balancing": "blind", "not_eligible": "blocks"}), 3)
    entry = replay(technique, small_series(4)[1], np.random.default_rng(1)).entries[-1]
    rows = entry.release.person_rows
    assert rows is not None
    widths = (rows.boxes.high - rows.boxes.low)[:, rows.box] / 120  # the domain of both attributes
    assert GlobalCertaintyPenalty().measure(entry, np.random.default_rng(0)) == pytest.approx(float(widths.mean()))


def test_the_distribution_of_a_decoupled_release_is_that_of_its_peoples_boxes_and_their_groups_values() -> None:
    technique = decouple(build_technique("m-invariance", {"m": 2, "balancing": "blind", "not_eligible": "blocks"}), 3)
    for seed in range(4):
        entry = replay(technique, small_series(seed)[1], np.random.default_rng(seed)).entries[-1]
        rows, snapshot, release = entry.release.person_rows, entry.snapshot, entry.release
        assert rows is not None
        people = Counter(zip(*snapshot.qi.tolist(), snapshot.sensitive.tolist(), strict=True))
        expected = 0.0
        for (*point, value), count in people.items():
            density = 0.0
            for group, box in zip(rows.group, rows.box, strict=True):
                values = release.sensitive[release.group == group]
                volume = np.prod(rows.boxes.high[:, box] - rows.boxes.low[:, box] + 1.0)
                density += rows.boxes.contains(int(box), np.array(point, np.int32)) * np.mean(values == value) / volume
            true = count / snapshot.size
            expected += true * np.log2(true / (density / len(rows.box)))
        assert KlDivergence().measure(entry, np.random.default_rng(0)) == pytest.approx(expected)
        sizes = np.bincount(rows.box)
        assert Discernibility().measure(entry, np.random.default_rng(0)) == (sizes**2).sum()
        assert AverageGroupSize().measure(entry, np.random.default_rng(0)) == sizes.mean()


@settings(deadline=None, max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(1, 9), st.booleans())
def test_a_release_that_is_read_in_parts_has_the_same_errors_to_the_last_bit(
    random: Random, rows: int, selects: bool
) -> None:
    entry = random_entry(random, plain_schema(columns=3, values=5), people=25, groups=6, missing=True)
    if selects:
        selected = np.array([random.random() < 0.6 for _ in range(entry.snapshot.size)], np.bool_)
        entry = replace(entry, snapshot=replace(entry.snapshot, selected=selected))
    metric = CountingQueryError(queries=50, theta=0.5)
    whole = metric.relative_errors(entry, np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch:
        for module in (published_groups, query_error, published_part):
            patch.setattr(module, "PART", rows)
        assert metric.relative_errors(entry, np.random.default_rng(0)).tobytes() == whole.tobytes()
