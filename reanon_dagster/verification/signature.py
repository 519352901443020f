"""The signature of a manifest against a public key."""

import base64
import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.verification.manifest_file import MANIFEST, SIGNATURE, Flaw, Manifest, file_content, shown

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNED_AFTER = b"reanon manifest 1\n"
"""The bytes that are signed before those of the manifest."""
LARGEST_KEY = 1 << 16


def read_public_key(path: Path) -> "Ed25519PublicKey":
    """The key that a steward states.

    Raises: InvalidParameter.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        with path.open("rb") as file:
            key = load_pem_public_key(file.read(LARGEST_KEY))
    except OSError as error:
        raise InvalidParameter(Problem("--key", f"be a file that can be read ({error.strerror})", str(path))) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidParameter(Problem("--key", "be an Ed25519 public key in PEM form", str(path)))
    return key


def signature_flaw(folder: Path, manifest: Manifest, key: "Ed25519PublicKey") -> Flaw | None:
    """What is wrong with the signature of a release's manifest; None if it is that of this key."""
    from cryptography.exceptions import InvalidSignature

    label = f"{shown(folder.name)}/{SIGNATURE}"
    if not os.path.lexists(folder / SIGNATURE):
        return Flaw(f"{label} is missing: the manifest is not signed", folder.name)
    try:
        signature = base64.b64decode(file_content(folder / SIGNATURE).strip(), validate=True)
        content = file_content(folder / MANIFEST)
        key.verify(signature, SIGNED_AFTER + content)
    except OSError as error:
        return Flaw(f"{label} cannot be read: {error.strerror or error}", folder.name)
    except (ValueError, InvalidSignature):
        return Flaw(f"{label} is not the signature of its manifest by this key", folder.name)
    if hashlib.sha256(content).hexdigest() != manifest.digest:
        return Flaw(f"{shown(folder.name)}/{MANIFEST} was changed while it was read", folder.name)
    return None


def is_signed(folder: Path) -> bool:
    """Whether a release's folder has a signature, whatever it is worth."""
    try:
        return stat.S_ISREG((folder / SIGNATURE).lstat().st_mode)
    except OSError:
        return False
