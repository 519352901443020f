"""Where a command may write files, for their owner alone: tables, the files of `--json` and those of `--html`.

They lie outside the published folder, and never take the place of a file that is not of their kind.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.storage.durable_file import new_private_file, replaced_private_file

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


def require_json_place(path: Path | None, public: Path | None) -> None:
    """Refuse a place in the published folder, a link, and a file that is there and is no answer of an earlier run.

    Raises: InvalidParameter.
    """
    if path is None:
        return
    rule = None
    if public is not None and path.resolve().is_relative_to(public.resolve()):
        rule = "lie outside the published folder"
    elif path.is_symlink():
        rule = "be no link"
    elif path.exists() and not _is_answer(path):
        rule = "be a new file, or one that this option wrote"
    elif not path.parent.is_dir():
        rule = "lie in a folder that exists"
    if rule is not None:
        raise InvalidParameter(Problem("--json", rule, str(path), "choose another name"))


def write_json_file(path: Path, document: Mapping[str, object]) -> None:
    """Write the document, complete or not at all."""
    with replaced_private_file(path) as file:
        file.write(f"{json.dumps(document, indent=2)}\n".encode())


def _is_answer(path: Path) -> bool:
    """Whether a file may be replaced: it is empty, or contains a JSON object."""
    try:
        content = path.read_bytes() if path.is_file() else b"-"
        return not content.strip() or isinstance(json.loads(content), dict)
    except (OSError, ValueError, RecursionError):
        return False


MARK = b'<meta name="generator" content="reanon">'
"""What every page of reanon has near its beginning."""
BEGINNING = 2000


def require_html_place(path: Path | None, public: Path | None, option: str = "--html") -> None:
    """Refuse a place in the published folder, a link, and a file that is there and is no page of an earlier run.

    Raises: InvalidParameter.
    """
    if path is None:
        return
    rule = None
    if public is not None and path.resolve().is_relative_to(public.resolve()):
        rule = "lie outside the published folder, because the page is private"
    elif path.is_symlink():
        rule = "be no link"
    elif path.exists() and not _is_page(path):
        rule = "be a new file, or one that this option wrote"
    elif not path.parent.is_dir():
        rule = "lie in a folder that exists"
    if rule is not None:
        raise InvalidParameter(Problem(option, rule, str(path), "choose another name"))


def write_html_file(path: Path, page: str) -> None:
    """Write the page, complete or not at all."""
    with replaced_private_file(path) as file:
        file.write(page.encode())


def _is_page(path: Path) -> bool:
    """Whether a file may be replaced: it is empty, or a page of reanon."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
    return not beginning.strip() or MARK in beginning
