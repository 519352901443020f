"""What every technique owes to a person who is forgotten in the middle of a series."""

import csv
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet
import pytest
from builders.series import releases_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pins.case import Case
from pins.cases import BPG, COR_SPLIT, JS_REDUCE, M_INVARIANCE, MONDRIAN, SEQUENTIAL
from pins.runner import KEY, backfill, run, write

from conformance.population import series
from reanon_core.catalog import TECHNIQUES, build_technique, own_checks
from reanon_core.judgement import history_verdicts
from reanon_core.model.erasure import EXTENTS, erased
from reanon_core.model.errors import Unpublishable
from reanon_core.model.packing import unpack
from reanon_core.model.snapshot import INVENTED, Snapshot
from reanon_core.publishing import publish
from reanon_dagster import open_series
from reanon_dagster.releasing.erasure import pseudonym

EVERY = {case.name: case for group in (M_INVARIANCE, COR_SPLIT, BPG, JS_REDUCE, SEQUENTIAL, MONDRIAN) for case in group}
ONE_OF_EACH = ("minv-deep", "cor-strict", "bpg-stored", "js-merge", "seq-symmetric", "mondrian-k")
MORE = ("minv-defer", "minv-episode", "bpg-ghost", "js-suppress", "seq-leavers")
DECOUPLED = replace(EVERY["minv-deep"], name="minv-decoupled", more="publish: {form: decoupled, k: 4}\n")
CASES = [
    *(pytest.param(EVERY[name], id=name) for name in ONE_OF_EACH),
    *(pytest.param(EVERY[name], id=name, marks=pytest.mark.slow) for name in MORE),
    pytest.param(DECOUPLED, id=DECOUPLED.name, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", TECHNIQUES)
@given(snapshots=series(), choice=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_verdicts_hold_on_releases_without_a_person(name: str, snapshots: list[Snapshot], choice: int) -> None:
    """Another number alone changes no verdict; without exact values only expectations of an adversary may change."""
    technique = build_technique(name, TECHNIQUES[name].declaration.weakest)
    entries, state, rng = [], technique.initial_state(), np.random.default_rng(choice)
    for snapshot in snapshots:
        with suppress(Unpublishable):
            publication = publish(technique, snapshot, state, rng)
            state = publication.state
            entries.append(publication.entry(snapshot))
    everyone = np.unique(np.concatenate([np.empty(0, np.int64), *(entry.snapshot.persons for entry in entries)]))
    free = everyone[:-1][np.diff(everyone) > 1]
    if not len(free):
        return
    person = int(free[choice % len(free)])
    for check in own_checks(technique):
        before = list(history_verdicts(check, entries))
        assert list(history_verdicts(check, erased(entries, person, person + 1, EXTENTS[-1]))) == before
        if not check.needs_knowledge:
            after = history_verdicts(check, erased(entries, person, person + 1, EXTENTS[0]))
            assert all(verdict.holds for verdict in after), check.name


def test_every_technique_is_here() -> None:
    assert {EVERY[name].technique.split(",")[0] for name in ONE_OF_EACH} == set(TECHNIQUES)


@pytest.mark.parametrize("case", CASES)
def test_a_series_goes_on_without_a_forgotten_person(case: Case, tmp_path: Path) -> None:
    path = write(case, tmp_path)
    published = tmp_path / "published" / case.name
    assert backfill(path, "--to", case.releases[1]) == 0
    before = {file: file.read_bytes() for file in published.rglob("*") if file.is_file()}
    remembered = _remembered(tmp_path / "private")
    open_series(path).forget("a stranger", never_seen=True)
    assert _remembered(tmp_path / "private") == remembered  # state and memories, computed again
    id_, person = _someone(path, case)
    done = open_series(path).forget(id_)
    assert done.published
    assert done.extent.values
    assert {file: file.read_bytes() for file in before} == before  # what is published cannot change
    _require_gone(tmp_path / "private", id_, person)
    assert backfill(path) == 0  # the person is still in the snapshots
    assert releases_in(published) == sorted(case.releases)
    assert run("audit", path, "--attack", "intersection") == 0
    _require_unpublished_since(path, case, person)
    for release in (case.releases[0], case.releases[-1]):
        out = tmp_path / f"{release}.parquet"
        assert run("trace", path, "--release", release, "--out", out) == 0
        assert id_ not in pyarrow.parquet.read_table(out)["id"].to_pylist()
    _require_gone(tmp_path / "private", id_, person)


def _remembered(private: Path) -> list[object]:
    """The packed state, and the packed memory of each check."""
    (store,) = private.glob("*/store.duckdb")
    with duckdb.connect(str(store), read_only=True) as connection:
        state = connection.execute("SELECT data FROM private.states").fetchall()
        return [state, connection.execute("SELECT judge, data FROM private.memories ORDER BY judge").fetchall()]


def _someone(path: Path, case: Case) -> tuple[str, int]:
    """A person of both releases, who is published and in the snapshots of later releases too if that is possible."""
    listed = []
    for release in case.releases:
        with (path.parent / "snapshots" / f"{release}.csv").open() as file:
            listed.append({row["patient"] for row in csv.DictReader(file)})
    shown = set(open_series(path).ledger().entries[-1].trace.persons.tolist())
    staying = sorted(set.intersection(*listed))
    return next((id_, person) for id_ in staying if (person := pseudonym(id_, KEY)) in shown)


def _require_gone(private: Path, id_: str, person: int) -> None:
    """Neither the id nor the pseudonym is anywhere in the private files, as bytes or as a number."""
    words = [person.to_bytes(8, order, signed=True) for order in ("little", "big")]
    for file in (one for one in private.rglob("*") if one.is_file()):
        content = file.read_bytes()
        assert not [word for word in (*words, id_.encode(), str(person).encode()) if word in content], file
    (store,) = private.glob("*/store.duckdb")
    with duckdb.connect(str(store), read_only=True) as connection:
        query = "SELECT count(*) FROM private.people WHERE person = ?"
        assert connection.execute(query, [person]).fetchone() == (0,)
        packed = connection.execute("SELECT data FROM private.states UNION ALL SELECT data FROM private.memories")
        for (data,) in packed.fetchall():
            arrays = [value for value in unpack(data).values() if isinstance(value, np.ndarray)]
            assert not any((array == person).any() for array in arrays if array.dtype == np.int64)


def _require_unpublished_since(path: Path, case: Case, person: int) -> None:
    """Only rows that were invented may bear the number of a forgotten person in later releases."""
    store = path.parent / "private" / case.name / "store.duckdb"
    with duckdb.connect(str(store), read_only=True) as connection:
        marks = connection.execute("SELECT number, bits FROM private.forgotten").fetchall()
    ((number, bits),) = [mark for mark in marks if mark[0] >> (64 - mark[1]) == person >> (64 - mark[1])]
    assert number != person
    assert bits < 40
    for entry in open_series(path).ledger().entries[2:]:
        place = np.flatnonzero(np.isin(entry.snapshot.persons, [number, person]))
        assert all(entry.snapshot.origin is not None and entry.snapshot.origin[at] == INVENTED for at in place)
