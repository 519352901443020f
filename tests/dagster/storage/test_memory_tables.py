"""State and memories of many people as tables: what is read is what was written, and releases do not change."""

from pathlib import Path

import duckdb
import numpy as np
import pytest
from pins.case import Case
from pins.cases import BPG, COR_SPLIT, JS_REDUCE, M_INVARIANCE, MONDRIAN, SEQUENTIAL
from pins.runner import run, write

from reanon_core.model.packing import pack
from reanon_dagster.storage import memory_tables
from reanon_dagster.storage.memory_tables import IN_TABLE, divided, joined, read_memories, read_state

ONE_OF_EACH = [group[0] for group in (M_INVARIANCE, COR_SPLIT, BPG, JS_REDUCE, SEQUENTIAL, MONDRIAN)]


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
    assert pack(joined(columns, rest)) == pack(memory)


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
        folder = tmp_path / str(people)
        folder.mkdir()
        assert run("backfill", write(case, folder), "--seed", 7) == 0
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
def test_a_table_that_is_no_longer_needed_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = {"persons": np.arange(4)}
    with duckdb.connect() as store:
        store.execute("CREATE SCHEMA private; CREATE TABLE private.states (position INTEGER PRIMARY KEY, data BLOB)")
        memory_tables.write_state(store, 0, memory)
        store.execute('SELECT * FROM private."people of state"')
        monkeypatch.setattr(memory_tables, "PEOPLE_WORTH_A_TABLE", 5)
        memory_tables.write_state(store, 0, memory)
        assert pack(memory_tables.read_state(store, 0) or {}) == pack(memory)
        with pytest.raises(duckdb.CatalogException):
            store.execute('SELECT * FROM private."people of state"')
