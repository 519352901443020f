"""FEM, VEM, AIL, C_DM, C_AVG and KL: the golden values of twelve records on a line, and a literal KL."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.builders import Member, entry_of, plain_schema

from reanon_core.catalog import METRICS
from reanon_core.metrics.discernibility import Discernibility
from reanon_core.metrics.entropy import FrequencyEntropy, VolumeEntropy
from reanon_core.metrics.group_size import NormalizedGroupSize
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry

CLASSES = [0] * 3 + [1] * 3 + [2] * 6
SCHEMA = plain_schema(columns=1, values=2)


def line(*, without: int | None = None, counterfeits: tuple[tuple[int, int], ...] = ()) -> Entry:
    members = [Member(i, (i,), i % 2, None if CLASSES[i] == without else CLASSES[i]) for i in range(12)]
    return entry_of(SCHEMA, members, counterfeits=counterfeits)


def value(name: str, entry: Entry) -> float:
    return METRICS[name]().measure(entry, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "golden"),
    [("fem", 1.5), ("vem", 1.5), ("discernibility", 54), ("ail", 0.318181818182), ("kl", 0.959147917027)],
)
def test_the_golden_values_of_twelve_records_on_a_line(name: str, golden: float) -> None:
    assert value(name, line()) == pytest.approx(golden, abs=1e-11)


def test_the_normalized_average_size_of_twelve_records_on_a_line() -> None:
    assert NormalizedGroupSize(k=3).measure(line(), np.random.default_rng(0)) == pytest.approx(4 / 3)
    assert value("c-avg", line()) == value("average-group-size", line()) == 4.0
    with pytest.raises(InvalidParameter, match="k"):
        NormalizedGroupSize(k=0)


def test_withheld_records_are_penalized_where_that_is_asked_for() -> None:
    rng = np.random.default_rng(0)
    assert Discernibility(penalize=True).measure(line(), rng) == 54
    assert Discernibility(penalize=True).measure(line(without=2), rng) == 18 + 6 * 12
    assert Discernibility().measure(line(without=2), rng) == 18


def test_gcp_is_ail_by_attributes_and_vem_is_the_sum_over_attributes() -> None:
    assert value("gcp", line()) == pytest.approx(value("ail", line()))
    members = [Member(i, (i, 2 * i), i % 2, CLASSES[i]) for i in range(12)]
    wide = entry_of(plain_schema(columns=2, values=2), members)
    assert value("ail", wide) == pytest.approx(2 * value("gcp", wide))
    alone = [entry_of(SCHEMA, [Member(m.person, (m.qi[q],), m.value, m.group) for m in members]) for q in range(2)]
    assert value("vem", wide) == pytest.approx(sum(value("vem", entry) for entry in alone))


def test_a_dirty_record_counts_as_extraneous_unless_it_is_said_to_be_real() -> None:
    """Twelve records of which the last is not selected: eleven people, one row too many in the class of six."""
    entry = line()
    entry = replace(entry, snapshot=replace(entry.snapshot, selected=np.arange(12) < 11))
    for name, metric in (("fem", FrequencyEntropy), ("vem", VolumeEntropy)):
        shares = {"fem": (3, 3, 6), "vem": (3, 3, 6)}[name]
        extraneous = -sum(n * log2(share / 11) for n, share in zip((3, 3, 5), shares, strict=True)) / 12
        real = -sum(n * log2(share / 11) for n, share in zip((3, 3, 6), shares, strict=True)) / 11
        assert metric().measure(entry, np.random.default_rng(0)) == pytest.approx(extraneous)
        assert metric(real=True).measure(entry, np.random.default_rng(0)) == pytest.approx(real)


@pytest.mark.parametrize("name", ["fem", "vem"])
def test_a_class_that_is_withheld_carries_no_information(name: str) -> None:
    assert value(name, line(without=2)) == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "golden"), [("fem", 1.288837500166), ("vem", 1.384615384615)])
def test_a_counterfeit_lowers_the_information(name: str, golden: float) -> None:
    assert value(name, line(counterfeits=((0, 0),))) == pytest.approx(golden, abs=1e-11)


def test_the_table_itself_carries_all_information_and_one_class_none() -> None:
    alone = entry_of(SCHEMA, [Member(i, (i,), i % 2, i) for i in range(8)])
    together = entry_of(SCHEMA, [Member(i, (i,), i % 2, 0) for i in range(8)])
    for name in ("fem", "vem"):
        assert value(name, alone) == pytest.approx(3.0)
        assert value(name, together) == pytest.approx(0.0)


people = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12
)


@given(people)
def test_the_divergence_is_that_of_the_definition(rows: list[tuple[int, int, int, int]]) -> None:
    used = sorted({g for *_, g in rows})
    members = [Member(i, (a, b), s, used.index(g)) for i, (a, b, s, g) in enumerate(rows)]
    entry = entry_of(plain_schema(columns=2, values=3), members)
    boxes = {
        g: [(min(x), max(x)) for x in zip(*(m.qi for m in members if m.group == g), strict=True)]
        for g in range(len(used))
    }
    volume = {g: np.prod([high - low + 1 for low, high in box]) for g, box in boxes.items()}
    expected = 0.0
    for point in {(m.qi, m.value) for m in members}:
        p1 = sum((m.qi, m.value) == point for m in members) / len(members)
        p2 = sum(
            sum(m.group == g and m.value == point[1] for m in members) / (len(members) * volume[g])
            for g, box in boxes.items()
            if all(low <= x <= high for x, (low, high) in zip(point[0], box, strict=True))
        )
        expected += p1 * log2(p1 / p2)
    assert value("kl", entry) == pytest.approx(expected, abs=1e-9)
