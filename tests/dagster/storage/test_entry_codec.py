"""An entry is the same after it was stored as arrays and as tables."""

from pathlib import Path

import pytest
from pins.cases import EVERY_RUN
from pins.runner import copied

from reanon_core.model.packing import pack, unpack
from reanon_dagster.releasing.candidate import digest
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.entry_codec import arrays_from_store, arrays_of, entry_of, person_row_arrays, store_columns


@pytest.mark.parametrize("name", EVERY_RUN)
def test_entries_that_are_read_from_the_store_have_the_digests_that_were_judged(name: str, tmp_path: Path) -> None:
    series = load_series(copied(name, tmp_path))
    with opened(series.private_folder, read_only=True) as connection:
        records = store_reader.releases(connection)
        ledger = store_reader.ledger(connection, series.schema)
    assert len(records) >= 1
    for record, entry in zip(records, ledger.entries, strict=True):
        assert digest(entry) == record.candidate_digest
        release, schema = entry.release, entry.snapshot.schema
        from_arrays = unpack(pack(arrays_of(entry)))
        from_tables = arrays_from_store(store_columns(entry), schema)
        from_tables |= person_row_arrays(entry)  # packed, in tables of their own, as is the witness
        if entry.witness is not None:
            from_tables["witness"] = entry.witness.rows
        for arrays in (from_arrays, from_tables):
            again = entry_of(arrays, schema, columns=release.columns, grouped=release.grouped)
            assert digest(again) == record.candidate_digest
