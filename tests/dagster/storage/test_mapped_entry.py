"""A ledger that is mapped from columns on disk has the arrays of the one that is read into memory."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest
from builders.series import SERIES, lively, write_series
from pins.cases import EVERY_RUN
from pins.runner import copied

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.ledger import Ledger
from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import mapped_entry, store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.entry_codec import arrays_of


def ledgers(series: Series, folder: Path) -> tuple[Ledger, Ledger]:
    folder.mkdir()
    with opened(series.private_folder, read_only=True) as connection:
        whole = store_reader.ledger(connection, series.schema)
        return whole, store_reader.ledger(connection, series.schema, folder=ColumnFolder(str(folder)))


def require_same(whole: Ledger, mapped: Ledger) -> None:
    assert len(whole.entries) == len(mapped.entries)
    for one, other in zip(whole.entries, mapped.entries, strict=True):
        assert one.snapshot.schema == other.snapshot.schema
        first, second = arrays_of(one), arrays_of(other)
        assert list(first) == list(second)
        for name, array in first.items():
            if isinstance(array, np.ndarray):
                found = second[name]
                assert isinstance(found, np.ndarray)
                assert (array.dtype, array.shape, array.tobytes()) == (found.dtype, found.shape, found.tobytes()), name
            else:
                assert array == second[name]


@pytest.fixture
def series(tmp_path: Path) -> Series:
    text = SERIES.replace("m: 3}", "m: 3, not_eligible: pad}")
    made = load_series(write_series(tmp_path, text=text, snapshots=lively(3)))
    assert len(list(publish_ready_releases(made, date(2030, 1, 1), seed=1))) == 3
    return made


@pytest.mark.parametrize("rows", [1, 7, 10**6])
def test_every_array_is_the_same_however_many_rows_are_read_at_a_time(
    series: Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(mapped_entry, "ROWS_AT_ONCE", rows)
    require_same(*ledgers(series, tmp_path / "columns"))


@pytest.mark.parametrize("rows", [7, 10**6])
def test_rows_that_are_stored_in_another_order_are_sorted(
    series: Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    with opened(series.private_folder, read_only=False) as connection:
        for table, order in mapped_entry.ORDER.items():
            connection.execute(f"CREATE TABLE shuffled AS SELECT * FROM {table} ORDER BY hash({order})")
            connection.execute(f"DELETE FROM {table}")
            connection.execute(f"INSERT INTO {table} SELECT * FROM shuffled")
            connection.execute("DROP TABLE shuffled")
    monkeypatch.setattr(mapped_entry, "ROWS_AT_ONCE", rows)
    require_same(*ledgers(series, tmp_path / "columns"))


@pytest.mark.parametrize("name", EVERY_RUN)
def test_stores_of_every_technique_are_mapped(name: str, tmp_path: Path) -> None:
    require_same(*ledgers(load_series(copied(name, tmp_path)), tmp_path / "columns"))


def test_the_columns_are_private_and_the_long_ones_are_mapped(series: Series, tmp_path: Path) -> None:
    _, mapped = ledgers(series, tmp_path / "columns")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "columns").iterdir()} == {0o600}
    persons = mapped.entries[0].snapshot.persons
    while isinstance(persons, np.ndarray) and not isinstance(persons, np.memmap):
        persons = persons.base
    assert isinstance(persons, np.memmap)
