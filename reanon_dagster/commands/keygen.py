"""`reanon keygen`: a key that signs manifests, or a secret that encrypts a private folder."""

import argparse
import secrets
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.commands.output import say
from reanon_dagster.storage.durable_file import new_private_file

if TYPE_CHECKING:
    from pathlib import Path

PUBLIC = ".pub"
SECRET_BYTES = 32


def run(options: argparse.Namespace) -> int:
    """Write new keys to new files."""
    path: Path = options.out
    public = path.with_name(f"{path.name}{PUBLIC}")
    for one in (path,) if options.secret else (path, public):
        if one.exists() or one.is_symlink():
            rule = "be a new file"
            raise InvalidParameter(Problem("--out", rule, str(one), "a key that was lost cannot be made again"))
    if not path.parent.is_dir():
        raise InvalidParameter(Problem("--out", "lie in a folder that exists", str(path)))
    if options.secret:
        with new_private_file(path) as file:
            file.write(secrets.token_hex(SECRET_BYTES).encode() + b"\n")
        say(f"{path.name}: a secret for private.key; keep a copy apart from the private folder", quiet=options.quiet)
        return 0
    private, shared = _pair()
    with new_private_file(path) as file:
        file.write(private)
    with public.open("xb") as file:
        file.write(shared)
    say(f"{path.name}: the private key, for publish.sign; only you may read it", quiet=options.quiet)
    say(f"{public.name}: the public key, for everyone who runs `reanon verify --key`", quiet=options.quiet)
    return 0


def _pair() -> tuple[bytes, bytes]:
    """A new key in PEM form, its private half first."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private, public
