"""The sequential technique: dynamics, options, and what it refuses."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from builders.worlds import panel_schema, part, table

from reanon_core.catalog import own_checks
from reanon_core.checks.possible_worlds import PossibleWorlds
from reanon_core.metrics.generalization import LossMetric
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Unpublishable
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import Missing, QuasiIdentifier, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.replay import replay
from reanon_core.techniques.sequential.batches import blind_size
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


def test_qi_only_buckets_do_not_look_at_sensitive_values_and_refuse_if_one_is_poor() -> None:
    everyone = table(Random(10), 80)
    technique = Sequential(ell=2, buckets="qi-only", bucket_size=20)
    other = replace(everyone, sensitive=np.roll(everyone.sensitive, 1))
    buckets = [
        publish(technique, one, technique.initial_state(), np.random.default_rng(0)).state.bucket.tolist()
        for one in (everyone, other)
    ]
    assert buckets[0] == buckets[1]
    with pytest.raises(Unpublishable, match="would not be 4-diverse with cuts by quasi-identifiers down to 4 people"):
        replay(Sequential(ell=4, buckets="qi-only", bucket_size=4), [everyone], np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(5))
def test_blind_buckets_are_the_same_however_the_values_are_arranged(seed: int) -> None:
    everyone = table(Random(seed), 150, values=7)
    technique, rng = Sequential(ell=2), np.random.default_rng(seed)
    other = replace(everyone, sensitive=rng.permutation(everyone.sensitive))
    buckets = [
        publish(technique, one, technique.initial_state(), rng).state.bucket.tolist() for one in (everyone, other)
    ]
    assert buckets[0] == buckets[1]
    assert max(buckets[0]) > 0


def test_the_size_of_blind_buckets_grows_with_the_share_of_the_most_frequent_value() -> None:
    assert blind_size(np.full(50, 20), 2) == 16  # 8 ell
    assert blind_size(np.array([100] + [50] * 18), 3) == 180  # 2 (ell f)^2 of 1,000
    assert blind_size(np.array([50] + [10] * 10), 2) == 150  # near the limit there is one bucket
    assert blind_size(np.array([30, 20, 10]), 2) == 60


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
