"""The public folder of a release: its table, its counterfeit counts, its manifest."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from reanon_core.model.history import Published
from reanon_core.model.schema import Schema
from reanon_core.tables.release_table import counterfeit_table, release_table

MANIFEST = "manifest.json"


def write_files(folder: Path, published: Published, schema: Schema, formats: Sequence[str]) -> dict[str, str]:
    """Write the tables in every format and return the sha256 of each file."""
    import pyarrow.csv
    import pyarrow.parquet

    folder.mkdir(parents=True)
    tables = {"table": release_table(published.release, schema)}
    if published.release.grouped:  # counts belong to groups
        tables["counterfeits"] = counterfeit_table(published.auxiliary)
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


def _flush(path: Path) -> None:
    """Write to the disk, so that the content survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
