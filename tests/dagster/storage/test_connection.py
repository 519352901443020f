"""A store that another process holds is waited for; one that is broken is not."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from reanon_core.model.errors import Refused
from reanon_dagster.storage.connection import STORE, opened, opened_with

HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"


def test_a_store_that_another_process_holds_is_waited_for_and_the_sentence_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / STORE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        began = time.monotonic()
        with pytest.raises(Refused, match="another process"), opened(tmp_path, read_only=False, patience=0.5):
            pass
        assert time.monotonic() - began >= 0.5
        holder.communicate()


def test_a_broken_store_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise duckdb.IOException("Corrupt database file: computed checksum does not match stored checksum in block 2")

    monkeypatch.setattr(duckdb, "connect", broken)
    began = time.monotonic()
    with pytest.raises(Refused, match="restore it from a backup"), opened(tmp_path, read_only=False):
        pass
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("key", [None, "0" * 64])
def test_a_commit_needs_no_log(tmp_path: Path, key: str | None) -> None:
    """A log could be lost; and on a full disk DuckDB ends the process if it can neither write nor cut it."""
    if key is not None:
        pytest.importorskip("duckdb_extension_httpfs")
    path = tmp_path / STORE
    with opened_with(key, tmp_path, read_only=False) as connection:
        connection.begin()
        connection.execute("CREATE TABLE numbers AS FROM range(10)")
        connection.commit()
        log = path.with_name(f"{STORE}.wal")
        assert not log.exists() or not log.stat().st_size
        (tmp_path / "copy").mkdir()
        shutil.copy(path, tmp_path / "copy" / STORE)  # what a kill at this moment leaves
    with opened_with(key, tmp_path / "copy", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM numbers").fetchone() == (10,)
