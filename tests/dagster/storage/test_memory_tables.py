"""State and memories of many people as tables: what is read is what was written, and releases do not change."""

from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pytest
from builders.series import SERIES, lively, write_series
from pins.case import Case
from pins.cases import BPG, COR_SPLIT, JS_REDUCE, M_INVARIANCE, MONDRIAN, SEQUENTIAL
from pins.runner import backfill, write

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model import arrays
from reanon_core.model.packing import pack, unpack
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import memory_tables
from reanon_dagster.storage.memory_tables import (
    IN_TABLE,
    divided,
    read_memories,
    read_state,
    write_memory,
    write_state,
)
from reanon_dagster.storage.store_tables import LATEST_STATEMENTS

ONE_OF_EACH = [group[0] for group in (M_INVARIANCE, COR_SPLIT, BPG, JS_REDUCE, SEQUENTIAL, MONDRIAN)]


LONG = ("people", "weight", "counts", "mask", "flag")


def new_store(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """The tables that hold packed states and memories."""
    store = duckdb.connect(path)
    store.execute("CREATE SCHEMA private; CREATE SCHEMA public")
    for statement in LATEST_STATEMENTS:
        store.execute(statement)
    return store


def packed_state(store: duckdb.DuckDBPyConnection) -> bytes:
    """What is packed of the state."""
    data: bytes = store.execute("SELECT data FROM private.states").fetchall()[0][0]
    return data


def table_names(store: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables of arrays."""
    query = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '% array of %'"
    return {name for (name,) in store.execute(query).fetchall()}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of people is worth a table."""
    monkeypatch.setattr(memory_tables, "PEOPLE_WORTH_A_TABLE", 1)


@pytest.mark.usefixtures("tables")
def test_arrays_with_an_entry_for_each_person_become_columns_and_come_back() -> None:
    memory = {
        "version": 1,
        "persons": np.array([-5, 2, 2**62]),
        "mask": np.array([[1, 2**63], [3, 4], [5, 6]], np.uint64),
        "qi": np.arange(6, dtype=np.int32).reshape(2, 3),
        "flag": np.array([True, False, True]),
        "offsets": np.arange(4),
        "nothing": np.empty((0, 3), np.int32),
    }
    columns, rest = divided(memory)
    assert {len(column) for column in columns.values()} == {3}
    assert set(rest) == {"version", "offsets", "nothing", IN_TABLE}
    with new_store() as store:
        write_state(store, 0, memory)
        assert pack(read_state(store, 0) or {}) == pack(memory)


@pytest.mark.parametrize("rows", [1, 3, 10])
@pytest.mark.parametrize("mapped", [False, True])
def test_long_arrays_have_tables_of_their_own_and_come_back(
    rows: int, mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_tables, "NUMBERS_WORTH_A_TABLE", 6)
    monkeypatch.setattr(memory_tables, "ROWS_AT_ONCE", rows)
    monkeypatch.setattr(arrays, "SLICE", rows)
    memory = {
        "persons": np.arange(5),
        "people": np.arange(8)[::-1],
        "weight": np.array([0.1, -0.0, np.nan, np.inf, 5e-324, 1 / 3, 0.0]),
        "counts": np.arange(12, dtype=np.int32).reshape(4, 3).T,
        "mask": np.array([[1, 2**63]] * 3, np.uint64),
        "flag": np.arange(9) % 2 == 0,
        "short": np.arange(5.0),
    }
    folder = ColumnFolder(str(tmp_path)) if mapped else None
    path = str(tmp_path / "store.duckdb")
    with new_store(path) as store:
        write_state(store, 0, memory)
        assert not set(LONG) & set(unpack(packed_state(store)))
    with duckdb.connect(path, read_only=True) as store:
        assert pack(read_state(store, 0, folder) or {}) == pack(memory)
        assert table_names(store) == {f"{name} array of state" for name in LONG}


def test_a_table_of_an_array_that_is_no_longer_long_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_tables, "NUMBERS_WORTH_A_TABLE", 6)
    with new_store() as store:
        write_memory(store, 0, "linear", {"weight": np.arange(6.0)})
        write_state(store, 0, {"weight": np.arange(7.0), "entry": np.arange(7)})
        write_state(store, 0, {"weight": np.arange(5.0), "entry": np.arange(6)})
        assert table_names(store) == {"entry array of state", "weight array of linear"}
        assert pack(read_state(store, 0) or {}) == pack({"weight": np.arange(5.0), "entry": np.arange(6)})
        assert pack(read_memories(store, 0)["linear"]) == pack({"weight": np.arange(6.0)})


def test_a_memory_of_few_people_is_packed_whole() -> None:
    memory = {"persons": np.arange(10), "signature": np.zeros(10, np.int32)}
    assert divided(memory) == ({}, memory)


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=lambda case: case.name)
def test_every_technique_publishes_the_same_from_tables(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, kept = [], []
    for people in (10**6, 1):
        monkeypatch.setattr(memory_tables, "PEOPLE_WORTH_A_TABLE", people)
        monkeypatch.setattr(memory_tables, "NUMBERS_WORTH_A_TABLE", people)
        folder = tmp_path / str(people)
        folder.mkdir()
        assert backfill(write(case, folder)) == 0
        published = folder / "published" / case.name
        files.append({path.relative_to(published): path.read_bytes() for path in sorted(published.rglob("*.csv"))})
        with duckdb.connect(str(folder / "private" / case.name / "store.duckdb"), read_only=True) as store:
            latest = len(case.releases) - 1
            memories = [read_state(store, latest), *read_memories(store, latest).values()]
            kept.append([pack(memory) for memory in memories if memory is not None])
            names = store.execute("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'people of %'")
            assert bool(names.fetchall()) == (people == 1 and any(b'"persons"' in one for one in kept[-1]))
    assert files[0]
    assert files[0] == files[1]
    assert kept[0] == kept[1]


@pytest.mark.usefixtures("tables")
def test_the_tables_of_a_check_that_a_series_no_longer_has_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_tables, "NUMBERS_WORTH_A_TABLE", 1)
    text = SERIES.replace("{name: m-invariance, m: 3}", "{name: js-reduce, k: 3, t: 0.9, j: 2}")
    path = write_series(tmp_path, text=f"{text}checks: [{{name: k-over-history, k: 2}}]\n", snapshots=lively(2))
    publish_release(load_series(path), "r1", date(2030, 1, 1))
    path.write_text(path.read_text().partition("checks:")[0])
    owners = []
    for release in (None, "r2"):
        if release:
            publish_release(load_series(path), release, date(2030, 1, 1))
        with duckdb.connect(str(load_series(path).private_folder / "store.duckdb"), read_only=True) as store:
            tables = memory_tables.private_tables(store)
        owners.append({table.partition(" of ")[2] for table in tables if " of " in table})
    assert owners == [{"state", "js-divergence", "k-over-history"}, {"state", "js-divergence"}]


@pytest.mark.usefixtures("tables")
def test_a_table_that_is_no_longer_needed_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = {"persons": np.arange(4)}
    with new_store() as store:
        memory_tables.write_state(store, 0, memory)
        store.execute('SELECT * FROM private."people of state"')
        monkeypatch.setattr(memory_tables, "PEOPLE_WORTH_A_TABLE", 5)
        memory_tables.write_state(store, 0, memory)
        assert pack(memory_tables.read_state(store, 0) or {}) == pack(memory)
        with pytest.raises(duckdb.CatalogException):
            store.execute('SELECT * FROM private."people of state"')
