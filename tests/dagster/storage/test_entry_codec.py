"""An entry is the same after it was stored as arrays, as a candidate and as tables, also by 0.1.0."""

import tarfile
from pathlib import Path

import pytest
from pins.cases import STORES
from pins.runner import STORED

from reanon_core.model.packing import pack, unpack
from reanon_dagster.releasing.candidate import digest
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.entry_codec import arrays_from_store, arrays_of, entry_of, store_columns


@pytest.mark.parametrize("name", STORES)
def test_entries_of_an_old_store_have_the_digests_that_the_old_version_recorded(name: str, tmp_path: Path) -> None:
    with tarfile.open(STORED / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="tar")
    series = load_series(tmp_path)
    with opened(series.private_folder, read_only=True) as connection:
        records = store_reader.releases(connection)
        ledger = store_reader.ledger(connection, series.schema)
    assert len(records) >= 1
    for record, entry in zip(records, ledger.entries, strict=True):
        assert digest(entry) == record.candidate_digest
        release, schema = entry.release, entry.snapshot.schema
        from_arrays = unpack(pack(arrays_of(entry)))
        from_tables = arrays_from_store(store_columns(entry), schema)
        if entry.witness is not None:
            from_tables["witness"] = entry.witness.rows
        for arrays in (from_arrays, from_tables):
            again = entry_of(arrays, schema, columns=release.columns, grouped=release.grouped)
            assert digest(again) == record.candidate_digest
