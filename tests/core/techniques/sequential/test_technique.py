"""The sequential technique: dynamics, options, and what it refuses."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from builders.worlds import panel_schema, part, table

from reanon_core.catalog import own_checks
from reanon_core.checks.possible_worlds import PossibleWorlds
from reanon_core.metrics.generalization import LossMetric
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Unpublishable
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.replay import replay
from reanon_core.techniques.sequential.admission import admit
from reanon_core.techniques.sequential.batches import batch_of
from reanon_core.techniques.sequential.buckets import BlindSize, mondrian_buckets
from reanon_core.techniques.sequential.technique import Sequential

RELEASES = (
    ("age", "disease"),
    ("city", "rank", "disease"),
    ("age", "city", "blood"),
    None,
    ("rank", "disease", "blood"),
)


def require_own_checks(technique: Sequential, ledger: Ledger) -> None:
    """All own checks hold on the whole series."""
    for check in own_checks(technique):
        memory = check.initial_memory()
        for entry in ledger.entries:
            verdict, memory = check.examine(entry, memory)
            assert verdict.holds, verdict


def series(snapshot: Snapshot) -> list[Snapshot]:
    return [replace(snapshot, columns=columns) for columns in RELEASES]


@pytest.mark.parametrize("worlds", ["symmetric", "ring"])
@pytest.mark.parametrize("loss", ["lm", "em"])
@pytest.mark.parametrize("approach", ["sequential", "non-sequential", "homogeneous"])
@pytest.mark.parametrize("ell", [2, 4])
def test_every_release_is_consistent_with_every_world(worlds: str, loss: str, approach: str, ell: int) -> None:
    technique = Sequential(ell=ell, worlds=worlds, loss=loss, approach=approach)
    require_own_checks(technique, replay(technique, series(table(Random(ell), 43)), np.random.default_rng(1)))


@pytest.mark.parametrize("seed", range(12))
def test_no_release_loses_more_than_the_non_sequential_one(seed: int) -> None:
    snapshot, measure = table(Random(seed), 60, values=6), LossMetric()
    losses = [
        [
            measure.measure(entry, np.random.default_rng(0))
            for entry in replay(Sequential(ell=3, approach=how), series(snapshot), np.random.default_rng(seed)).entries
        ]
        for how in ("sequential", "non-sequential", "homogeneous")
    ]
    for ours, plain, wide in zip(*losses, strict=True):
        assert ours <= plain + 1e-12
        assert plain <= wide + 1e-12


def test_the_published_file_has_no_group_and_no_column_that_was_not_asked_for() -> None:
    snapshot = table(Random(0), 30, columns=("age", "disease"))
    release = replay(Sequential(ell=2), [snapshot], np.random.default_rng(0)).entries[0].release
    assert not release.grouped
    assert (release.other == -1).all()
    assert (release.boxes.missing[1:] == 1).all()


def test_new_people_get_worlds_of_their_own_and_old_ones_keep_theirs() -> None:
    everyone = table(Random(2), 60)
    some = np.zeros(60, np.bool_)
    some[np.random.default_rng(0).choice(60, 40, replace=False)] = True
    # Diverse by construction: as many of each value among the old as among the new.
    order = np.argsort(everyone.sensitive, kind="stable")
    some[:] = False
    some[order[np.arange(60) % 12 < 8]] = True
    technique = Sequential(ell=3)
    snapshots = [part(everyone, some, ("age", "disease")), replace(everyone, columns=("city", "disease"))]
    first = publish(technique, snapshots[0], technique.initial_state(), np.random.default_rng(0))
    second = publish(technique, snapshots[1], first.state, np.random.default_rng(0))
    assert np.array_equal(second.state.images[:, :40], first.state.images)
    assert (second.state.images[:, 40:] >= 40).all()
    require_own_checks(technique, Ledger((first.entry(snapshots[0]), second.entry(snapshots[1]))))


def test_a_batch_in_which_a_value_is_too_frequent_is_refused_or_waits_as_a_whole() -> None:
    everyone = table(Random(3), 42)
    order = np.argsort(everyone.sensitive, kind="stable")
    old = np.ones(42, np.bool_)
    old[order[:2]] = False  # two people with the same value come later
    first, second = part(everyone, old), everyone
    refusing = Sequential(ell=3)
    state = publish(refusing, first, refusing.initial_state(), np.random.default_rng(0)).state
    with pytest.raises(Unpublishable, match="not 3-diverse: value 'd0' has 2 of 2 new people") as error:
        publish(refusing, second, state, np.random.default_rng(0))
    assert "d0" not in error.value.redacted()
    waiting = Sequential(ell=3, on_batch="wait")
    ledger = replay(waiting, [first, second, second], np.random.default_rng(0))
    publication = publish(waiting, second, state, np.random.default_rng(0))
    assert publication.withheld == {"waiting: a sensitive value is too frequent among the new people": 2}
    assert publication.release.size == 40
    require_own_checks(waiting, ledger)


def test_who_waits_is_published_once_others_make_the_batch_diverse() -> None:
    everyone = table(Random(4), 50)
    order = np.argsort(everyone.sensitive, kind="stable")
    old = np.ones(50, np.bool_)
    late = order[[0, 1, 10, 11, 20, 21]]
    old[late] = False
    middle = old.copy()
    middle[late[:2]] = True
    waiting = Sequential(ell=3, on_batch="wait")
    snapshots = [part(everyone, old), part(everyone, middle), everyone]
    ledger = replay(waiting, snapshots, np.random.default_rng(0))
    assert [entry.release.size for entry in ledger.entries] == [44, 44, 50]
    require_own_checks(waiting, ledger)


def test_people_who_leave_are_refused_or_published_on_until_their_cell_has_left() -> None:
    everyone = table(Random(5), 40)
    refusing, deferring = Sequential(ell=2), Sequential(ell=2, on_delete="defer")
    first = publish(deferring, everyone, deferring.initial_state(), np.random.default_rng(0))
    cell = first.state.cell == first.state.cell[0]
    one = np.ones(40, np.bool_)
    one[0] = False
    gone = first.state.persons[cell]
    with pytest.raises(Unpublishable, match="1 person of earlier releases left"):
        publish(refusing, part(everyone, one), first.state, np.random.default_rng(0))
    second = publish(deferring, part(everyone, one), first.state, np.random.default_rng(0))
    assert second.release.size == 40
    deferred = second.entry(part(everyone, one))
    assert (deferred.dirty, deferred.remembered) == (1, 1)
    rest = ~np.isin(everyone.persons, gone)
    third = publish(deferring, part(everyone, rest), second.state, np.random.default_rng(0))
    assert third.release.size == 40 - cell.sum()
    tables = [everyone, part(everyone, one), part(everyone, rest)]
    entries = [made.entry(given) for made, given in zip((first, second, third), tables, strict=True)]
    require_own_checks(deferring, Ledger(tuple(entries)))
    back = rest.copy()
    back[np.flatnonzero(~rest)[0]] = True
    fourth = publish(deferring, part(everyone, back), third.state, np.random.default_rng(0))
    assert fourth.withheld == {"waiting: they returned without their whole cell": 1}
    fifth = publish(deferring, everyone, fourth.state, np.random.default_rng(0))
    assert fifth.release.size == 40
    require_own_checks(deferring, Ledger((*entries, fourth.entry(part(everyone, back)), fifth.entry(everyone))))


def test_a_column_may_come_into_the_source_late() -> None:
    everyone = table(Random(6), 40)
    qi = everyone.qi.copy()
    qi[1] = MISSING
    early = replace(everyone, qi=qi, other=np.full((1, 40), -1, np.int32), columns=("age", "disease"))
    technique = Sequential(ell=3)
    late = [replace(everyone, columns=columns) for columns in (("city", "disease"), ("blood", "rank"), None)]
    ledger = replay(technique, [early, *late], np.random.default_rng(0))
    require_own_checks(technique, ledger)
    assert early.absent.tolist() == [False, True, False]


@pytest.mark.parametrize("what", ["disease", "blood", "age"])
def test_values_that_change_are_refused_with_the_column(what: str) -> None:
    everyone = table(Random(7), 30)
    technique = Sequential(ell=2)
    state = publish(technique, everyone, technique.initial_state(), np.random.default_rng(0)).state
    sensitive, other, qi = everyone.sensitive.copy(), everyone.other.copy(), everyone.qi.copy()
    sensitive[3], other[0, 3], qi[0, 3] = (sensitive[3] + 1) % 5, 1 - other[0, 3], (qi[0, 3] + 1) % 9
    changed = {
        "disease": replace(everyone, sensitive=sensitive),
        "blood": replace(everyone, other=other),
        "age": replace(everyone, qi=qi),
    }[what]
    with pytest.raises(Unpublishable, match=f"1 person has a changed value of {what}"):
        publish(technique, changed, state, np.random.default_rng(0))


def test_a_release_of_quasi_identifiers_alone_needs_a_word() -> None:
    bare = table(Random(8), 20, columns=("age", "city"))
    with pytest.raises(Unpublishable, match="on_bare: publish"):
        replay(Sequential(ell=2), [bare], np.random.default_rng(0))
    entry = replay(Sequential(ell=2, on_bare="publish"), [bare], np.random.default_rng(0)).entries[0]
    assert LossMetric().measure(entry, np.random.default_rng(0)) == 0.0


def test_a_release_without_quasi_identifiers_is_published_as_it_is() -> None:
    ledger = replay(Sequential(ell=2), [table(Random(9), 20, columns=("disease",))], np.random.default_rng(0))
    require_own_checks(Sequential(ell=2), ledger)
    assert LossMetric().measure(ledger.entries[0], np.random.default_rng(0)) == 0.0


def test_buckets_of_a_given_size_do_not_look_at_sensitive_values_and_refuse_if_one_is_poor() -> None:
    everyone = table(Random(10), 80)
    technique = Sequential(ell=2, bucket_size=20)
    other = replace(everyone, sensitive=np.roll(everyone.sensitive, 1))
    buckets = [
        publish(technique, one, technique.initial_state(), np.random.default_rng(0)).state.bucket.tolist()
        for one in (everyone, other)
    ]
    assert buckets[0] == buckets[1]
    with pytest.raises(Unpublishable, match="4-diverse with cuts by quasi-identifiers; set bucket_size to"):
        replay(Sequential(ell=4, bucket_size=4), [everyone], np.random.default_rng(0))


def bucket_of_people(snapshot: Snapshot, ell: int) -> np.ndarray:
    """The blind bucket of each person of a first release."""
    technique = Sequential(ell=ell)
    batch = batch_of(admit(snapshot, technique.initial_state(), technique), technique)
    assert batch is not None
    return batch.bucket


@pytest.mark.parametrize("seed", range(12))
def test_no_exchange_of_values_within_blind_buckets_leads_to_other_buckets(seed: int) -> None:
    """Values depend on ages, so that cuts teach something; any worlds only exchange values within buckets."""
    rng, everyone = np.random.default_rng(seed), table(Random(seed), 1500, values=12)
    near = (everyone.qi[0] // 8 + rng.integers(0, 9, everyone.size)) % 12
    everyone = replace(everyone, sensitive=near.astype(np.int32))
    bucket = bucket_of_people(everyone, 2)
    assert bucket.max() > 3
    by_bucket = np.lexsort((rng.random(everyone.size), bucket))
    exchanged = everyone.sensitive.copy()
    exchanged[np.argsort(bucket, kind="stable")] = everyone.sensitive[by_bucket]
    assert (exchanged != everyone.sensitive).any()
    assert bucket_of_people(replace(everyone, sensitive=exchanged), 2).tolist() == bucket.tolist()


def test_the_first_cut_of_a_column_keeps_both_sides_diverse_whatever_their_values_are() -> None:
    counts = np.array([[40, 40, 20, 100], [300, 300, 300, 300]])
    assert BlindSize(2, 1).least(counts)[:, 0].tolist() == [200, 600]  # ell f n, unless chance asks for more
    assert BlindSize(2, 1).least(np.full((1, 50), 20))[0, 0] == 40


def test_later_cuts_have_room_for_chance_and_for_what_earlier_ones_have_added() -> None:
    rule, before = BlindSize(3, 2), np.full((1, 10), 1000)
    even = np.full((1, 10), 500)
    rule.learn(np.array([1], np.int32), before, (even, even))
    assert np.isnan(rule.variance[0])
    assert rule.variance[1] == 0.0
    assert rule.least(before)[0].tolist() == [3000, 30]  # 4 deviations: 10 (4 * 3 / 7)^2 = 29.4 people
    apart = np.array([[750] * 5 + [250] * 5])
    rule.learn(np.array([1], np.int32), before, (apart, before - apart))
    assert rule.variance[1] == pytest.approx(0.25, abs=0.001)
    assert rule.least(before)[0, 1] == 110  # 10 / ((7 / 12)^2 - 0.2491)


def test_a_rule_that_has_seen_values_fall_apart_makes_no_more_cuts() -> None:
    rule, before = BlindSize(3, 1), np.full((1, 10), 1000)
    apart = np.array([[1000] * 5 + [0] * 5])
    rule.learn(np.array([0], np.int32), before, (apart, before - apart))
    assert rule.least(before)[0, 0] == 10_000


@pytest.mark.parametrize("buckets", ["least-loss", "mondrian"])
def test_buckets_that_look_at_values_are_diverse(buckets: Any) -> None:
    everyone = table(Random(3), 300, values=6)
    technique = Sequential(ell=3, buckets=buckets)
    state = publish(technique, everyone, technique.initial_state(), np.random.default_rng(0)).state
    assert state.bucket.max() > 3
    for one in range(int(state.bucket.max()) + 1):
        values = state.sensitive[state.bucket == one]
        assert np.bincount(values).max() * 3 <= len(values)


def test_mondrian_buckets_cut_the_widest_column_at_its_median() -> None:
    """Two columns; the second is twice as wide, and its median separates the people by four and four."""
    columns = (QuasiIdentifier(name="a", domain=(0, 100)), QuasiIdentifier(name="b", domain=(0, 100)))
    schema = Schema(quasi_identifiers=columns, sensitive=Sensitive(name="s", values=("x", "y")))
    qi = np.array([[0, 40, 0, 40, 0, 40, 0, 40], [0, 5, 10, 15, 50, 60, 70, 80]], np.int32)
    extent = np.array([[0, 0], [100, 100]])
    bucket = mondrian_buckets(qi, np.array([0, 1] * 4, np.int32), schema, extent, ell=2)
    assert not {*bucket[:4].tolist()} & {*bucket[4:].tolist()}


def test_people_in_a_bucket_that_is_not_diverse_are_refused_or_wait() -> None:
    """Ages below and above a gap that quasi-identifiers see, with values that follow the gap."""
    first = table(Random(3), 40)
    apart = np.where(np.arange(40) < 20, 0, 9).astype(np.int32)
    divided = replace(
        first,
        qi=np.vstack([apart, np.zeros((2, 40), np.int32)]),
        sensitive=(np.arange(40) % 2 + np.where(apart > 0, 2, 0)).astype(np.int32),
    )
    with pytest.raises(Unpublishable, match="2 buckets of 2"):
        replay(Sequential(ell=3, bucket_size=20), [divided], np.random.default_rng(0))
    old = replace(table(Random(4), 6, values=3), persons=np.arange(1000, 1006))
    both = replace(
        divided,
        persons=np.concatenate([divided.persons, old.persons]),
        qi=np.hstack([divided.qi, old.qi]),
        sensitive=np.concatenate([divided.sensitive, old.sensitive]),
        other=np.hstack([divided.other, old.other]),
    )
    waiting = Sequential(ell=3, bucket_size=20, on_batch="wait")
    assert replay(waiting, [old, both], np.random.default_rng(0)).entries[1].withheld == 40


def test_least_widths_hold_for_intervals_and_for_trees() -> None:
    columns = panel_schema().quasi_identifiers
    wide = replace(
        panel_schema(),
        quasi_identifiers=(replace(columns[0], min_width=4), replace(columns[1], min_width=3), columns[2]),
    )
    snapshot = replace(table(Random(11), 40), schema=wide)
    entry = replay(Sequential(ell=2), [snapshot], np.random.default_rng(0)).entries[0]
    lengths = entry.release.boxes.high[:2] - entry.release.boxes.low[:2] + 1
    assert lengths[0].min() >= 4
    assert lengths[1].min() >= 3
    require_own_checks(Sequential(ell=2), Ledger((entry,)))


def test_wrong_parameters_are_said_all_at_once() -> None:
    with pytest.raises(InvalidParameter) as error:
        Sequential(ell=1, worlds="round", loss="xx", buckets="mondrian", bucket_size=5)  # type: ignore[arg-type]
    assert str(error.value).splitlines() == [
        "ell (1) must be a whole number of at least 2",
        "bucket_size (5) must be left out if buckets is mondrian",
        "worlds (round) must be one of symmetric, ring",
        "loss (xx) must be one of lm, em",
    ]


def test_columns_with_missing_values_are_refused() -> None:
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="a", missing=Missing.SEPARATE),),
        sensitive=panel_schema().sensitive,
    )
    with pytest.raises(InvalidSchema, match="a: missing"):
        Sequential(ell=2).accepts(schema)


def test_without_memory_the_check_finds_that_worlds_were_made_anew() -> None:
    snapshots = series(table(Random(12), 40))
    ledger = replay(Sequential(ell=3), snapshots, np.random.default_rng(0), memory=False)
    check, holds = PossibleWorlds(ell=3), []
    memory = check.initial_memory()
    for entry in ledger.entries:
        verdict, memory = check.examine(entry, memory)
        holds.append(verdict.holds)
    assert holds[0]
    assert not all(holds)


def test_worlds_can_be_made_before_any_quasi_identifier_is_known() -> None:
    everyone = table(Random(13), 30)
    early = replace(everyone, qi=np.full_like(everyone.qi, MISSING), columns=("disease",))
    for worlds in ("symmetric", "ring"):
        technique = Sequential(ell=2, worlds=worlds)
        require_own_checks(technique, replay(technique, [early, everyone], np.random.default_rng(0)))


def test_a_first_batch_that_has_to_wait_is_refused_because_nothing_is_left_to_publish() -> None:
    alike = replace(table(Random(14), 10), sensitive=np.zeros(10, np.int32))
    with pytest.raises(Unpublishable, match="the release would be empty"):
        replay(Sequential(ell=2, on_batch="wait"), [alike], np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(40))
def test_all_checks_hold_while_people_come_and_leave_and_columns_change(seed: int) -> None:
    random = Random(seed)
    size = random.randint(12, 60)
    everyone = table(random, size, values=random.randint(3, 6))
    technique = Sequential(
        ell=random.randint(2, 3),
        worlds=random.choice(["symmetric", "ring"]),
        loss=random.choice(["lm", "em"]),
        on_batch="wait",
        on_delete="defer",
        on_bare="publish",
    )
    state, published = technique.initial_state(), []
    for release in range(5):
        here = np.array([random.random() < 0.8 for _ in range(size)])
        shown = tuple(name for name in everyone.schema.columns if random.random() < 0.6) or None
        try:
            given = part(everyone, here, shown)
            one = publish(technique, given, state, np.random.default_rng([seed, release]))
        except Unpublishable:
            continue
        state = one.state
        published.append(one.entry(given))
    require_own_checks(technique, Ledger(tuple(published)))


@pytest.mark.parametrize("column", ["city", "blood"])
def test_a_column_that_was_added_after_a_person_left_is_refused_while_they_must_be_published(column: str) -> None:
    everyone = table(Random(15), 30)
    qi = everyone.qi.copy()
    qi[1] = MISSING
    early = replace(everyone, qi=qi, other=np.full((1, 30), -1, np.int32), columns=("age", "disease"))
    technique = Sequential(ell=2, on_delete="defer")
    state = publish(technique, early, technique.initial_state(), np.random.default_rng(0)).state
    kept = np.arange(30) != 4
    with pytest.raises(Unpublishable, match=f"the source has no {column} of 1 person"):
        publish(technique, part(everyone, kept, (column, "disease")), state, np.random.default_rng(0))
