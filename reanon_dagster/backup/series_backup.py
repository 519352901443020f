"""Writes and examines a backup of a series."""

import errno
import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem, Refused
from reanon_dagster.backup.archive import Content, Inventory, read_archive, write_archive
from reanon_dagster.backup.encrypted_file import EncryptedReader, EncryptedWriter, FileHeader, Stretching
from reanon_dagster.storage import encryption, store_reader
from reanon_dagster.storage.connection import BUSY, STORE, exclusive, opened
from reanon_dagster.storage.durable_file import flush, new_private_file
from reanon_dagster.storage.pseudonym_key import pseudonym_key
from reanon_dagster.storage.series_store import has_store

if TYPE_CHECKING:
    from typing import BinaryIO

    import duckdb

    from reanon_dagster.series.series import Series

WITHOUT_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}


@dataclass(frozen=True)
class BackupSummary:
    """What a backup holds, and how to recognise its file."""

    releases: tuple[str, ...]
    size: int
    """Bytes."""
    digest: str
    """The sha256 of the file."""


def write_backup(series: "Series", path: Path, passphrase: str, stretching: Stretching) -> BackupSummary:
    """Write a backup, read it back, and only then give it its name. Meanwhile no release is published.

    Raises: Refused if there is no store or another process holds it; FileExistsError.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with new_private_file(unfinished) as file:
            _write(series, file, passphrase, stretching)
        content, summary = examine_backup(unfinished, passphrase)
        if content.inventory.series != series.name:
            raise AssertionError("a backup holds the series that was written")
        _name(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return summary


def examine_backup(path: Path, passphrase: str, folder: Path | None = None) -> tuple[Content, BackupSummary]:
    """Read a whole backup and authenticate every byte; its files are written to the folder, if one is given.

    Raises: Refused if it was changed or the passphrase is another one; InvalidParameter if it cannot be read.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidParameter(Problem("--from", f"be a file that can be read ({error.strerror})", str(path))) from None
    with file:
        reader = EncryptedReader(file, passphrase)
        content = read_archive(reader, folder)
        if reader.header.about != _about(content.inventory):
            raise Refused("the header of the backup does not describe its content")
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        releases = tuple(release for release, _ in content.inventory.releases)
        return content, BackupSummary(releases, os.fstat(file.fileno()).st_size, digest)


def _write(series: "Series", file: "BinaryIO", passphrase: str, stretching: Stretching) -> None:
    folder = series.private_folder
    if not has_store(folder):
        raise Refused(f"{series.name} has no private store to back up; it begins with the first release")
    with opened(folder, read_only=False) as connection:
        if not store_reader.exists(connection):
            raise Refused(f"{series.name} has no private store to back up; it begins with the first release")
        records, frozen = store_reader.releases(connection), store_reader.frozen(connection)
        forgotten = len(store_reader.marks(connection))
        _read_every_row(connection)
        connection.execute("CHECKPOINT")
        # Closed, so that the file is complete; and nobody can open it until it has been read.
        with exclusive(folder):
            connection.close()
            if any(path.stat().st_size for path in folder.glob(f"{STORE}.wal")):
                raise Refused(BUSY)
            inventory = Inventory(
                series.name,
                tuple((record.release, record.manifest_digest) for record in records),
                frozen,
                encryption.store_key(folder),
                forgotten,
                tuple(record.release for record in records if record.withdrawn is not None),
            )
            writer = EncryptedWriter(file, FileHeader(_about(inventory), stretching), passphrase)
            write_archive(writer, folder, inventory, pseudonym_key(folder, frozen.get("key")))


def _about(inventory: Inventory) -> dict[str, object]:
    """What the header says: facts that are public once the releases are."""
    release, manifest = inventory.releases[-1] if inventory.releases else (None, None)
    return {
        "series": inventory.series,
        "position": len(inventory.releases),
        "release": release,
        "manifest": manifest,
        "reanon": inventory.reanon,
    }


def _read_every_row(connection: "duckdb.DuckDBPyConnection") -> None:
    """Read every block of the store, so that a damaged one is noticed now.

    Raises: Refused.
    """
    import duckdb

    query = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('private', 'public')"
    try:
        for schema, table in connection.execute(query).fetchall():
            # Names of tables are constants of ours.
            connection.execute(f"SELECT bit_xor(hash(rows)) FROM {schema}.{table} AS rows").fetchall()  # noqa: S608
    except duckdb.Error:
        raise Refused(f"the private store {STORE} is damaged and cannot be backed up; restore a backup") from None


def _name(unfinished: Path, path: Path) -> None:
    """Give a finished file its name, and never replace another file.

    Raises: FileExistsError.
    """
    try:
        os.link(unfinished, path)
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        unfinished.rename(path)  # a file system without links
    flush(path.parent)
