"""Snapshots in Delta tables: the newest version, all of it, or a sentence."""

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pytest
from builders.series import declared
from builders.snapshots import KEY, person, rows, sentences_of

from reanon_core.model.errors import InvalidSchema
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.kinds import source as source_kind
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_version
from reanon_dagster.sources.snapshot_reader import read_snapshot, snapshot_digest

deltalake = pytest.importorskip("deltalake", reason="install reanon[delta]")
EACH = "{delta: 'tables/{release}', id: name}"
ONE = "{delta: visits, release_column: quarter, id: name}"


def series(folder: Path, source: str = EACH) -> Series:
    return declared(folder, source, columns={"age": "{}"})


def people(*ids: object, **more: list[object]) -> pa.Table:
    return pa.table({"name": list(ids), "age": list(range(len(ids))), "disease": ["flu"] * len(ids), **more})


def write(place: Path, table: pa.Table, **more: object) -> None:
    place.parent.mkdir(exist_ok=True)
    deltalake.write_deltalake(place, table, **more)


def test_the_newest_version_is_read_and_its_version_is_that_of_the_table(tmp_path: Path) -> None:
    loaded = series(tmp_path)
    assert not snapshot_exists(loaded, "r1")
    assert sentences_of(snapshot_version, loaded, "r1")[0].startswith("the snapshot of r1 (tables/r1) must be there")
    write(tmp_path / "tables" / "r1", people(2**60, 2))
    first, digest = snapshot_version(loaded, "r1"), snapshot_digest(loaded, "r1", KEY)
    assert snapshot_version(loaded, "r1") == first
    assert set(rows(read_snapshot(loaded, "r1", KEY, ()))) == {person(str(2**60)), person("2")}
    deltalake.DeltaTable(tmp_path / "tables" / "r1").delete("name = 2")
    assert snapshot_version(loaded, "r1") != first
    assert snapshot_digest(loaded, "r1", KEY) != digest
    assert set(rows(read_snapshot(loaded, "r1", KEY, ()))) == {person(str(2**60))}


def test_a_table_of_all_releases_has_those_of_its_rows(tmp_path: Path) -> None:
    loaded = series(tmp_path, ONE)
    write(tmp_path / "visits", people("a", "b", "c", quarter=["r1", "r2", "r1"]), partition_by=["quarter"])
    assert set(rows(read_snapshot(loaded, "r1", KEY, ()))) == {person("a"), person("c")}
    deltalake.DeltaTable(tmp_path / "visits").delete("quarter = 'r2'")
    assert not snapshot_exists(loaded, "r2")
    told = "the snapshot of r2 (visits) must be there before it can be published"
    assert sentences_of(read_snapshot, loaded, "r2", KEY, ()) == [told]


def test_the_column_of_releases_may_hold_dates(tmp_path: Path) -> None:
    days = [dt.date(2024, 3, 1), dt.date(2024, 4, 1)]
    write(tmp_path / "visits", people("a", "b", quarter=days))
    series(tmp_path, ONE)
    text = (tmp_path / "series.yaml").read_text().replace("names: [r1, r2]", "cadence: daily, first: 2024-03-01")
    (tmp_path / "series.yaml").write_text(text)
    loaded = load_series(tmp_path, lazily=True)
    assert set(rows(read_snapshot(loaded, "2024-04-01", KEY, ()))) == {person("b")}
    assert not snapshot_exists(loaded, "2024-04-02")


def test_a_damaged_table_is_a_sentence(tmp_path: Path) -> None:
    write(tmp_path / "tables" / "r1", people("Zacharias"))
    for file in (tmp_path / "tables" / "r1").glob("*.parquet"):
        file.unlink()
    told = "tables/r1 must be readable; a file of it is missing or damaged"
    assert sentences_of(read_snapshot, series(tmp_path), "r1", KEY, ()) == [told]
    for file in (tmp_path / "tables" / "r1" / "_delta_log").glob("*.json"):
        file.write_text("nonsense")
    (told,) = sentences_of(read_snapshot, series(tmp_path), "r1", KEY, ())
    assert told.startswith("tables/r1 must be a Delta table that can be read")


def test_a_column_of_releases_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    write(tmp_path / "visits", people("a"))
    told = "source.release_column (quarter) must be a column of visits"
    assert sentences_of(read_snapshot, series(tmp_path, ONE), "r1", KEY, ()) == [told]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("{delta: visits, id: name}", "source.delta (visits) must either contain {release}, or source.release_column"),
        ("{delta: '{release}', release_column: q, id: name}", "source.delta ({release}) must either contain {release}"),
        ("{delta: 's3://a/{release}', id: name}", "source.delta (s3://a/{release}) must be a folder on this machine"),
        ("{delta: 'published/{release}', id: name}", "source.delta (published/{release}) must lie outside publish.to"),
    ],
)
def test_its_keys_are_validated(tmp_path: Path, source: str, told: str) -> None:
    with pytest.raises(InvalidSchema) as error:
        series(tmp_path, source)
    assert str(error.value).startswith(told)


def test_without_the_package_a_sentence_says_which_extra_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(source_kind, "import_module", absent)
    (told,) = sentences_of(read_snapshot, series(tmp_path), "r1", KEY, ())
    assert told.endswith("which is not installed; reading it needs reanon[delta]")


def test_a_table_with_deletion_vectors_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "tables" / "r1", people("Zacharias"))
    (log,) = (tmp_path / "tables" / "r1" / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    newer = [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}]
    kept = [action for action in actions if "protocol" not in action]
    log.write_text("\n".join(json.dumps(action) for action in newer + kept))
    (told,) = sentences_of(read_snapshot, series(tmp_path), "r1", KEY, ())
    assert told.startswith("tables/r1 must be a Delta table that can be read; it is damaged, or has a feature such as")
