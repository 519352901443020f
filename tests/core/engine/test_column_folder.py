"""Columns on disk hold what is written to them, privately."""

import stat
from pathlib import Path

import numpy as np
import pytest

from reanon_core.engine.column_folder import ColumnFolder, forget_pages


@pytest.fixture
def folder(tmp_path: Path) -> ColumnFolder:
    return ColumnFolder(str(tmp_path))


def test_rows_are_written_and_read_in_any_order(folder: ColumnFolder) -> None:
    column = folder.created("codes", np.int32, (2, 10))
    values = np.arange(20, dtype=np.int32).reshape(2, 10)
    column.write(4, values[:, 4:])
    column.write(0, values[:, :4])
    assert np.array_equal(column.read(3, 7), values[:, 3:7])
    assert np.array_equal(column.mapped(), values)


def test_files_are_private(folder: ColumnFolder) -> None:
    column = folder.written("persons", np.arange(3))
    assert stat.S_IMODE(Path(column.path).stat().st_mode) == 0o600


def test_a_mapped_array_leads_back_to_its_column(folder: ColumnFolder) -> None:
    column = folder.written("persons", np.arange(5))
    assert folder.column_of("again", np.ascontiguousarray(column.mapped())) == column


def test_a_part_of_a_mapped_array_or_one_in_memory_becomes_a_new_column(folder: ColumnFolder) -> None:
    column = folder.written("persons", np.arange(5))
    for values in (column.mapped()[1:], column.mapped()[:4], np.arange(5)):
        new = folder.column_of("new", values)
        assert new.path != column.path
        assert np.array_equal(new.mapped(), values)


def test_an_array_of_another_folder_becomes_a_new_column(folder: ColumnFolder, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    column = ColumnFolder(str(tmp_path / "other")).written("persons", np.arange(5))
    mapped = column.mapped()
    Path(column.path).unlink()  # the array outlives its file
    assert np.array_equal(folder.column_of("new", mapped).mapped(), np.arange(5))


def test_forgotten_pages_are_read_again(folder: ColumnFolder) -> None:
    mapped = folder.written("persons", np.arange(5)).mapped()
    assert mapped.sum() == 10
    forget_pages(mapped, np.arange(3))
    assert mapped.sum() == 10


def test_a_column_without_rows_can_be_mapped(folder: ColumnFolder) -> None:
    column = folder.created("none", np.int64, (0,))
    assert len(column.mapped()) == len(column.read(0, 0)) == 0


def test_rows_beyond_the_end_are_refused(folder: ColumnFolder) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        folder.created("few", np.int64, (3,)).write(2, np.arange(2))
