"""The private folder and the key of the pseudonyms: readable by their owner alone."""

import os
import secrets
from pathlib import Path

from reanon_core.model.errors import Refused

KEY_BYTES = 16
KEY_FILE = "pseudonym.key"


def private_folder(folder: Path) -> Path:
    """The folder, made if it is missing, closed to everybody else."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def pseudonym_key(folder: Path, *, first: bool) -> bytes:
    """The series' own key: people keep their pseudonym for the whole series, and have another in every other series.

    Before the first release a key may be missing: then a fresh one is given, which `keep_key` must write.

    Raises: Refused if there are releases but the key is gone: nobody could be recognised again.
    """
    path = folder / KEY_FILE
    if path.exists():
        return path.read_bytes()
    if not first:
        raise Refused(
            f"the series' {KEY_FILE} is gone from its private folder, so that nobody could be recognised again; "
            f"bring it back from a backup, or start a new series under another name"
        )
    return secrets.token_bytes(KEY_BYTES)


def keep_key(folder: Path, key: bytes) -> None:
    """Write the key if it is not there yet, whole or not at all."""
    path = folder / KEY_FILE
    if path.exists():
        return
    temporary = private_folder(folder) / f".{KEY_FILE}"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
