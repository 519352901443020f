"""The store without free blocks."""

import stat
from pathlib import Path

import pytest
from builders.series import people, write_series

from reanon_core.model.errors import Refused
from reanon_dagster.cli import main
from reanon_dagster.storage import compaction
from reanon_dagster.storage.compaction import compact
from reanon_dagster.storage.connection import opened

SECRET = b"Zacharias-was-here-" * 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with tables, keys, rows in an order, and something that was deleted."""
    with opened(tmp_path, read_only=False) as connection:
        connection.execute("CREATE SCHEMA private")
        connection.execute("CREATE TABLE private.states (position INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        connection.execute("CREATE TABLE private.people (person BIGINT, asked BOOLEAN DEFAULT true)")
        connection.execute("INSERT INTO private.people (person) SELECT 999 - range FROM range(1000)")
        connection.executemany("INSERT INTO private.states VALUES (?, ?)", [(at, SECRET) for at in range(300)])
    with opened(tmp_path, read_only=False) as connection:
        connection.execute("DELETE FROM private.states WHERE position > 0")
        connection.execute("UPDATE private.states SET data = 'x'::BLOB")
    return tmp_path


def test_what_was_deleted_is_nowhere_in_the_file(folder: Path) -> None:
    assert any(SECRET in file.read_bytes() for file in folder.iterdir())
    before, after = compact(folder)
    assert after <= before
    assert [file.name for file in folder.iterdir()] == ["store.duckdb"]
    content = (folder / "store.duckdb").read_bytes()
    assert b"Zacharias-was-here" not in content
    assert len(content) == after
    assert stat.S_IMODE((folder / "store.duckdb").stat().st_mode) == 0o600


def test_rows_their_order_and_keys_stay(folder: Path) -> None:
    compact(folder)
    with opened(folder, read_only=False) as connection:
        assert connection.execute("SELECT person FROM private.people LIMIT 2").fetchall() == [(999,), (998,)]
        assert connection.execute("SELECT position, data FROM private.states").fetchall() == [(0, b"x")]
        connection.execute("INSERT INTO private.people (person) VALUES (7)")
        assert connection.execute("SELECT asked FROM private.people WHERE person = 7 LIMIT 1").fetchone() == (True,)
        with pytest.raises(Exception, match="Constraint"):
            connection.execute("INSERT INTO private.states VALUES (0, 'y'::BLOB)")


def test_a_kill_before_the_exchange_leaves_the_old_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "flush", killed)
        with pytest.raises(KeyboardInterrupt):
            compact(folder)
    with opened(folder, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM private.people").fetchone() == (1000,)
    (folder / compaction.COMPACTED).write_bytes(b"left by a kill")
    compact(folder)
    assert [file.name for file in folder.iterdir()] == ["store.duckdb"]


def test_a_copy_with_fewer_rows_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "store.duckdb").read_bytes()
    monkeypatch.setattr(compaction, "_sizes", lambda _, database: {"people": 1 if database == "compacted" else 2})
    with pytest.raises(Refused, match="nothing was changed"):
        compact(folder)
    assert (folder / "store.duckdb").read_bytes() == before


def test_a_series_goes_on_after_compaction(tmp_path: Path) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60), "r2": people(66)})
    assert main(["publish", str(path), "--quiet"]) == 0
    compact(tmp_path / "private" / "clinic")
    assert main(["publish", str(path), "--quiet"]) == 0
    assert main(["audit", str(path), "--quiet", "--attack", "intersection"]) == 0
