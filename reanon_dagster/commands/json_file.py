"""The files of `--json`: outside the published folder, for their owner alone, and never in place of another file."""

import json
from collections.abc import Mapping
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.storage.durable_file import replaced_private_file


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
