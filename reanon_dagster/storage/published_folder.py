"""The public folder of a release: its table, its counterfeit counts, its manifest."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.arrays import AnyArray, Bool
from reanon_core.model.history import Published
from reanon_core.model.published_columns import COUNT, GROUP_ID, published_values
from reanon_core.model.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"


def table(published: Published, schema: Schema) -> "pa.Table":
    """The released rows with the values of the columns' own types."""
    import pyarrow as pa

    return pa.table(
        {
            column.name: value_array(listed.values, listed.missing).take(pa.array(listed.row))
            for column, listed in published_values(published.release, schema)
        }
    )


def counterfeits(published: Published) -> "pa.Table":
    """How many counterfeits each group has; groups without any are left out."""
    import pyarrow as pa

    return pa.table({GROUP_ID: published.auxiliary.group, COUNT: published.auxiliary.count})


def write_files(folder: Path, published: Published, schema: Schema, formats: Sequence[str]) -> dict[str, str]:
    """Write the tables in every format and return the sha256 of each file."""
    import pyarrow.csv
    import pyarrow.parquet

    folder.mkdir(parents=True)
    tables = {"table": table(published, schema)}
    if published.release.grouped:  # counts belong to groups
        tables["counterfeits"] = counterfeits(published)
    digests = {}
    for name, content in tables.items():
        for form in formats:
            path = folder / f"{name}.{form}"
            if form == "parquet":
                pyarrow.parquet.write_table(content, path)
            else:
                pyarrow.csv.write_csv(content, path)
            digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def write_manifest(folder: Path, manifest: Mapping[str, object]) -> str:
    """Write the manifest beside the files and return its text."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    for path in (*folder.iterdir(), folder):
        _flush(path)
    return text


def move_to_public(staged: Path, target: Path) -> None:
    """Move the files of a committed release to the public folder, whole or not at all.

    If the target is on another file system, they are first copied beside it under a hidden name.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staged.chmod(0o755)
    for path in staged.iterdir():
        path.chmod(0o644)
    if target.exists():
        shutil.rmtree(target)
    try:
        staged.rename(target)
    except OSError:
        beside = target.with_name(f".{target.name}.arriving")
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(staged, beside)
        beside.rename(target)
        shutil.rmtree(staged)
    _flush(target.parent)


def value_array(values: AnyArray, missing: Bool) -> "pa.Array":
    """Decoded values as an Arrow array, null where they are missing."""
    import pyarrow as pa

    text = pa.string() if values.dtype == object else None
    return pa.array(values, mask=missing if missing.any() else None, type=text)


def _flush(path: Path) -> None:
    """Write to the disk, so that the content survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
