"""Excel workbooks (.xlsx): one sheet, with the column names in its first row."""

import io
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.sources.kinds.column_rules import require_once, with_exact_ids
from reanon_dagster.sources.kinds.size_limit import require_size
from reanon_dagster.sources.kinds.source import extra_package

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_ID = 10**15 - 1
"""Excel keeps 15 digits of a number and replaces the others by zeros."""


def read_excel(
    content: bytes, columns: Sequence[str], label: str, *, sheet: str | None, id_column: str, limit: int
) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, with the types of their cells, and the names of all columns.

    Raises: InvalidSnapshot if this is no workbook with this sheet, or if cells hold errors instead of values.
    """
    fastexcel = extra_package("fastexcel", "excel", label)
    _require_workbook(content, label, limit)
    try:
        book = fastexcel.read_excel(content)
        at = _sheet(book.sheet_names, sheet, label)
        names = _names(book, at)
        require_once(names, columns, label)
        present = [name for name in names if name in columns]
        if id_column in present:
            _require_one_type(fastexcel, book, at, names.index(id_column), f"{label}: {id_column}")
        table = _cells(book, at, names, present, label)
    except fastexcel.FastExcelError:  # its text may quote a cell
        raise InvalidSnapshot(_no_workbook(label)) from None
    return with_exact_ids(table, id_column, label, LARGEST_ID), names


def _require_workbook(content: bytes, label: str, limit: int) -> None:
    """Refuse what is no workbook, or unpacks to more than the limit."""
    try:
        size = sum(part.file_size for part in zipfile.ZipFile(io.BytesIO(content)).infolist())
    except (zipfile.BadZipFile, NotImplementedError):  # the latter for a version of zip that does not exist
        raise InvalidSnapshot(_no_workbook(label)) from None
    require_size(size, limit, label)


def _no_workbook(label: str) -> Problem:
    return Problem(label, "be an Excel workbook (.xlsx) without a password", help="save it again as .xlsx, or as csv")


def _sheet(names: Sequence[str], sheet: str | None, label: str) -> int:
    """The position of the sheet with this name; of the only one without a name."""
    shown = ", ".join(names)
    if sheet is None and len(names) != 1:
        raise InvalidSnapshot(Problem(label, "have one sheet, or source.sheet must name one of them", shown))
    if sheet is not None and sheet not in names:
        raise InvalidSnapshot(Problem("source.sheet", f"be a sheet of {label}", sheet, f"its sheets are {shown}"))
    return 0 if sheet is None else names.index(sheet)


def _names(book: Any, at: int) -> list[str]:
    """The cells of the first row, as they are: fastexcel would rename a name that occurs twice."""
    row = book.load_sheet(at, header_row=None, n_rows=1, dtypes="string").to_arrow()
    return [str(column[0].as_py() or "") for column in row.columns if len(column)]


def _require_one_type(fastexcel: Any, book: Any, at: int, position: int, what: str) -> None:
    """Refuse ids of which some are text and some are numbers: 7 and 007 may be one person or two."""
    try:
        book.load_sheet(at, use_columns=[position], dtype_coercion="strict", schema_sample_rows=None)
    except fastexcel.UnsupportedColumnTypeCombinationError:
        raise InvalidSnapshot(Problem(what, "be text in all rows, or whole numbers in all rows")) from None


def _cells(book: Any, at: int, names: Sequence[str], present: Sequence[str], label: str) -> "pa.Table":
    """These columns. Types are decided by all rows: a sample would turn what comes later into another value."""
    import pyarrow as pa

    if not present:
        return pa.table({})
    sheet = book.load_sheet(
        at,
        use_columns=[names.index(name) for name in present],
        schema_sample_rows=None,
        skip_whitespace_tail_rows=True,
    )
    batch, errors = sheet.to_arrow_with_errors()
    if errors is not None and errors.errors:
        rows = [error.offset_position[0] for error in errors.errors]
        mask = np.zeros(max(rows) + 1, dtype=bool)
        mask[rows] = True
        rule = "have values of one type in each column, and no cell with an error such as #N/A"
        raise InvalidSnapshot(Problem(label, rule, named_rows(mask)))
    return pa.table(batch).rename_columns(list(present))
