"""What the internal report says about the plan of a release: which values cost counterfeits."""

from pathlib import Path

import duckdb
import numpy as np
import pytest
from builders.series import SERIES, lively, write_series

from reanon_dagster.cli import main
from reanon_dagster.report.ledger_numbers import planned_values
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

MEDIAN = SERIES.replace("m: 3}", "m: 3, balancing: median}")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_series(tmp_path_factory.mktemp("clinic"), text=MEDIAN, snapshots=lively())
    assert main(["backfill", str(path), "--quiet"]) == 0
    return path


@pytest.mark.parametrize("position", range(5))
def test_the_numbers_are_those_of_the_release(clinic: Path, position: int) -> None:
    series = load_series(clinic)
    with opened(series.private_folder, read_only=True) as connection:
        schema = store_reader.known_schema(connection, series.schema)
        entry = store_reader.entry(connection, position, schema)
        record = store_reader.count_record(connection, position)
    labels = schema.sensitive.values
    found = {one.value: one for one in planned_values(record, labels)}
    traced = entry.release.sensitive[entry.trace.rows]
    for code, label in enumerate(labels):
        people = int(np.count_nonzero(traced == code))
        assert people == (found[label].people if label in found else 0)
    withheld = entry.snapshot.size - len(entry.trace.persons)
    assert sum(one.withheld for one in found.values()) == withheld
    assert sum(one.counterfeits for one in found.values()) >= entry.auxiliary.total
    costs = [one.counterfeits + one.withheld for one in found.values()]
    assert costs == sorted(costs, reverse=True)


def test_the_record_is_in_the_private_schema_only(clinic: Path) -> None:
    store = next((clinic.parent / "private").rglob("*.duckdb"))
    with duckdb.connect(str(store), read_only=True) as connection:
        query = "SELECT table_schema FROM information_schema.tables WHERE table_name = 'count_records'"
        assert connection.execute(query).fetchall() == [("private",)]


def test_the_internal_report_shows_it_and_the_public_one_does_not(clinic: Path) -> None:
    assert main(["report", str(clinic), "--quiet", "--attack", "intersection"]) == 0
    assert main(["report", str(clinic), "--quiet", "--public"]) == 0
    folder = clinic.parent / "private" / "clinic" / "report"
    assert "Which values cost counterfeits" in (folder / "r5.html").read_text()
    assert "Which values cost counterfeits" not in (folder / "r5.public.html").read_text()


def test_a_store_without_records_is_reported_without_them(clinic: Path) -> None:
    with duckdb.connect(str(next((clinic.parent / "private").rglob("*.duckdb")))) as connection:
        connection.execute("DELETE FROM private.count_records")
    assert main(["report", str(clinic), "--quiet", "--attack", "intersection"]) == 0
    assert "Which values cost" not in (clinic.parent / "private" / "clinic" / "report" / "r5.html").read_text()


def test_without_a_record_there_is_nothing_to_show() -> None:
    assert planned_values({}, ("a", "b")) == []
