"""The buckets of a ledger, some people at a time: the same as row by row, and in little memory."""

import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest
from builders.random_series import changing_series, published, schema, small_series
from oracles.bucket_rows import Row, literal_groups, literal_rows, literal_signatures

from reanon_core.adversary_knowledge import with_algorithm
from reanon_core.attacks.algorithm import AlgorithmAttack
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.ledger import Ledger
from reanon_core.model.release import Boxes, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers import bucket_history as histories
from reanon_core.readers.bucket_history import BucketHistory, bucket_history, signed_groups
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

KINDS = ("old", "new", "withheld", "displaced")
TECHNIQUES = [
    MInvariance(m=2, not_eligible="blocks", on_sensitive_change="episode", balancing="blind"),
    MInvariance(m=2, not_eligible="defer", on_sensitive_change="episode", balancing="filled"),
    MInvariance(m=2, balancing="median", not_eligible="refuse"),
    CorSplit(m=2, n=1, not_eligible="defer", max_lifespan=2, on_lifespan="withhold"),
]


def ledgers(technique: Any) -> list[tuple[Ledger, dict[str, Any]]]:
    """Small series of the technique, and how its buckets are read."""
    reading = {
        "max_lifespan": getattr(technique, "max_lifespan", None),
        "withholds": technique.balancing == "median",
    }
    changes = technique.on_sensitive_change == "episode"
    series = [changing_series(seed) if changes and seed % 2 else small_series(seed)[1] for seed in range(8)]
    made = (published(technique, snapshots, seed) for seed, snapshots in enumerate(series))
    return [(ledger, reading) for ledger in made if ledger is not None]


def rows_of(history: BucketHistory) -> list[Row]:
    """The rows that a history keeps, as the oracle has them."""
    signatures = history.signatures.tuples
    return [
        Row(time, person, value, KINDS[kind], signatures[bucket] if bucket >= 0 else None, None, layers)
        if group < 0
        else Row(time, person, value, KINDS[kind], signatures[bucket], group, layers)
        for time, person, value, kind, bucket, group, layers in zip(
            *(column.tolist() for column in history.rows), strict=True
        )
    ]


@pytest.mark.parametrize("at_once", [1, 7, 10**6])
@pytest.mark.parametrize("most", [0, 9, 10**6])
@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda one: f"{one.name}-{one.balancing}-{one.not_eligible}")
def test_the_history_is_that_of_all_rows(
    technique: Any, most: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "MOST_PEOPLE", most)
    monkeypatch.setattr(histories, "ROWS_AT_ONCE", at_once)
    monkeypatch.setattr(histories, "AT_ONCE", at_once)
    kinds: Counter[str] = Counter()
    for ledger, how in ledgers(technique):
        history, expected = bucket_history(ledger, **how), literal_rows(ledger, **how)
        signatures = literal_signatures(ledger)
        assert list(history.signatures.tuples) == signatures
        people = {one: {row.person for row in expected if row.signature == one} for one in signatures}
        assert history.people.tolist() == [len(people[one]) for one in signatures]
        kept = [
            row
            for row in expected
            if row.kind == "displaced" or len(people.get(row.signature, ())) in range(1, most + 1)
        ]
        assert sorted(rows_of(history), key=str) == sorted(kept, key=str)
        counted = Counter((row.time, row.kind, row.signature, row.value) for row in expected)
        shown = Counter((row.time, row.kind, row.signature, row.value) for row in expected if row.group is not None)
        for slot, (bucket, value) in enumerate((one, value) for one in signatures for value in one):
            for time in range(len(ledger.entries)):
                old = counted[time, "old", bucket, value]
                assert history.counts.old[time, slot] == old
                assert history.counts.surplus[time, slot] == old - shown[time, "old", bucket, value]
                assert history.counts.new[time, slot] == counted[time, "new", bucket, value]
                assert history.counts.awaited[time, slot] == counted[time, "withheld", bucket, value]
        withheld = Counter((row.time, row.value) for row in expected if row.kind == "withheld")
        assert {place: int(history.counts.withheld[place]) for place in withheld} == withheld
        assert history.counts.withheld.sum() == withheld.total()
        for number, one in enumerate(signatures):
            shows = [
                sum(group[one[0]] for group in literal_groups(entry) if tuple(sorted(group)) == one)
                for entry in ledger.entries
            ]
            assert history.depth[:, number].tolist() == shows
            assert history.first_shown[number] == np.flatnonzero(shows)[0]
        found = {
            (person, signatures[number], signatures[number][place])
            for part in history.places()
            for person, number, place in zip(*(column.tolist() for column in part), strict=True)
        }
        large = (row for row in expected if row.signature and len(people[row.signature]) > most)
        assert found == {(row.person, row.signature, row.value) for row in large}
        assert set(history.had) == {(row.time, row.person) for row in expected if row.kind == "displaced"}
        kinds.update(row.kind for row in expected)
    assert kinds["old"] > 0 < kinds["new"]
    assert (kinds["displaced"] > 0) == (technique.on_sensitive_change == "episode")
    assert kinds["withheld"] > 0 or technique.not_eligible != "defer"


