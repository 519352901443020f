"""Signs manifests with the steward's own key, so that anyone with the public half can prove them."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.storage.durable_file import flush
from reanon_dagster.storage.secret import secret_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from reanon_dagster.series.series import Series

SIGNATURE = "manifest.sig"
CONTEXT = b"reanon manifest 1\n"
"""What is signed before the manifest's bytes: the key may sign other things, too."""
WHAT = "publish.sign"


def require_signing_key(series: "Series") -> None:
    """Refuse a series whose manifests are to be signed with a key that is not there, before anything is computed.

    Raises: InvalidParameter.
    """
    if series.signing_key is not None:
        _private_key(series.signing_key)


def sign_manifest(series: "Series", folder: Path, manifest: str) -> None:
    """Write the signature of a manifest beside it, if the series signs its manifests.

    Raises: InvalidParameter if the key is not there.
    """
    if series.signing_key is None:
        return
    signature = _private_key(series.signing_key).sign(CONTEXT + manifest.encode())
    path = folder / SIGNATURE
    path.write_bytes(base64.b64encode(signature) + b"\n")
    flush(path)
    flush(folder)


def _private_key(path: Path) -> "Ed25519PrivateKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = secret_file(path, WHAT)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        rule = "be an Ed25519 private key in PEM form, without a passphrase"
        raise InvalidParameter(Problem(WHAT, rule, str(path), "make one with `reanon keygen --out F`"))
    return key
