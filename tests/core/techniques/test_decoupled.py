"""The decoupled form: the groups of the technique, and boxes of people that no sensitive value can change."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders.random_series import small_series, tiny_ledgers
from oracles.algorithm import Likelihoods

from reanon_core.adversary_knowledge import with_algorithm
from reanon_core.catalog import METRICS, build_attack, build_technique, own_checks
from reanon_core.judgement import history_verdicts
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, Unpublishable
from reanon_core.model.packing import pack, unpack
from reanon_core.model.schema import Ends, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Technique
from reanon_core.publishing import publish
from reanon_core.replay import replay
from reanon_core.tables.release_table import published_tables
from reanon_core.techniques.decoupled import decouple
from reanon_core.techniques.m_invariance.technique import MInvariance

TECHNIQUES = [
    ("m-invariance", {"m": 2, "balancing": "blind", "not_eligible": "blocks"}),
    ("cor-split", {"m": 3, "n": 2, "balancing": "blind", "not_eligible": "blocks"}),
]


def publishable(technique: Technique[Any, Any], count: int) -> list[list[Snapshot]]:
    """So many random small series that the technique publishes."""
    found: list[list[Snapshot]] = []
    for seed in range(100):
        series = small_series(seed)[1]
        try:
            replay(technique, series, np.random.default_rng(seed))
        except Unpublishable:
            continue
        found.append(series)
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize(("name", "parameters"), TECHNIQUES)
def test_values_groups_and_counterfeits_are_those_of_the_technique(name: str, parameters: dict[str, object]) -> None:
    technique = build_technique(name, parameters)
    for series in publishable(technique, 8):
        plain = replay(technique, series, np.random.default_rng(5))
        first = replay(decouple(technique, 3), series[:1], np.random.default_rng(5)).entries[0]
        assert first.release.group.tolist() == plain.entries[0].release.group.tolist()
        assert first.release.sensitive.tolist() == plain.entries[0].release.sensitive.tolist()
        assert first.auxiliary.count.tolist() == plain.entries[0].auxiliary.count.tolist()
        apart = replay(decouple(technique, 3), series, np.random.default_rng(5))
        for entry in apart.entries:
            assert entry.release.person_rows is not None
            real = np.bincount(entry.release.person_rows.group, minlength=entry.release.boxes.count)
            shown = np.bincount(entry.release.group, minlength=entry.release.boxes.count)
            shown[entry.auxiliary.group] -= entry.auxiliary.count
            assert real.tolist() == shown.tolist()


@pytest.mark.parametrize(("name", "parameters"), TECHNIQUES)
def test_every_promise_is_kept(name: str, parameters: dict[str, object]) -> None:
    technique = decouple(build_technique(name, parameters), 3)
    for series in publishable(technique, 8):
        ledger = replay(technique, series, np.random.default_rng(2))
        for check in own_checks(technique):
            for verdict in history_verdicts(check, ledger.entries):
                assert verdict.holds, (check.name, verdict.observed)


def test_the_boxes_of_people_are_the_same_whatever_their_values_are() -> None:
    technique = decouple(build_technique("m-invariance", {"m": 2, "balancing": "blind", "not_eligible": "blocks"}), 3)
    compared = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        series = small_series(seed)[1]
        values = rng.integers(0, len(series[0].schema.sensitive.values), 1000).astype(np.int32)
        others = [replace(snapshot, sensitive=values[snapshot.persons]) for snapshot in series]
        state, other_state = technique.initial_state(), technique.initial_state()
        for one, two in zip(series, others, strict=True):
            try:
                plan, other = (
                    technique.plan(snapshot, before, np.random.default_rng(seed))
                    for snapshot, before in ((one, state), (two, other_state))
                )
            except Unpublishable:
                break
            assert plan.person_boxes.number.tolist() == other.person_boxes.number.tolist()
            assert np.array_equal(plan.person_boxes.boxes.low, other.person_boxes.boxes.low)
            assert np.array_equal(plan.person_boxes.boxes.high, other.person_boxes.boxes.high)
            compared += int(plan.group.tolist() != other.group.tolist())
            state, other_state = technique.advance(state, one, plan), technique.advance(other_state, two, other)
    assert compared > 20  # the groups did differ


def test_all_worlds_of_tiny_series_leave_every_value_equally_likely() -> None:
    """The groups decide the likelihood of a world; boxes are the same in all of them, by the test above."""
    inner = MInvariance(m=2, balancing="blind", not_eligible="refuse")
    for ledger in tiny_ledgers(decouple(inner, 2), 6):
        likelihoods = Likelihoods(inner, ledger)
        signature = likelihoods.signatures()
        for person, share in likelihoods.posteriors().items():
            assert set(share) == set(signature[person])
            assert len(set(share.values())) == 1


def test_a_series_goes_on_from_a_packed_state() -> None:
    technique = decouple(build_technique(*TECHNIQUES[1]), 3)
    (series,) = publishable(technique, 1)
    kept, stored = technique.initial_state(), technique.initial_state()
    for snapshot in series:
        one = publish(technique, snapshot, kept, np.random.default_rng(1))
        two = publish(
            technique,
            snapshot,
            technique.restored(unpack(pack(stored.packed()))) if stored.time else stored,
            np.random.default_rng(1),
        )
        kept, stored = one.state, two.state
        assert one.release.person_rows is not None
        assert two.release.person_rows is not None
        assert one.release.person_rows.box.tolist() == two.release.person_rows.box.tolist()
        assert pack(kept.packed()) == pack(stored.packed())


def test_rows_of_people_are_in_an_order_of_their_own() -> None:
    """The row of a person and the row of their value have nothing in common, in the file or in memory."""
    technique = decouple(build_technique("m-invariance", {"m": 2, "balancing": "blind", "not_eligible": "blocks"}), 3)
    same = people = 0
    for series in publishable(technique, 8):
        for entry in replay(technique, series, np.random.default_rng(3)).entries:
            assert entry.trace.person_rows is not None
            assert sorted(entry.trace.person_rows.tolist()) == list(range(len(entry.trace.persons)))
            same += int(np.count_nonzero(entry.trace.person_rows == entry.trace.rows))
            people += len(entry.trace.persons)
    assert same < people / 8


@pytest.mark.parametrize(("name", "parameters"), TECHNIQUES)
def test_people_without_a_value_and_a_release_without_people_are_published(
    name: str, parameters: dict[str, object]
) -> None:
    technique = decouple(build_technique(name, parameters), 4)
    columns = (
        QuasiIdentifier(name="a", missing=Missing.SEPARATE, ends=Ends.GRID, domain=(0, 100)),
        QuasiIdentifier(name="b", ends=Ends.GRID),
    )
    schema = Schema(quasi_identifiers=columns, sensitive=Sensitive(name="s", values=("x", "y", "z")))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        qi = rng.integers(0, 100, (2, 90)).astype(np.int32)
        qi[0, rng.random(90) < 0.15] = MISSING
        present = [np.arange(60), np.arange(0), np.arange(30, 90), np.arange(90)]
        series = [Snapshot(schema, here, qi[:, here], (here % 3).astype(np.int32)) for here in present]
        ledger = replay(technique, series, np.random.default_rng(seed))
        for check in own_checks(technique):
            assert all(verdict.holds for verdict in history_verdicts(check, ledger.entries))
        for attack in ("intersection", "propagation", "linear", "algorithm"):
            knowledge = with_algorithm(technique, ledger, ledger.knowledge())
            assert build_attack(attack).run(ledger.history(), knowledge).exposed == 0
        for name, metric in METRICS.items():
            number = metric().measure(ledger.entries[-1], rng)
            assert np.isnan(number) if name == "relations" else np.isfinite(number)  # the values are drawn evenly
        rows, values = published_tables(ledger.entries[1].release, ledger.entries[1].auxiliary, schema).values()
        assert (rows.num_rows, values.num_rows) == (0, 0)


def test_a_technique_without_a_decoupled_form_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="the form of mondrian"):
        decouple(build_technique("mondrian", {"k": 2}), 10)
    with pytest.raises(InvalidParameter, match="k"):
        decouple(build_technique("m-invariance", {"m": 2}), 1)


PINNED = {
    "m-invariance": "74290d0504c228b4",
    "cor-split": "1d759e76de8f931c",
}
"""Digests of a series under a seed. A series that has begun goes on with the same boxes, so they must not change."""


@pytest.mark.parametrize(("name", "parameters"), TECHNIQUES)
def test_a_series_is_published_as_it_was(name: str, parameters: dict[str, object]) -> None:
    technique = decouple(build_technique(name, parameters), 3)
    digest = hashlib.sha256()
    rng = np.random.default_rng(11)
    born, place = rng.integers(1930, 2000, 240), rng.geometric(0.3, 240)
    columns = (
        QuasiIdentifier(name="age", ends=Ends.GRID, domain=(0, 120)),
        QuasiIdentifier(name="place", missing=Missing.SEPARATE, ends=Ends.GRID),
    )
    schema = Schema(quasi_identifiers=columns, sensitive=Sensitive(name="s", values=tuple("abcdef")))
    series = []
    for year in range(4):
        here = np.flatnonzero(rng.random(240) < 0.8)
        qi = np.stack([2020 + year - born[here], np.where(here % 17 == 0, MISSING, place[here])]).astype(np.int32)
        series.append(Snapshot(schema, here, qi, (here % 6).astype(np.int32)))
    for entry in replay(technique, series, np.random.default_rng(7)).entries:
        rows = entry.release.person_rows
        assert rows is not None
        shown = (rows.group, rows.box, rows.boxes.low, rows.boxes.high, rows.boxes.missing)
        for array in (*shown, entry.release.group, entry.release.sensitive, entry.auxiliary.count):
            digest.update(np.ascontiguousarray(array).tobytes())
    assert digest.hexdigest()[:16] == PINNED[name]
