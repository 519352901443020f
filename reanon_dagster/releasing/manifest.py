"""The manifest of a release: what anyone may know about it, the digests that prove it unchanged, and its signature.

A steward signs with a key of their own, so that anyone with the public half can prove the manifests.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core import __version__
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.release import Release
from reanon_core.model.schema import Ends
from reanon_dagster.documents.column_dictionary import described_bins
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.storage.durable_file import flush
from reanon_dagster.storage.secret import secret_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from reanon_dagster.series.series import Series


def manifest_of(
    facts: Mapping[str, object],
    files: Mapping[str, str],
    series_files: Mapping[str, str],
    previous: str | None,
    withdrawn: Mapping[str, str],
) -> dict[str, object]:
    """The manifest by key: `facts`, the digests of its files and of those of the series, and that of the one before.

    `withdrawn` are the digests of the tombstones that no earlier manifest records.
    """
    return {
        **facts,
        "files": {name: {"sha256": digest} for name, digest in files.items()},
        "series_files": {name: {"sha256": digest} for name, digest in series_files.items()},
        "previous_manifest": previous,
        **({"withdrawn": dict(withdrawn)} if withdrawn else {}),
        "reanon": __version__,
    }


def release_facts(series: "Series", candidate: Candidate) -> dict[str, object]:
    """What the manifest says about the release itself, by key."""
    entry, release = candidate.entry, candidate.entry.release
    columns = [column for column in entry.snapshot.schema.quasi_identifiers if release.shows(column.name)]
    gridded = {column.name: described_bins(column) for column in columns if column.ends is Ends.GRID}
    return {
        "series": series.name,
        "release": candidate.release,
        "technique": {"name": series.technique.name, **series.parameters},
        **({} if release.columns is None else {"columns": list(release.columns)}),
        **_form(release, series.config.publish.k),
        "groups": release.boxes.count if release.grouped else None,
        "counterfeits": entry.auxiliary.total,
        "withheld": sum(candidate.withheld.values()),
        "dirty": entry.dirty,
        "domains": {column.name: "declared" if column.bounds is not None else "observed" for column in columns},
        **({"bins": gridded} if gridded else {}),
        "verdicts": [
            {"check": verdict.check, "holds": verdict.holds, "required": verdict.required, "rule": verdict.sentence}
            for verdict in candidate.verdicts
        ],
    }


def _form(release: Release, k: int) -> dict[str, object]:
    """The number of rows, and what a decoupled release has besides."""
    rows = release.person_rows
    if rows is None:
        return {"rows": release.size}
    return {"form": "decoupled", "k": k, "rows": len(rows.box), "values": release.size}


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
