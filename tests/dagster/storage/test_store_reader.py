"""What is read from the store is what was published."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from builders.published_series import published_series
from builders.series import SERIES, people, releases_in, write_series

from reanon_core.model.errors import Refused
from reanon_dagster.cli import main
from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import memory_tables, store_reader
from reanon_dagster.storage.connection import exclusively_opened, opened
from reanon_dagster.storage.series_store import create_store
from reanon_dagster.storage.store_tables import VERSION, store_version


@pytest.mark.parametrize("declared", [False, True])
def test_each_release_of_a_ledger_has_the_sensitive_values_that_were_known_then(
    tmp_path: Path, *, declared: bool
) -> None:
    first = people(12)
    later = people(24).iloc[12:].replace({"disease": {"asthma": "zoster"}})
    values = sorted({*first["disease"], "zoster"})
    text = SERIES.replace("sensitive: disease", f"sensitive: {{column: disease, values: {values}}}")
    snapshots = {"r1": first, "r2": pd.concat([first, later]), "r3": first}
    series = load_series(write_series(tmp_path, text=text if declared else SERIES, snapshots=snapshots))
    assert len(list(publish_ready_releases(series, date(2030, 1, 1), seed=1))) == 3
    with opened(series.private_folder, read_only=True) as connection:
        ledger = store_reader.ledger(connection, series.schema)
    known = [len(entry.snapshot.schema.sensitive.values) for entry in ledger.entries]
    assert known == ([7, 7, 7] if declared else [6, 7, 7])


def test_the_store_keeps_no_deleted_state_or_memory_of_an_earlier_release(tmp_path: Path) -> None:
    snapshots = {f"r{number}": people(12 * number) for number in (1, 2, 3)}
    series = load_series(write_series(tmp_path, snapshots=snapshots))
    assert len(list(publish_ready_releases(series, date(2030, 1, 1), seed=1))) == 3
    with opened(series.private_folder, read_only=True) as connection:
        # Rows that were deleted and still lie in a table's blocks are counted here, and by count(*) they are not.
        query = "SELECT table_name, estimated_size FROM duckdb_tables() WHERE table_name IN ('states', 'memories')"
        stored = dict(connection.execute(query).fetchall())
        memories = memory_tables.read_memories(connection, 2)
        assert memory_tables.read_state(connection, 2) is not None
        assert memory_tables.read_state(connection, 1) is None
    assert stored == {"states": 1, "memories": len(memories)}


def test_a_ledger_is_read_without_pandas(tmp_path: Path) -> None:
    published_series(tmp_path, 2, 72)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from reanon_dagster.series.series_file import load_series\n"
        "from reanon_dagster.storage import series_store, store_reader\n"
        "from reanon_dagster.storage.connection import opened\n"
        f"series = load_series(Path({str(tmp_path)!r}))\n"
        "assert len(series_store.read_summary(series.private_folder).records) == 2\n"
        "with opened(series.private_folder, read_only=True) as connection:\n"
        "    assert len(store_reader.ledger(connection, series.schema).entries) == 2\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_store_has_its_tables_as_soon_as_it_is_there_and_those_of_other_databases_do_not_count(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, read_only=False) as connection:
        connection.execute("ATTACH ':memory:' AS other; CREATE SCHEMA other.private")
        connection.execute("CREATE TABLE other.private.series (name TEXT, value TEXT)")
        assert not store_reader.exists(connection)
    create_store(tmp_path, load_series(write_series(tmp_path)).schema)
    with opened(tmp_path, read_only=True) as connection:
        assert store_reader.exists(connection)
        assert store_reader.releases(connection) == []
        assert store_version(connection) == str(VERSION)


COMMANDS = {
    "publish": (),
    "status": (),
    "audit": (),
    "doctor": (),
    "validate": (),
    "report": (),
    "lift": ("--because", "a reason"),
    "trace": ("--release", "r1", "--out", "trace.csv"),
    "withdraw": ("--release", "r1", "--because", "a reason"),
    "forget": ("--id", "Zacharias-000001"),
    "backup": ("--out", "series.backup"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_store_of_another_version_is_refused_with_one_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REANON_BACKUP_PASSPHRASE", "correct horse battery staple")
    path = published_series(tmp_path, 2, 72, to="r1")
    with duckdb.connect(str(tmp_path / "private" / "clinic" / "store.duckdb")) as connection:
        connection.execute("UPDATE private.series SET value = '1' WHERE name = 'version'")
        before = connection.execute("FROM private.releases").fetchall()
    capsys.readouterr()
    options = [str(tmp_path / one) if "." in one else one for one in COMMANDS[command]]
    assert main([command, str(path), *options, "--quiet"]) == 1
    said = capsys.readouterr().err
    assert said.count("the private store has version 1") == said.count("\n") == 1
    assert (
        f"this version of reanon reads version {VERSION} only; a series of an earlier development version cannot"
        in said
    )
    assert releases_in(tmp_path / "published" / "clinic") == ["r1"]
    with duckdb.connect(str(tmp_path / "private" / "clinic" / "store.duckdb")) as connection:
        assert connection.execute("FROM private.releases").fetchall() == before


@pytest.mark.parametrize(("version", "words"), [(str(VERSION + 1), f"version {VERSION + 1}"), (None, "no version")])
def test_a_later_store_and_one_without_a_version_are_refused_too(
    version: str | None, words: str, tmp_path: Path
) -> None:
    create_store(tmp_path, load_series(write_series(tmp_path)).schema)
    with opened(tmp_path, read_only=False) as connection:
        connection.execute("DELETE FROM private.series")
        if version:
            connection.execute("INSERT INTO private.series VALUES ('version', ?)", [version])
    for enter in (lambda: opened(tmp_path, read_only=True), lambda: exclusively_opened(tmp_path)):
        with pytest.raises(Refused, match=f"the private store has {words}, and this version"), enter():
            pytest.fail("the store is open")
