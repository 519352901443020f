"""The published folder of a release: its table, its counterfeit counts, its manifest."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import MISSING, AnyArray, Int32
from reanon_core.model.coding import decode
from reanon_core.model.history import Published
from reanon_core.model.schema import Missing, QuasiIdentifier, Schema

if TYPE_CHECKING:
    import pyarrow as pa

MISSING_WORDS = ("none", "some", "all")
MANIFEST = "manifest.json"


def table(published: Published, schema: Schema) -> "pa.Table":
    """The released rows with the values of the columns' own types."""
    import pyarrow as pa

    release = published.release
    group = pa.array(release.group)
    columns: dict[str, pa.Array] = {"group_id": group} if release.grouped else {}
    for i, column in enumerate(schema.quasi_identifiers):
        if not release.shows(column.name):
            continue
        low, high = release.boxes.low[i], release.boxes.high[i]
        for suffix, codes in (("min", low), ("max", high)):
            columns[f"{column.name}_{suffix}"] = _values(column, codes).take(group)
        if column.hierarchical:
            columns[column.name] = _covering(column, low, high).take(group)
        if column.missing is Missing.SEPARATE:
            columns[f"{column.name}_missing"] = (
                pa.array(MISSING_WORDS).take(pa.array(release.boxes.missing[i])).take(group)
            )
    if release.shows(schema.sensitive.name):
        labels = pa.array(schema.sensitive.values, pa.string())
        columns[schema.sensitive.name] = labels.take(pa.array(release.sensitive))
    for name, values, codes in zip(schema.other, schema.other_values, release.other, strict=True):
        if release.shows(name):
            labels = pa.array([value or None for value in values], pa.string())
            columns[name] = labels.take(pa.array(codes))
    return pa.table(columns)


def counterfeits(published: Published) -> "pa.Table":
    """How many counterfeits each group holds; only groups that have some."""
    import pyarrow as pa

    return pa.table({"group_id": published.auxiliary.group, "count": published.auxiliary.count})


def write_files(folder: Path, published: Published, schema: Schema, formats: Sequence[str]) -> dict[str, str]:
    """Write the tables in every format and give the sha256 of each file."""
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
    """Write the manifest beside the files, and give its text."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    for path in (*folder.iterdir(), folder):
        _flush(path)
    return text


def bring_out(staged: Path, target: Path) -> None:
    """Move a committed release to where the public finds it, whole or not at all.

    Where the target is on another file system it is copied beside it first, under a name that begins with a dot.
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


def _values(column: QuasiIdentifier, codes: Int32) -> "pa.Array":
    import pyarrow as pa

    mask = codes == MISSING
    values: AnyArray = decode(column, codes)
    return pa.array(values, mask=mask if mask.any() else None, type=pa.string() if values.dtype == object else None)


def _covering(column: QuasiIdentifier, low: Int32, high: Int32) -> "pa.Array":
    """The label of the lowest node that covers each interval."""
    import pyarrow as pa

    assert column.taxonomy is not None  # noqa: S101  (hierarchical columns have one)
    mask = low == MISSING
    node = column.taxonomy.covering_node(np.where(mask, 0, low), np.where(mask, 0, high))
    return pa.array(column.taxonomy.labels).take(pa.array(node, mask=mask))


def _flush(path: Path) -> None:
    """Make sure that what was written survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
