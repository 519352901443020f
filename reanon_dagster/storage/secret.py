"""Secrets that a steward keeps in a file, the environment or a keyring. They are read when needed and never printed."""

import os
import stat
from importlib import import_module
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.series.store_key import KeyPlace

SERVICE = "reanon"
"""The name under which a keyring holds our secrets."""
LARGEST = 1 << 16
"""Bytes of the largest file that is read as a secret."""


def secret_at(place: KeyPlace, what: str) -> str:
    """The secret in its place; `what` is the key or option that names the place.

    Raises: InvalidParameter if it is not there, or if others could read it.
    """
    if place.kind == "file":
        return secret_file(Path(place.name), what).decode("utf-8", "surrogateescape").rstrip("\r\n")
    if place.kind == "environment":
        found = os.environ.get(place.name)
        if not found:
            raise InvalidParameter(Problem(what, f"be set in the environment variable {place.name}, which is empty"))
        return found
    found = keyring_secret(place.name)
    if found is None:
        rule = f"be in a keyring, under the service {SERVICE} and the user {place.name}"
        raise InvalidParameter(Problem(what, rule, help="install reanon[keyring], and store it with `keyring set`"))
    return found


def secret_file(path: Path, what: str) -> bytes:
    """The content of a file that only its owner can read.

    Raises: InvalidParameter.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        rule = f"be a file that can be read ({error.strerror})"
        raise InvalidParameter(Problem(what, rule, str(path))) from None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise InvalidParameter(Problem(what, "be a regular file", str(path)))
        if state.st_mode & 0o077:
            rule = "be readable by its owner only"
            raise InvalidParameter(Problem(what, rule, str(path), f"run chmod 600 {path.name}"))
        content = file.read(LARGEST + 1)
    if not content.strip() or len(content) > LARGEST:
        raise InvalidParameter(Problem(what, f"hold a secret of at most {LARGEST} bytes", str(path)))
    return content


def keyring_secret(user: str) -> str | None:
    """The secret of this user in the keyring; None without one, or without the package."""
    try:
        keyring = import_module("keyring")
    except ImportError:
        return None
    try:
        found = keyring.get_password(SERVICE, user)
    except keyring.errors.KeyringError:
        return None
    return None if found is None else str(found)
