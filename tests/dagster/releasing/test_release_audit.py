"""The audit of what is published: the tables read back, the ledger, the definitions, the attacks."""

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from builders.series import SERIES, lively, write_series
from pins.cases import EVERY_RUN
from pins.runner import copied

from reanon_core.catalog import ATTACKS, CHECKS, EXCLUDED_ATTACKS
from reanon_core.model.ledger import Entry
from reanon_dagster.releasing import release_audit
from reanon_dagster.releasing.published_audit import published_flaws, release_flaws, table_flaws
from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.releasing.release_audit import audit_release
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

TODAY = date(2030, 1, 1)
DECOUPLED = SERIES + "publish: {form: decoupled, k: 6, formats: [parquet, csv]}\n"


def entries(series: Series) -> tuple[Entry, ...]:
    with opened(series.private_folder, read_only=True) as connection:
        return store_reader.ledger(connection, series.schema).entries


def publish(folder: Path, text: str = SERIES) -> Series:
    series = load_series(write_series(folder, text=text, snapshots=lively(3, 72)))
    assert len(list(publish_ready_releases(series, TODAY, to="r3", seed=1))) == 3
    return series


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with three published releases."""
    folder = tmp_path_factory.mktemp("series")
    publish(folder)
    return folder


@pytest.fixture
def series(published: Path, tmp_path: Path) -> Series:
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    return load_series(tmp_path)


@pytest.mark.parametrize("name", EVERY_RUN)
def test_every_table_that_a_technique_publishes_is_read_back_as_the_ledger_has_it(name: str, tmp_path: Path) -> None:
    series = load_series(copied(name, tmp_path))
    records = read_view(series).records
    assert len(records) >= 3
    assert published_flaws(series) == ([], [])
    for record, entry in zip(records, entries(series), strict=True):
        assert table_flaws(series.published_folder / record.release, entry) == []


@pytest.mark.parametrize("name", ["minv-deep", "minv-default", "cor-lifespan"])
def test_the_attacks_that_a_promise_excludes_expose_no_one(name: str, tmp_path: Path) -> None:
    series = load_series(copied(name, tmp_path))
    excluded = {one for promise in series.technique.promises() for one in EXCLUDED_ATTACKS.get(promise.check, ())}
    assert excluded
    assert excluded <= set(ATTACKS)
    assert set(EXCLUDED_ATTACKS) <= set(CHECKS)
    found = audit_release(series, read_view(series).records[-1].release)
    assert found is not None
    assert found.flaws == ()
    assert {attack: found.numbers[f"people exposed by {attack}"] for attack in excluded} == dict.fromkeys(excluded, 0)


def test_an_intersection_of_people_whose_values_change_is_no_flaw(tmp_path: Path) -> None:
    """Such a series was halted: the attack takes values for constant, and most of what it says of them is wrong."""
    series = load_series(copied("minv-episode", tmp_path))
    found = audit_release(series, "r4")
    assert found is not None
    assert found.numbers["people exposed by intersection"] > 0
    assert found.flaws == ()


@pytest.mark.parametrize("text", [SERIES, DECOUPLED], ids=["boxes", "decoupled"])
def test_a_sound_release_has_no_flaws_and_its_numbers_are_those_of_the_releases_up_to_it(
    text: str, tmp_path: Path
) -> None:
    series = publish(tmp_path, text)
    for place, release in enumerate(("r1", "r2", "r3")):
        found = audit_release(series, release)
        assert found is not None
        assert found.flaws == ()
        assert found.numbers["releases audited"] == place + 1
        assert found.numbers["people exposed by intersection"] == 0
        assert found.numbers["people attacked by intersection"] > 0
    assert audit_release(series, "r4") is None
    assert read_view(series).summary.halts == ()


def fewer(table: pa.Table) -> pa.Table:
    return table.slice(1)


def renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns(["group", *table.column_names[1:]])


def shifted(table: pa.Table) -> pa.Table:
    ages = pa.array([value + 1 for value in table["age_min"].to_pylist()], table["age_min"].type)
    return table.set_column(table.column_names.index("age_min"), "age_min", ages)


def emptied(table: pa.Table) -> pa.Table:
    at = table.column_names.index("age_max")
    return table.set_column(at, "age_max", pa.array([None, *table["age_max"].to_pylist()[1:]], table["age_max"].type))


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (fewer, " rows, the ledger has "),
        (renamed, "has other columns than the ledger"),
        (shifted, " values that the ledger does not have"),
        (emptied, "has 1 value that the ledger does not have"),
    ],
)
def test_a_table_that_differs_from_the_ledger_is_found_when_it_is_read_back(
    series: Series, form: str, change: Callable[[pa.Table], pa.Table], says: str
) -> None:
    folder = series.published_folder / "r2"
    table = change(pyarrow.parquet.read_table(folder / "table.parquet", partitioning=None))
    if form == "parquet":
        pyarrow.parquet.write_table(table, folder / "table.parquet")
    else:
        pyarrow.csv.write_csv(table, folder / "table.csv")
    found = table_flaws(folder, entries(series)[1])
    assert len(found) == 1
    assert found[0].startswith(f"r2/table.{form} ")
    assert says in found[0]


def test_a_table_that_is_no_table_is_found(series: Series) -> None:
    folder = series.published_folder / "r1"
    (folder / "table.parquet").write_text("no parquet")
    (folder / "counterfeits.csv").unlink()
    (folder / "counterfeits.parquet").unlink()
    assert table_flaws(folder, entries(series)[0]) == [
        "r1/table.parquet cannot be read as a table",
        "r1 has no table called counterfeits",
    ]


def test_an_audit_reads_no_files_of_other_releases_and_leaves_later_ones_to_their_own_audits(series: Series) -> None:
    (series.published_folder / "r3" / "table.csv").unlink()
    (series.published_folder / "r1" / "table.csv").unlink()
    assert release_flaws(series, "r2") == []
    assert release_flaws(series, "r3") == ["r3/table.csv is missing"]
    (series.published_folder / "r3" / "manifest.json").write_text("{}")
    assert release_flaws(series, "r2") == []
    assert len(release_flaws(series, "r3")) > 1
    (series.published_folder / "r1" / "manifest.json").write_text("{}")
    assert release_flaws(series, "r2") != []


def test_rows_of_the_ledger_that_were_not_judged_are_found(series: Series) -> None:
    with duckdb.connect(str(series.private_folder / "store.duckdb")) as connection:
        connection.execute("UPDATE public.rows SET sensitive = (sensitive + 1) % 6 WHERE position = 1 AND row < 3")
    found = audit_release(series, "r2")
    assert found is not None
    assert "the ledger's rows of release r2 are not those that its checks judged" in found.flaws
    assert any(flaw.startswith("well-formedness fails in release r2 (") for flaw in found.flaws)
    assert [halt.release for halt in read_view(series).summary.halts] == ["r2"]
    assert f", and {len(found.flaws) - 1} more flaw" in read_view(series).summary.halts[0].reason


def test_an_attack_that_exposes_people_is_a_flaw_only_where_the_technique_promises_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = {"people exposed by intersection": 3.0, "people exposed by algorithm": 5.0}
    monkeypatch.setattr(release_audit, "attack_numbers", lambda *_: numbers)
    promising = publish(tmp_path / "promising")
    found = audit_release(promising, "r1")
    assert found is not None
    assert found.flaws == (
        "the attack intersection on the releases up to r1 exposes 3 people, and the technique promises none",
    )
    assert len(read_view(promising).summary.halts) == 1
    naive = publish(tmp_path / "naive", SERIES.replace("name: m-invariance, m: 3", "name: mondrian, k: 3, ell: 3"))
    found = audit_release(naive, "r1")
    assert found is not None
    assert found.flaws == ()
    assert found.numbers["people exposed by intersection"] == 3
    assert read_view(naive).summary.halts == ()


def test_a_forged_table_with_a_forged_manifest_does_not_deceive_the_ledger(series: Series) -> None:
    folder = series.published_folder / "r3"
    (folder / "table.csv").write_text("group_id\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["table.csv"]["sha256"] = hashlib.sha256(b"group_id\n").hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = audit_release(series, "r3")
    assert found is not None
    assert found.flaws == (
        "clinic.head.json has another sha256 of r3/manifest.json",
        "r3/manifest.json is not the manifest that the ledger records",
    )
