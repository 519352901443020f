"""What is read from the store is what was published."""

import subprocess
import sys
import tarfile
from datetime import date
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from builders.series import SERIES, people, write_series
from pins.runner import STORED

from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import memory_tables, store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.decision_reader import has_table
from reanon_dagster.storage.series_store import lift_halts, read_summary


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


def test_a_store_of_the_first_version_is_read_without_a_table_of_halts(tmp_path: Path) -> None:
    with tarfile.open(STORED / "mondrian-k.tar.xz") as archive:
        archive.extractall(tmp_path, filter="tar")
    series = load_series(tmp_path)
    folder = series.private_folder
    summary = read_summary(folder)
    assert summary.halts == ()
    assert len(summary.records) == 2
    assert lift_halts(folder, series.schema, "no reason", ()) == ()


def test_a_ledger_is_read_without_pandas(tmp_path: Path) -> None:
    with tarfile.open(STORED / "mondrian-k.tar.xz") as archive:
        archive.extractall(tmp_path, filter="tar")
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


def test_a_table_of_another_database_is_not_a_table_of_the_store() -> None:
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS other; CREATE SCHEMA other.private")
        connection.execute("CREATE TABLE other.private.halts (a INT)")
        assert not has_table(connection, "private", "halts")
        connection.execute("CREATE SCHEMA private; CREATE TABLE private.halts (a INT)")
        assert has_table(connection, "private", "halts")