def test_everything_about_a_person_is_in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "ROWS_AT_ONCE", 20)
    (ledger, how), *_ = ledgers(TECHNIQUES[2])
    parts = [set(part.rows.person.tolist()) for part in bucket_history(ledger, **how).bucketed.parts()]
    assert len(parts) > 3
    assert sum(map(len, parts)) == len(set().union(*parts))


@pytest.mark.parametrize("values", [3, 64, 65, 200])
@pytest.mark.parametrize("at_once", [1, 5, 10**6])
def test_signatures_of_groups_are_sets_however_many_values_there_are(
    values: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "AT_ONCE", at_once)
    rng = np.random.default_rng(values)
    sets = [tuple(sorted(rng.choice(values, int(rng.integers(1, 4)), replace=False).tolist())) for _ in range(7)]
    sets += [(values - 1,), (0, values - 1)]
    chosen = [(sets[int(one)], int(rng.integers(1, 4))) for one in rng.integers(0, len(sets), 40)]
    rows = np.array([(group, value) for group, (own, layers) in enumerate(chosen) for value in own * layers], np.int32)
    group, sensitive = rng.permutation(rows).T
    boxes = Boxes(*(np.zeros((1, len(chosen)), kind) for kind in (np.int32, np.int32, np.int8)))
    before = Signatures.of([sets[3], (1, 2)])
    signed, after = signed_groups(Release(group, sensitive, boxes), values, before)
    assert list(after.tuples) == list(dict.fromkeys([sets[3], (1, 2), *(own for own, _ in chosen)]))
    assert [after.tuples[number] for number in signed.signature] == [own for own, _ in chosen]
    assert signed.layers.tolist() == [layers for _, layers in chosen]
    depth = Counter(dict.fromkeys(after.tuples, 0))
    for own, layers in chosen:
        depth[own] += layers
    assert signed.depth.tolist() == [depth[own] for own in after.tuples]


@pytest.mark.parametrize("values", [0, 3])
def test_a_release_without_groups_has_no_signature(values: int) -> None:
    boxes = Boxes(*(np.zeros((1, 0), kind) for kind in (np.int32, np.int32, np.int8)))
    signed, after = signed_groups(
        Release(np.empty(0, np.int32), np.empty(0, np.int32), boxes), values, Signatures.of([])
    )
    assert after.count == len(signed.signature) == len(signed.layers) == len(signed.depth) == 0


BLIND = MInvariance(m=2, balancing="blind", not_eligible="refuse")


def pairs(people: int) -> Ledger:
    """A release of so many people with four values."""
    rng = np.random.default_rng(0)
    qi = rng.integers(0, 100, (2, people)).astype(np.int32)
    table = Snapshot(schema(4, 2), np.arange(people), qi, (np.arange(people) % 4).astype(np.int32))
    return replay(BLIND, [table], rng)


def peak_of_attack(ledger: Ledger) -> int:
    """The bytes that the attack allocates at most."""
    tracemalloc.start()
    try:
        known = with_algorithm(BLIND, ledger, ledger.knowledge(people_only=True))
        found = AlgorithmAttack().run(ledger.history(), known)
        assert found.extra["people read"] == found.of == ledger.entries[0].snapshot.size
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_attack_takes_few_bytes_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the audit of a large series counts on; the ledger itself may be on disk. Here a group has two rows."""
    from reanon_core.attacks import algorithm
    from reanon_dagster.releasing.audited_ledger import MAPPED_ROW

    for module, name in ((histories, "ROWS_AT_ONCE"), (histories, "AT_ONCE"), (algorithm, "PEOPLE_AT_ONCE")):
        monkeypatch.setattr(module, name, 1 << 10)
    _, few, many = (peak_of_attack(pairs(people)) for people in (80_000, 80_000, 160_000))  # first what is loaded once
    assert (many - few) / 80_000 < MAPPED_ROW


def test_who_is_in_a_release_is_told_without_a_copy() -> None:
    ledger = pairs(20_000)
    tracemalloc.start()
    try:
        (presence,) = ledger.knowledge(people_only=True).presences
        assert tracemalloc.get_traced_memory()[1] < 20_000
    finally:
        tracemalloc.stop()
    assert np.array_equal(presence.persons, ledger.entries[0].trace.persons)
