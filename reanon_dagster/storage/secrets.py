"""The private folder and the key of the pseudonyms: readable by their owner alone."""

import os
import secrets
from pathlib import Path

from reanon_core.model.errors import Refused

KEY_BYTES = 16


def private_folder(folder: Path) -> Path:
    """The folder, made if it is missing, closed to everybody else."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def pseudonym_key(folder: Path, *, create: bool) -> bytes:
    """The series' own key: people keep their pseudonym for the whole series, and have another in every other series.

    Raises: Refused if there are releases but the key is gone: nobody could be recognised again.
    """
    path = folder / "pseudonym.key"
    if path.exists():
        return path.read_bytes()
    if not create:
        raise Refused(
            "the series' pseudonym.key is gone from its private folder, so that nobody could be recognised again; "
            "bring it back from a backup, or start a new series under another name"
        )
    key = secrets.token_bytes(KEY_BYTES)
    private_folder(folder)
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    return key
