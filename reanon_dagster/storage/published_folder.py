"""The public folder of a release: its table, its counterfeit counts, its documents, its manifest."""

import base64
import errno
import filecmp
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.estimate.release_tables import weighted_view
from reanon_core.model.errors import Refused
from reanon_core.model.history import Published
from reanon_core.model.published_columns import GROUP_ID, interval_names, published_columns
from reanon_core.model.release import Release
from reanon_core.model.schema import Schema
from reanon_core.tables.arrow_columns import decoded, decoded_schema
from reanon_core.tables.release_table import published_parts
from reanon_dagster.storage.durable_file import flush, replace_file

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
WITHDRAWN = "withdrawn.json"
"""The name of the file that takes the place of a withdrawn release's tables."""
NAMELESS_UNKNOWN = {errno.EOPNOTSUPP, errno.EINVAL, errno.EISDIR}
"""What a file system answers that knows no files without a name."""
VIEW = "view.sql"
"""The name of the file that makes one table of people of a release, in DuckDB."""


def write_files(folder: Path, published: Published, schema: Schema, formats: Sequence[str]) -> dict[str, str]:
    """Write the tables in every format and return the sha256 of each file."""
    folder.mkdir(parents=True)
    paths = []
    for name, parts in published_parts(published.release, published.auxiliary, schema).items():
        with ExitStack() as files:
            own = [folder / f"{name}.{form}" for form in formats]
            writers: list[tuple[bool, pa.csv.CSVWriter | pa.parquet.ParquetWriter]] = []
            for part in parts:
                writers = writers or [(_encodes(path), files.enter_context(_writer(path, part.schema))) for path in own]
                for encodes, writer in writers:
                    writer.write_table(part if encodes else decoded(part))
        paths += own
    text = view_of(schema, published.release, [path.name for path in paths])
    paths.append(folder / VIEW)
    paths[-1].write_text(text, encoding="utf-8")
    return {path.name: _digest(path) for path in paths}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _encodes(path: Path) -> bool:
    """Whether the format has positions in lists of values."""
    return path.suffix == ".parquet"


def _writer(path: Path, schema: "pa.Schema") -> "pa.csv.CSVWriter | pa.parquet.ParquetWriter":
    """A file that takes one table after the other, in the format that its name says."""
    import pyarrow.csv
    import pyarrow.parquet

    plain = decoded_schema(schema)
    if not _encodes(path):
        return pyarrow.csv.CSVWriter(path, plain)
    writer = pyarrow.parquet.ParquetWriter(path, schema, store_schema=False)
    # As Arrow itself notes it: a reader gets texts, however they were written.
    writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(plain.serialize()).decode()})
    return writer


def write_documents(folder: Path, documents: Mapping[str, bytes]) -> dict[str, str]:
    """Write documents beside the tables and return the sha256 of each."""
    for name, content in documents.items():
        (folder / name).write_bytes(content)
    return digests_of(documents)


def digests_of(documents: Mapping[str, bytes]) -> dict[str, str]:
    """The sha256 of each document."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in documents.items()}


def replace_series_documents(folder: Path, documents: Mapping[str, bytes]) -> None:
    """Put the documents of a series into its folder, each whole; those that are there already are left alone.

    Their temporary files lie beside the folder, because everything in it is published.

    Raises: OSError.
    """
    for name, content in documents.items():
        path = folder / name
        if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
            continue
        replace_public_file(path, content, way_to(folder, name))


def replace_public_file(path: Path, content: bytes, way: Path) -> None:
    """Put a file into the folder of a series or of a release, by way of a temporary file that lies outside.

    Raises: OSError.
    """
    try:
        replace_file(path, content, mode=0o644, by_way_of=way)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        replace_file(path, content, mode=0o644)  # the folder is a file system of its own


def way_to(folder: Path, name: str) -> Path:
    """The name that the temporary files of a public file begin with, beside the folder of the series."""
    return folder.with_name(f"{folder.name}.{name}")


def view_of(schema: Schema, release: Release, files: Sequence[str]) -> str:
    """The DuckDB view of the people of a release, with their weights."""
    sensitive, decoupled = schema.sensitive.name, release.person_rows is not None
    shown = [column for column in schema.quasi_identifiers if decoupled or release.shows(column.name)]
    intervals = {one.name: one.kind.value if one.taxonomy is None else one.taxonomy.leaves for one in shown}
    own = [column.name for column in published_columns(schema, release.columns, grouped=release.grouped)]
    columns = [GROUP_ID, sensitive] if decoupled else own
    # A csv file does not say that 007 is text.
    labels = {name: "string" for one in shown if one.taxonomy for name in interval_names(one.name)[:2]}
    value = {sensitive: "string"} if sensitive in columns else {}
    texts = {"rows": labels, "values": value, "table": labels | value}
    types = {file: texts.get(file.rpartition(".")[0], {}) for file in files}
    return weighted_view(files, columns, sensitive=sensitive, types=types, intervals=intervals)


def write_manifest(folder: Path, manifest: Mapping[str, object]) -> str:
    """Write the manifest beside the files and return its text."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    for path in (*folder.iterdir(), folder):
        flush(path)
    return text


