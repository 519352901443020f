"""The files of `--html`: outside the published folder, for their owner alone, and never in place of another file."""

from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.storage.durable_file import replaced_private_file

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
