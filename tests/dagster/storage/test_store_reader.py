"""What is read from the store is what was published."""

from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from builders.series import SERIES, people, write_series

from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened


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
