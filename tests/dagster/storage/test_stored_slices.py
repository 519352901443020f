"""What is stored and read some rows at a time is what is stored and read at once."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pytest
from builders.series import lively, write_series

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model import arrays
from reanon_core.model.packing import pack, packed_digest, packed_size
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.releasing.snapshot_intake import read_release, read_release_columns
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_columns import kept_in_columns
from reanon_dagster.storage import memory_tables
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.pseudonym_key import keep_key
from reanon_dagster.storage.series_store import create_store

MEMORY = {
    "version": 1,
    "persons": np.arange(-20, 23) * 5,
    "mask": (np.arange(86, dtype=np.uint64) << np.uint64(57)).reshape(43, 2),
    "qi": np.arange(86, dtype=np.int32).reshape(2, 43),
    "flag": np.arange(43) % 3 == 0,
    "offsets": np.arange(4),
}


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "SLICE", 10)
    monkeypatch.setattr(memory_tables, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(memory_tables, "PEOPLE_WORTH_A_TABLE", 1)


def mapped(value: object, folder: ColumnFolder) -> object:
    return folder.written("array", value).mapped() if isinstance(value, np.ndarray) else value


@pytest.mark.usefixtures("small_slices")
def test_a_state_goes_through_mapped_columns(tmp_path: Path) -> None:
    folder = ColumnFolder(str(tmp_path))
    with duckdb.connect() as store:
        store.execute("CREATE SCHEMA private; CREATE TABLE private.states (position INTEGER PRIMARY KEY, data BLOB)")
        memory_tables.write_state(store, 0, {name: mapped(value, folder) for name, value in MEMORY.items()})
        written = store.execute('SELECT "persons 0" FROM private."people of state"').fetchnumpy()
        assert np.array_equal(written["persons 0"], MEMORY["persons"])
        found = memory_tables.read_state(store, 0, folder)
        assert pack(found) == pack(MEMORY) == pack(memory_tables.read_state(store, 0))
    for name in ("persons", "mask", "qi", "flag"):
        assert isinstance(found[name], np.memmap)
        assert found[name].shape == MEMORY[name].shape


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_the_digest_does_not_depend_on_the_slices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int) -> None:
    odd = {
        "turned": np.asfortranarray(np.arange(60).reshape(20, 3)),
        "every other": np.arange(60, dtype=np.int32)[::2],
        "one value": np.broadcast_to(np.True_, 43),
        "wide": np.arange(120).reshape(2, 3, 20).transpose(1, 2, 0),
        "nothing": np.empty((0, 3)),
        "number": np.array(7),
    }
    fields = MEMORY | odd | {"mapped": mapped(np.arange(50), ColumnFolder(str(tmp_path)))}
    packed, digest = pack(fields), packed_digest(fields)
    monkeypatch.setattr("reanon_core.model.packing.SLICE", size)
    monkeypatch.setattr(arrays, "SLICE", size)
    assert (pack(fields), packed_digest(fields), packed_size(fields)) == (packed, digest, len(packed))


def dumped(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table in its order, without times."""
    with duckdb.connect(str(path), read_only=True) as store:
        names = store.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        times = ["committed", "seconds", "tried"]
        found = {}
        for schema, name in names:
            columns = [row[0] for row in store.execute(f'DESCRIBE {schema}."{name}"').fetchall()]
            kept = ", ".join(f'"{column}"' for column in columns if column not in times)
            found[f"{schema}.{name}"] = store.execute(f'SELECT {kept} FROM {schema}."{name}" ORDER BY rowid').fetchall()
        return found


def stores(folder: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]) -> Iterator[Path]:
    """The private folders of the same series, stored in slices of these sizes."""
    for size in sizes:
        monkeypatch.setattr(arrays, "SLICE", size)
        own = folder / str(size)
        own.mkdir()
        series = load_series(write_series(own, snapshots=lively(releases=2)))
        create_store(series.private_folder, series.schema)
        keep_key(series.private_folder, bytes(16))
        for release in ("r1", "r2"):
            publish_release(series, release, date(2030, 1, 1), seed=5)
        yield series.private_folder


def test_a_store_does_not_depend_on_the_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_tables, "PEOPLE_WORTH_A_TABLE", 1)
    one, other = (dumped(place / "store.duckdb") for place in stores(tmp_path, monkeypatch, (10**6, 50)))
    assert len(one["private.people"]) > 400
    assert one == other


def test_a_later_release_is_read_into_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_tables, "PEOPLE_WORTH_A_TABLE", 1)
    next(stores(tmp_path, monkeypatch, (50,)))
    series = load_series(tmp_path / "50" / "series.yaml")
    lively_again = lively(releases=3)["r3"]
    lively_again.to_csv(tmp_path / "50" / "snapshots" / "r3.csv", index=False)
    (tmp_path / "columns").mkdir()
    folder, view = ColumnFolder(str(tmp_path / "columns")), read_view(series)
    straight, found = read_release(series, view, "r3"), read_release_columns(series, view, "r3", folder, 17)
    assert straight.snapshot.same_rows(found.snapshot)
    assert (straight.input_digest, straight.rows) == (found.input_digest, found.rows)
    values = len(straight.snapshot.schema.sensitive.values)
    one, other = (view.returning(read.persons, values) for read in (straight, found))
    assert one.before.tolist() == other.before.tolist()
    assert one.here.tolist() == other.here.tolist()
    state, mapped = view.state(), view.state(folder)
    assert state is not None
    assert mapped is not None
    assert pack(mapped) == pack(state)
    assert isinstance(mapped["persons"], np.memmap)
    assert {name: pack(one) for name, one in view.memories(folder).items()} == {
        name: pack(one) for name, one in view.memories().items()
    }


@pytest.mark.usefixtures("small_slices")
def test_forgotten_people_are_left_out_of_columns(tmp_path: Path) -> None:
    (tmp_path / "columns").mkdir()
    series = load_series(write_series(tmp_path, snapshots=lively(releases=1, size=60)))
    snapshot = read_release(series, read_view(series), "r1").snapshot
    forgotten = np.arange(snapshot.size) % 4 == 1
    kept = kept_in_columns(snapshot, forgotten, ColumnFolder(str(tmp_path / "columns")))
    assert kept.same_rows(snapshot.rows(np.flatnonzero(~forgotten), selected=None))


def test_duckdb_keeps_to_a_limit(tmp_path: Path) -> None:
    with opened(tmp_path, read_only=False, memory_limit=300_000_000) as store:
        assert store.execute("SELECT current_setting('memory_limit')").fetchall()[0][0] == "286.1 MiB"
