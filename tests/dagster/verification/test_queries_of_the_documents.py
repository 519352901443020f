"""The queries of docs/guarantees.md, run as they stand in a published folder, find what the gate found."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from reanon_core.model.verdict import Verdict
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.series_store import read_verdicts

PAGE = (Path(__file__).parents[3] / "docs" / "guarantees.md").read_text()
SECTION = PAGE.split("## Check a release with DuckDB", 1)[1].split("\n## ", 1)[0]
OF_VALUES, OF_TABLE, COUNTED, OF_BOXES = re.findall(r"```sql\n(.*?)```", SECTION, re.DOTALL)


def counted(folder: Path, view: str, monkeypatch: pytest.MonkeyPatch) -> tuple[float, ...]:
    """Groups, k, l, the largest share and repeating groups."""
    monkeypatch.chdir(folder)
    with duckdb.connect() as duck:
        duck.execute(view)
        (row,) = duck.execute(COUNTED).fetchall()
    return row  # type: ignore[no-any-return]


def published(tmp_path: Path, form: str, technique: str) -> tuple[Path, dict[str, Verdict]]:
    """The example of `reanon init` with this technique: the folder of its first release, and what the gate observed."""
    assert main(["init", str(tmp_path / "series"), "--quiet"]) == 0
    path = tmp_path / "series" / "series.yaml"
    told = yaml.safe_load(path.read_text())
    told |= {"technique": yaml.safe_load(technique), "publish": {"to": "published", **yaml.safe_load(form)}}
    path.write_text(yaml.safe_dump(told, sort_keys=False))
    assert main(["publish", str(path), "--quiet", "--seed", "3", "--accept-drift", "a test"]) == 0
    series = load_series(path)
    folder = next(one for one in sorted(series.published_folder.iterdir()) if one.is_dir())
    return folder, {verdict.check: verdict for verdict in read_verdicts(series.private_folder, 0)}


@pytest.mark.parametrize(
    ("form", "technique", "view"),
    [
        ("{form: decoupled, k: 5}", "{name: m-invariance, m: 2}", OF_VALUES),
        ("{form: boxes}", "{name: m-invariance, m: 2}", OF_TABLE),
        ("{form: boxes}", "{name: mondrian, k: 4, ell: 2}", OF_TABLE),
    ],
    ids=["rows and values", "a table", "a table with repeated values"],
)
def test_the_queries_of_the_page_find_what_the_gate_found(
    form: str, technique: str, view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = published(tmp_path, form, technique)
    groups, k, ell, share, repeating = counted(folder, view, monkeypatch)
    sizes, values = found["k-anonymity"].observed, found["l-diversity"].observed
    assert (groups, k) == (sizes["groups"], sizes["smallest group"])
    assert (ell, share) == (values["fewest values"], pytest.approx(values["largest share"]))
    if "m-uniqueness" in found:
        assert repeating == found["m-uniqueness"].observed["groups that repeat a value"] == 0
    else:
        assert repeating > 0
    if "shared-boxes" in found:
        (shared,) = duckdb.connect().execute(OF_BOXES).fetchone() or (None,)
        assert shared == found["shared-boxes"].observed["smallest box"] >= 5


def test_the_queries_see_a_group_that_is_too_small_and_repeats_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"group_id": [1, 1, 1, 2, 2], "disease": ["flu", "cold", "gout", "flu", "flu"]}
    pq.write_table(pa.table(rows), tmp_path / "table.parquet")
    assert counted(tmp_path, OF_TABLE, monkeypatch) == (2, 2, 1, 1.0, 1)
