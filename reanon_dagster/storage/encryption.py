"""Encryption of the private store and of the pseudonym key, under one secret of the steward."""

import os
import secrets
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem, Refused
from reanon_dagster.series.store_key import declared_key
from reanon_dagster.storage.secret import secret_at

if TYPE_CHECKING:
    import duckdb

WHAT = "private.key"
SHORTEST = 32
"""Characters of the shortest secret. It is not stretched, so it must be random and not a passphrase."""
SEALED = b"reanon sealed 1\n"
"""What a sealed file begins with."""
NONCE = 12
EXTENSION = "duckdb_extension_httpfs"
"""The package of the extension that holds DuckDB's cryptography; nothing of it is downloaded at run time."""
MISSING = "encryption needs the package duckdb-extension-httpfs for this version of DuckDB; install reanon[encryption]"
WITHOUT_LOG = "SET wal_autocheckpoint = '0b'"
"""A commit goes to the store itself: a log could be lost, and DuckDB ends the process if it can neither be written nor
cut back on a full disk."""


def store_key(folder: Path) -> str | None:
    """The key of the DuckDB file in this private folder; None if its series is not encrypted.

    Raises: InvalidParameter if the secret is missing or too short.
    """
    derived = _derived(folder, "store")
    return None if derived is None else derived.hex()


def prepare(engine: "duckdb.DuckDBPyConnection") -> None:
    """Let a DuckDB open encrypted files, and encrypt what it spills. Keys are bound parameters, in no statement or log.

    Raises: InvalidParameter without the extension.
    """
    engine.load_extension(str(_extension()))
    engine.execute("SET temp_file_encryption = true")


def copy_store(source: Path, source_key: str | None, target: Path, target_key: str | None) -> None:
    """Write a store again under another key, or under none. Deleted rows are not copied.

    Raises: InvalidParameter without the extension; duckdb.Error.
    """
    import duckdb

    mask = os.umask(0o077)
    try:
        with duckdb.connect(":memory:", config=settings(target)) as connection:
            prepare(connection)
            for name, path, key in (("source", source, source_key), ("target", target, target_key)):
                quoted = str(path).replace("'", "''")
                keyed, given = ("", None) if key is None else (" (ENCRYPTION_KEY $key)", {"key": key})
                connection.execute(f"ATTACH '{quoted}' AS {name}{keyed}", given)
            connection.execute("COPY FROM DATABASE source TO target")
    finally:
        os.umask(mask)


def sealed(folder: Path, name: str, content: bytes) -> bytes:
    """The content as it is written to a private file of this name: encrypted, if the series is.

    Raises: InvalidParameter if the secret is missing or too short.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = _derived(folder, "files")
    if key is None:
        return content
    nonce = secrets.token_bytes(NONCE)
    return SEALED + nonce + AESGCM(key).encrypt(nonce, content, name.encode())


def unsealed(folder: Path, name: str, content: bytes) -> bytes:
    """What a private file of this name holds.

    Raises: Refused if it is encrypted under another key or not as its series says; InvalidParameter.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = _derived(folder, "files")
    if key is None:
        if content.startswith(SEALED):
            raise Refused(encrypted_sentence(name))
        return content
    if not content.startswith(SEALED):
        raise Refused(plain_sentence(name))
    nonce, box = content[len(SEALED) :][:NONCE], content[len(SEALED) + NONCE :]
    try:
        return AESGCM(key).decrypt(nonce, box, name.encode())
    except (InvalidTag, ValueError):
        raise Refused(wrong_key_sentence(name)) from None


def encrypted_sentence(name: str) -> str:
    """Said of a file that is encrypted although its series names no key."""
    return f"{name} in the private folder is encrypted, and series.yaml names no key for it; add {WHAT}"


def plain_sentence(name: str) -> str:
    """Said of a file that is not encrypted although its series names a key."""
    return (
        f"{name} in the private folder is not encrypted, and series.yaml names a key ({WHAT}); remove {WHAT}, or turn "
        f"encryption on: back up without it, then restore with it"
    )


def wrong_key_sentence(name: str) -> str:
    """Said of a file that the key does not open."""
    return f"{name} in the private folder cannot be opened with the key of {WHAT}: the key is another one"


def _derived(folder: Path, purpose: str) -> bytes | None:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    place = declared_key(folder)
    if place is None:
        return None
    secret = secret_at(place, WHAT)
    if len(secret) < SHORTEST:
        rule = f"have at least {SHORTEST} random characters"
        raise InvalidParameter(Problem(WHAT, rule, help="make one with `reanon keygen --secret --out F`"))
    info = f"reanon 1 {purpose}".encode()
    return HKDF(SHA256(), length=32, salt=None, info=info).derive(secret.encode("utf-8", "surrogateescape"))


def settings(path: Path) -> dict[str, str | bool | int | float | list[str]]:
    """How a DuckDB for this file begins: by itself, it would spill to the working directory."""
    return {
        "temp_directory": f"{path}.tmp",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }


def _extension() -> Path:
    import duckdb

    if find_spec(EXTENSION) is None:
        raise InvalidParameter(Problem(WHAT, "be left out, because " + MISSING))
    home = Path(str(import_module(EXTENSION).__file__)).parent
    file = home / "extensions" / f"v{duckdb.__version__}" / "httpfs.duckdb_extension"
    if not file.is_file():
        raise InvalidParameter(Problem(WHAT, "be left out, because " + MISSING))
    return file
