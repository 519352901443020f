"""A new kind of source is one class and one line: here all releases lie in a single JSON file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import dagster as dg
import pyarrow as pa
import pytest
from builders.series import SERIES, lively, plainly_published
from pydantic import Field

from reanon_core.model.errors import InvalidSchema
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.automation import next_request
from reanon_dagster.cli import main
from reanon_dagster.resources import ENVIRONMENT
from reanon_dagster.series.field_types import Text
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.kinds.catalog import SOURCES
from reanon_dagster.sources.kinds.source import Source, SourceTable
from reanon_dagster.sources.snapshot_reader import read_snapshot, snapshot_digest

KEY = bytes(range(16))


class JsonSource(Source):
    """Snapshots in one JSON file: a list of rows for each release."""

    title: ClassVar[str] = "a JSON file"

    json_file: Text = Field(description="The file.")

    def exists(self, folder: Path, release: str) -> bool:
        return release in self._releases(folder)

    def version(self, folder: Path, release: str) -> str:
        return str(len(json.dumps(self._releases(folder)[release])))

    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:
        if not self.exists(folder, release):
            raise self.missing(folder, release)
        data = pa.Table.from_pylist(self._releases(folder)[release])
        return SourceTable(data, data.column_names, self.json_file)

    def describe(self, folder: Path, release: str) -> str:
        return f"{self.json_file}, {release}"

    def _releases(self, folder: Path) -> dict[str, list[dict[str, object]]]:
        return dict(json.loads((folder / self.json_file).read_text()))


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(SOURCES, "json_file", JsonSource)  # the one line
    write(tmp_path, {release: frame.to_dict("records") for release, frame in lively(2).items()})
    path = tmp_path / "series.yaml"
    text = SERIES.replace('{path: "snapshots/{release}.csv"', '{json_file: "people.json"')
    path.write_text(plainly_published(text))
    return path


def write(folder: Path, releases: dict[str, list[dict[str, object]]]) -> None:
    (folder / "people.json").write_text(json.dumps(releases))


def stored(folder: Path) -> dict[str, list[dict[str, object]]]:
    return dict(json.loads((folder / "people.json").read_text()))


def test_it_is_published_from_and_a_corrected_snapshot_is_refused(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", str(series), "--quiet"]) == 0
    releases = stored(series.parent)
    write(series.parent, {**releases, "r1": releases["r1"][::-1]})
    assert main(["publish", str(series), "--release", "r1"]) == 0
    assert "nothing to do" in capsys.readouterr().out  # the same rows in another order
    write(series.parent, {**releases, "r1": [{**releases["r1"][0], "age": 1}, *releases["r1"][1:]]})
    assert main(["publish", str(series), "--release", "r1"]) == 1
    write(series.parent, releases)
    assert main(["backfill", str(series)]) == 0
    assert "waits for its snapshot people.json, r3" in capsys.readouterr().out
    assert (series.parent / "published" / "clinic" / "r2" / "table.parquet").is_file()
    assert (
        main(["trace", str(series), "--release", "r1", "--out", str(series.parent / "trace.parquet"), "--quiet"]) == 0
    )


def test_the_sensor_asks_again_when_its_version_changes(series: Path) -> None:
    assets = SeriesAssets(load_series(series))
    first = next_request(assets, ENVIRONMENT)
    assert isinstance(first, dg.RunRequest)
    releases = stored(series.parent)
    write(series.parent, {**releases, "r1": releases["r1"][:-1]})
    second = next_request(assets, ENVIRONMENT)
    assert isinstance(second, dg.RunRequest)
    assert first.run_key != second.run_key
    assert first.partition_key == second.partition_key == "r1"


@pytest.mark.parametrize("select", ["", ', select: {r1: "age > 30"}'])
def test_its_digest_is_that_of_the_rows_and_needs_no_coding(series: Path, select: str) -> None:
    series.write_text(series.read_text().replace("r5]", f"r5]{select}"))
    loaded = load_series(series)
    assert snapshot_digest(loaded, "r1", KEY) == read_snapshot(loaded, "r1", KEY, ()).input_digest


def test_its_keys_are_validated_like_those_of_any_other_kind(series: Path) -> None:
    series.write_text(series.read_text().replace('json_file: "people.json"', "json_file: [a], jsonfile: b"))
    with pytest.raises(InvalidSchema) as error:
        load_series(series, lazily=True)
    assert str(error.value).splitlines() == [
        "source.json_file must be text",
        "key source.jsonfile must be one that reanon knows; did you mean json_file?",
    ]
