"""What is read from the store is what was published."""

import tarfile
from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from builders.series import SERIES, people, write_series
from pins.runner import STORED

from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
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


def test_a_store_of_the_first_version_is_read_without_a_table_of_halts(tmp_path: Path) -> None:
    with tarfile.open(STORED / "mondrian-k.tar.xz") as archive:
        archive.extractall(tmp_path, filter="tar")
    folder = load_series(tmp_path).private_folder
    summary = read_summary(folder)
    assert summary.halts == ()
    assert len(summary.records) == 2
    assert lift_halts(folder, "no reason") == ()
