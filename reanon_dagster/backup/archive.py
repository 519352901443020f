"""The content of a backup: an inventory, then the private files of a series, as one tar stream."""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from reanon_core import __version__
from reanon_core.model.errors import Refused
from reanon_dagster.backup.encrypted_file import EncryptedReader, EncryptedWriter
from reanon_dagster.engines.scratch import SCRATCH
from reanon_dagster.expectations.data_docs import FOLDER as DATA_DOCS
from reanon_dagster.releasing.integrity import SOUND
from reanon_dagster.releasing.recovery import STAGING
from reanon_dagster.storage.connection import STORE
from reanon_dagster.storage.durable_file import new_private_file
from reanon_dagster.storage.pseudonym_key import KEY_FILE, check_value, private_folder

INVENTORY = "inventory.json"
INSIDE = "private"
"""The folder in the archive that holds the files."""
LARGEST_INVENTORY = 1 << 28
PIECE = 1 << 20
LEFT_OUT = frozenset({STAGING, SCRATCH, DATA_DOCS, SOUND, STORE, KEY_FILE, f"{STORE}.wal", f"{STORE}.tmp"})
"""What is not copied as it is: files that can be made again, and the store and the key, which have their own way."""
DAMAGED = "the content of the backup is not what reanon writes"


@dataclass(frozen=True)
class Inventory:
    """What a backup holds, from inside of it."""

    series: str
    releases: tuple[tuple[str, str], ...]
    """Name and manifest digest of each release, in order."""
    frozen: Mapping[str, str]
    """What the first release froze: the settings, and a check value of the pseudonym key."""
    store_key: str | None
    """What the DuckDB file is encrypted with; None if it is not."""
    forgotten: int = 0
    """How many people are forgotten."""
    withdrawn: tuple[str, ...] = ()
    """The releases that are withdrawn."""
    reanon: str = __version__


@dataclass(frozen=True)
class Content:
    """What was read of a backup, beside the files that were written."""

    inventory: Inventory
    key: bytes
    """The pseudonym key."""


def other_files(folder: Path) -> Iterator[Path]:
    """The private files beside the store and its key, such as the ids of withheld people.

    Raises: Refused for a link, because a backup would not hold what it points to.
    """
    for path in sorted(folder.rglob("*")):
        first = path.relative_to(folder).parts[0]
        if first in LEFT_OUT or first.startswith("."):
            continue
        if path.is_symlink():
            raise Refused(
                f"{path.relative_to(folder)} in the private folder is a link; replace it by what it points to"
            )
        if path.is_file():
            yield path


def write_archive(target: EncryptedWriter, folder: Path, inventory: Inventory, key: bytes) -> None:
    """Write the private files of a series whose store is closed and cannot be opened by others meanwhile."""
    with tarfile.open(mode="w|", fileobj=cast("BinaryIO", target), format=tarfile.PAX_FORMAT) as archive:
        _add(archive, INVENTORY, io.BytesIO(json.dumps(asdict(inventory)).encode()))
        _add(archive, f"{INSIDE}/{KEY_FILE}", io.BytesIO(key))
        for path in (folder / STORE, *other_files(folder)):
            with path.open("rb") as file:
                _add(archive, f"{INSIDE}/{path.relative_to(folder).as_posix()}", file)
    target.finish()


def read_archive(source: EncryptedReader, folder: Path | None) -> Content:
    """Read a whole backup; its files, without the key, are written to the folder, if one is given.

    Raises: Refused if anything was changed, or if the content is not what `write_archive` writes.
    """
    inventory: Inventory | None = None
    key, names = b"", set()
    try:
        with tarfile.open(mode="r|", fileobj=cast("BinaryIO", source)) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() else None
                if content is None:
                    raise Refused(DAMAGED)
                if inventory is None:
                    inventory = _inventory(member, content)
                elif member.name == f"{INSIDE}/{KEY_FILE}":
                    key = content.read(PIECE)
                else:
                    names.add(_keep(member, content, folder))
    except (tarfile.TarError, EOFError):
        raise Refused(DAMAGED) from None
    while source.read(PIECE):  # what follows the archive's end is padding, and must be authentic as well
        pass
    if inventory is None or STORE not in names or check_value(key) != inventory.frozen.get("key", check_value(key)):
        raise Refused(DAMAGED)
    return Content(inventory, key)


def _add(archive: tarfile.TarFile, name: str, content: BinaryIO) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = content.seek(0, io.SEEK_END), 0o600
    content.seek(0)
    archive.addfile(member, content)


def _inventory(member: tarfile.TarInfo, content: IO[bytes]) -> Inventory:
    if member.name != INVENTORY or member.size > LARGEST_INVENTORY:
        raise Refused(DAMAGED)
    try:
        told = json.loads(content.read())
        told["releases"] = tuple((str(release), str(digest)) for release, digest in told["releases"])
        told["withdrawn"] = tuple(map(str, told["withdrawn"]))
        return Inventory(**told)
    except (ValueError, KeyError, TypeError):
        raise Refused(DAMAGED) from None


def _keep(member: tarfile.TarInfo, content: IO[bytes], folder: Path | None) -> str:
    """Write one file, and return its name in the private folder."""
    place = PurePosixPath(member.name)
    if place.is_absolute() or len(place.parts) < 2 or place.parts[0] != INSIDE or ".." in place.parts:
        raise Refused(DAMAGED)
    inner = place.relative_to(INSIDE)
    if folder is None:
        while content.read(PIECE):
            pass
        return inner.as_posix()
    target = folder / inner
    for above in reversed(inner.parents[:-1]):
        private_folder(folder / above)
    with new_private_file(target) as file:
        while piece := content.read(PIECE):
            file.write(piece)
    return inner.as_posix()
