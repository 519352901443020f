"""Where a command may write private files."""

from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def require_private_place(series: "Series", path: Path, what: str) -> None:
    """Refuse a place where others could read a private file, or that is taken.

    Raises: InvalidParameter.
    """
    if path.resolve().is_relative_to(series.published_folder.parent.resolve()):
        rule = f"lie outside the published folder, because {what} is private"
        raise InvalidParameter(Problem("--out", rule, str(path)))
    if path.exists() or path.is_symlink():
        raise InvalidParameter(Problem("--out", "be a new file", str(path), "choose another name, or remove it first"))
    if not path.parent.is_dir():
        raise InvalidParameter(Problem("--out", "lie in a folder that exists", str(path)))
