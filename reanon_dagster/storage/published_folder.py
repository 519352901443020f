"""The public folder of a release: its table, its counterfeit counts, its manifest."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from reanon_core.model.errors import Refused
from reanon_core.model.history import Published
from reanon_core.model.published_columns import COUNT, GROUP_ID
from reanon_core.model.schema import Schema
from reanon_core.tables.release_table import published_tables

MANIFEST = "manifest.json"
VIEW = "view.sql"
"""The name of the file that joins the tables of a decoupled release."""


def write_files(folder: Path, published: Published, schema: Schema, formats: Sequence[str]) -> dict[str, str]:
    """Write the tables in every format and return the sha256 of each file."""
    import pyarrow.csv
    import pyarrow.parquet

    folder.mkdir(parents=True)
    digests = {}
    for name, content in published_tables(published.release, published.auxiliary, schema).items():
        for form in formats:
            path = folder / f"{name}.{form}"
            if form == "parquet":
                pyarrow.parquet.write_table(content, path)
            else:
                pyarrow.csv.write_csv(content, path)
            digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    if published.release.person_rows is not None:
        path = folder / VIEW
        path.write_text(joining_view(schema, formats[0]), encoding="utf-8")
        digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def joining_view(schema: Schema, form: str) -> str:
    """A DuckDB view of a decoupled release: each person's row once for each value of their group, with its share."""
    sensitive = '"' + schema.sensitive.name.replace('"', '""') + '"'
    shares = f"{COUNT} / sum({COUNT}) OVER (PARTITION BY {GROUP_ID}) AS share"
    return "\n".join(
        (
            "-- In DuckDB, in this folder: .read view.sql",
            "-- A count of people is the sum of `share`, times the part of each box that lies in the range.",
            "CREATE OR REPLACE VIEW release AS",
            f"SELECT people.*, shown.{sensitive}, shown.share",
            f"FROM 'rows.{form}' AS people",
            f"JOIN (SELECT {GROUP_ID}, {sensitive}, {shares} FROM 'values.{form}') AS shown USING ({GROUP_ID});",  # noqa: S608
            "",
        )
    )


def write_manifest(folder: Path, manifest: Mapping[str, object]) -> str:
    """Write the manifest beside the files and return its text."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    for path in (*folder.iterdir(), folder):
        _flush(path)
    return text


def move_to_public(staged: Path, target: Path) -> None:
    """Move the files of a committed release to the public folder, whole or not at all; the staged copy goes last.

    If the target is on another file system, they are first copied beside it under a hidden name.

    Raises: Refused if another version of the release is there, because a published release is never replaced.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() or target.is_symlink():
        if not _same_manifest(staged, target):
            raise Refused(
                f"{target.name} is in the published folder in another version than in the private store; restore the "
                f"version of the store, because whoever has both could compare them"
            )
        shutil.rmtree(staged)  # a kill came between the rename and the removal
        return
    staged.chmod(0o755)
    for path in staged.iterdir():
        path.chmod(0o644)
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(staged, target)
        shutil.rmtree(staged)
    else:
        _flush(target.parent)
        _flush(staged.parent)


def _copy(staged: Path, target: Path) -> None:
    """Copy to another file system, and flush every file before the rename that shows them."""
    beside = target.with_name(f".{target.name}.arriving")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(staged, beside)
    for path in (*beside.iterdir(), beside):
        _flush(path)
    beside.rename(target)
    _flush(target.parent)


def _same_manifest(staged: Path, target: Path) -> bool:
    there = target / MANIFEST
    return there.is_file() and there.read_bytes() == (staged / MANIFEST).read_bytes()


def _flush(path: Path) -> None:
    """Write to the disk, so that the content survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
