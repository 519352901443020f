"""Where a command may write private files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.storage.durable_file import new_private_file

if TYPE_CHECKING:
    import pyarrow as pa

TABLE_FORMATS = (".parquet", ".csv")


def require_private_place(path: Path, public: Sequence[Path], what: str, option: str = "--out") -> None:
    """Refuse a place in one of the public folders, where others could read a private file, and one that is taken.

    Raises: InvalidParameter.
    """
    inside = next((folder for folder in public if path.resolve().is_relative_to(folder.resolve())), None)
    if inside is not None:
        rule = f"lie outside the published folder, because {what} private"
        raise InvalidParameter(Problem(option, rule, str(path), f"choose a place outside {inside.resolve()}"))
    if path.exists() or path.is_symlink():
        raise InvalidParameter(Problem(option, "be a new file", str(path), "choose another name, or remove it first"))
    if not path.parent.is_dir():
        raise InvalidParameter(Problem(option, "lie in a folder that exists", str(path)))


def require_table_format(path: Path, option: str = "--out") -> None:
    """Refuse a file name that says of no format how to write a table.

    Raises: InvalidParameter.
    """
    if path.suffix.lower() not in TABLE_FORMATS:
        raise InvalidParameter(Problem(option, f"end in {' or '.join(TABLE_FORMATS)}", str(path)))


def write_private_table(columns: "pa.Table", path: Path) -> None:
    """Write the table to a new file that only its owner can read, in the format that its name ends with."""
    import pyarrow.csv
    import pyarrow.parquet

    with new_private_file(path) as file:
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(columns, file)
        else:
            pyarrow.parquet.write_table(columns, file)
