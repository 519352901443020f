"""The published tables against the ledger: what is said does not depend on how many rows are compared at a time."""

from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders.series import SERIES, lively, write_series

from reanon_core.model.ledger import Entry
from reanon_dagster import open_series
from reanon_dagster.releasing import published_audit
from reanon_dagster.releasing.published_audit import table_flaws
from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.series.series_file import load_series


@pytest.fixture(params=[1, 7, 10**6])
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[Path, Entry]:
    """The folder of a release, and what the ledger has of it."""
    text = SERIES + "publish: {formats: [csv, parquet]}\n"
    path = write_series(tmp_path, text=text, snapshots={"r1": lively(1)["r1"]})
    assert len(list(publish_ready_releases(load_series(path), date(2030, 1, 1), seed=1))) == 1
    monkeypatch.setattr(published_audit, "ROWS_AT_ONCE", request.param)
    return load_series(path).published_folder / "r1", open_series(path).ledger().entries[0]


def changed(folder: Path, table: pa.Table) -> None:
    path = folder / "table.parquet"
    folder.chmod(0o755)
    path.unlink()
    pq.write_table(table, path)


def test_what_is_published_has_no_flaw(published: tuple[Path, Entry]) -> None:
    assert table_flaws(*published) == []


def test_values_rows_and_columns_that_differ_are_said(published: tuple[Path, Entry]) -> None:
    folder, entry = published
    table = pq.read_table(folder / "table.parquet", partitioning=None)
    frame = table.to_pandas()
    frame.loc[[0, 9, len(frame) - 1], "group_id"] += 1000
    changed(folder, pa.Table.from_pandas(frame, schema=table.schema, preserve_index=False))
    assert table_flaws(folder, entry) == ["r1/table.parquet has 3 values that the ledger does not have"]
    rows = entry.release.size
    for other, count in ((table.slice(1), rows - 1), (pa.concat_tables([table, table.slice(0, 2)]), rows + 2)):
        changed(folder, other)
        assert table_flaws(folder, entry) == [f"r1/table.parquet has {count} rows, the ledger has {rows}"]
    changed(folder, table.slice(0, 0))
    assert table_flaws(folder, entry) == [f"r1/table.parquet has 0 rows, the ledger has {rows}"]
    changed(folder, table.drop_columns(["group_id"]))
    assert table_flaws(folder, entry) == ["r1/table.parquet has other columns than the ledger"]
    (folder / "table.parquet").write_bytes(b"no table")
    assert table_flaws(folder, entry) == ["r1/table.parquet cannot be read as a table"]


def test_a_csv_file_is_compared_too(published: tuple[Path, Entry]) -> None:
    folder, entry = published
    path = folder / "table.csv"
    frame = pd.read_csv(path)
    folder.chmod(0o755)
    path.unlink()
    frame.iloc[:-1].to_csv(path, index=False)
    (flaw,) = table_flaws(folder, entry)
    assert f"has {len(frame) - 1} rows, the ledger has {len(frame)}" in flaw
