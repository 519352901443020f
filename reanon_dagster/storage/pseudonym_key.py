"""The private folder and the key of the pseudonyms: only their owner can read them."""

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

from reanon_core.model.errors import OutOfOrder, Refused
from reanon_dagster.storage.durable_file import flush
from reanon_dagster.storage.encryption import sealed, unsealed

KEY_BYTES = 16
KEY_FILE = "pseudonym.key"
LOST = "without it no person can be recognised again, so restore it from a backup"
LOST_KEY = f"{KEY_FILE} is gone from the private folder; {LOST}"


def private_folder(folder: Path) -> Path:
    """The folder, created if it is missing, that only its owner can open."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for above in list(folder.parents)[:2]:  # a new folder is there after a power failure if its entry is flushed
            flush(above)
    if folder.stat().st_mode & 0o777 != 0o700:
        folder.chmod(0o700)
    return folder


def pseudonym_key(folder: Path, expected: str | None) -> bytes:
    """The series' own key: people keep their pseudonym in the whole series, and have another one in every other series.

    `expected` is the check value that the first release stored. Before the first release the key may be missing; then a
    new one is returned, which `keep_key` must write.

    Raises: Refused if the key is gone or is another one, because no person could be recognised again.
    """
    path = folder / KEY_FILE
    if path.exists():
        key = unsealed(folder, KEY_FILE, path.read_bytes())
        if expected is not None and check_value(key) != expected:
            raise Refused(f"{KEY_FILE} is not the key of this series' first release; {LOST}")
        return key
    if expected is not None:
        raise Refused(LOST_KEY)
    return secrets.token_bytes(KEY_BYTES)


def keep_key(folder: Path, key: bytes) -> None:
    """Write the key if there is none yet, whole or not at all.

    Raises: OutOfOrder if another process has written another key in the meantime.
    """
    path = folder / KEY_FILE
    if not path.exists():
        temporary = private_folder(folder) / f".{KEY_FILE}.{secrets.token_hex(8)}"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(sealed(folder, KEY_FILE, key))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(temporary, path)  # unlike a rename, it never replaces a key that is there
        temporary.unlink()
        flush(folder)
    if unsealed(folder, KEY_FILE, path.read_bytes()) != key:
        raise OutOfOrder("another process started this series in the meantime; try again")


def check_value(key: bytes) -> str:
    """A value that identifies the key but does not reveal it."""
    return hashlib.sha256(b"reanon pseudonym key\n" + key).hexdigest()
