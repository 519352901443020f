"""The files beside the releases, in the folder of a series: the newest manifest has their sha256."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from reanon_dagster.verification.head_claim import claimed_manifest
from reanon_dagster.verification.manifest_file import Flaw, Manifest, file_digest, shown


def series_file_flaws(folder: Path, manifests: Sequence[Manifest]) -> list[Flaw]:
    """How the files of a series differ from what the last of its manifests, in the order of the chain, records.

    They follow the release, and the head file follows them. While it names the release before, they may still be those
    of that release: a person may look in between, and a kill may come there.
    """
    if not manifests:
        return []
    newest = manifests[-1]
    before = manifests[-2] if len(manifests) > 1 else None
    arriving = before is not None and claimed_manifest(folder) == before.digest
    earlier: Mapping[str, str] = before.series_files if before is not None and arriving else {}
    flaws = []
    for name, digest in sorted(newest.series_files.items()):
        if not os.path.lexists(folder / name):
            if not arriving or name in earlier:
                flaws.append(Flaw(f"{shown(name)} is missing from the folder of the series"))
            continue
        try:
            known = file_digest(folder / name) in {digest, earlier.get(name)}
        except OSError as error:
            flaws.append(Flaw(f"{shown(name)} cannot be read: {error.strerror or error}"))
            continue
        if not known:
            sentence = f"{shown(name)} was changed: it does not have the sha256 that {shown(newest.folder)} records"
            flaws.append(Flaw(sentence))
    return flaws