def move_to_public(staged: Path, target: Path) -> None:
    """Move the files of a committed release to the public folder, whole or not at all; the staged copy goes last.

    If the target is on another file system, they are first copied beside it under a hidden name.

    Raises: Refused if another version of the release is there, because a published release is never replaced.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() or target.is_symlink():
        if not _same_files(staged, target):
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
        flush(target.parent)
        flush(staged.parent)


def tombstone_of(series: str, release: str, manifest_digest: str, day: date, reason: str | None) -> str:
    """The text of the file that takes the place of a withdrawn release's tables."""
    content = {"series": series, "release": release, "manifest": manifest_digest, "withdrawn": str(day)}
    return json.dumps(content | ({} if reason is None else {"reason": reason}), indent=2, ensure_ascii=False) + "\n"


def is_buried(folder: Path, tombstone: str) -> bool:
    """Whether the tombstone of a withdrawn release is written, and all its tables are gone."""
    path = folder / WITHDRAWN
    written = path.is_file() and path.read_text(encoding="utf-8") == tombstone
    return written and not any((folder / name).exists() for name in _listed(folder))


def bury(folder: Path, tombstone: str) -> None:
    """Write the tombstone of a withdrawn release, then delete its tables; the manifest stays, the chain hangs on it.

    Doing it again finishes what a kill left.
    """
    replace_public_file(folder / WITHDRAWN, tombstone.encode(), way_to(folder.parent, WITHDRAWN))
    for name in _listed(folder):
        (folder / name).unlink(missing_ok=True)
    flush(folder)


def _listed(folder: Path) -> list[str]:
    """The files that the manifest of a release lists."""
    return list(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"])


def _copy(staged: Path, target: Path) -> None:
    """Copy to another file system, and flush every file before the rename that shows them."""
    beside = target.with_name(f".{target.name}.arriving")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(staged, beside)
    for path in (*beside.iterdir(), beside):
        flush(path)
    beside.rename(target)
    flush(target.parent)


def require_room(target: Path, staged: Path) -> None:
    """Refuse before the commit what could not be published after it: write to the public folder, and look for space.

    Raises: Refused.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        _probe(target)
        space, needed = shutil.disk_usage(target).free, sum(path.stat().st_size for path in staged.iterdir())
    except OSError as error:
        raise Refused(
            f"the published folder cannot be written to ({error.strerror or error}); nothing was changed"
        ) from error
    if target.stat().st_dev != staged.stat().st_dev and space < needed:
        raise Refused(
            f"the disk of the published folder has {space:,} bytes left, and the release needs {needed:,}; "
            f"nothing was changed"
        )


def _probe(folder: Path) -> None:
    """Write to a file that never has a name, so that a kill leaves nothing in the public folder.

    Raises: OSError if the folder cannot be written to.
    """
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError as error:
        if error.errno in NAMELESS_UNKNOWN and os.access(folder, os.W_OK | os.X_OK):
            return
        raise
    try:
        os.write(descriptor, b"0")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _same_files(staged: Path, target: Path) -> bool:
    """Whether everything that is staged is published already, byte for byte."""
    return all(
        (there := target / path.name).is_file() and filecmp.cmp(path, there, shallow=False) for path in staged.iterdir()
    )
