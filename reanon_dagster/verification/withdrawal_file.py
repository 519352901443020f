"""The tombstone of a withdrawn release as a verifier reads it: it stands in place of the tables."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reanon_dagster.verification.manifest_file import Flaw, Manifest, file_content, shown, without_repetition

WITHDRAWN = "withdrawn.json"


@dataclass(frozen=True)
class Tombstone:
    """What a tombstone claims."""

    digest: str
    """The sha256 of the tombstone itself."""
    manifest: str
    """The sha256 of the manifest that stays."""
    series: str
    release: str


def read_tombstone(folder: Path) -> tuple[Tombstone | None, list[Flaw]]:
    """The tombstone in a release's folder, and its flaws; None if there is none, or if it cannot be read."""
    path, label = folder / WITHDRAWN, f"{shown(folder.name)}/{WITHDRAWN}"
    if not os.path.lexists(path):
        return None, []
    try:
        content = file_content(path)
        claims = json.loads(content.decode("utf-8"), object_pairs_hook=without_repetition)
    except OSError as error:
        return None, [Flaw(f"{label} cannot be read: {error.strerror or error}", folder.name)]
    except (ValueError, RecursionError):
        return None, [Flaw(f"{label} is not valid JSON: it was changed or cut short", folder.name)]
    if not isinstance(claims, dict):
        return None, [Flaw(f"{label} does not say what is withdrawn", folder.name)]
    manifest, series, release = (str(claims.get(key)) for key in ("manifest", "series", "release"))
    return Tombstone(hashlib.sha256(content).hexdigest(), manifest, series, release), []


def tombstone_flaws(manifest: Manifest, tombstone: Tombstone) -> list[Flaw]:
    """How a tombstone differs from the manifest beside it."""
    label = f"{shown(manifest.folder)}/{WITHDRAWN}"
    if (tombstone.series, tombstone.release) != (manifest.series, manifest.folder):
        return [Flaw(f"{label} is that of another release", manifest.folder)]
    if tombstone.manifest != manifest.digest:
        return [Flaw(f"{label} withdraws another manifest than the one beside it", manifest.folder)]
    return []


def left_files(manifest: Manifest, here: Sequence[str]) -> list[Flaw]:
    """The tables that are still there although the release is withdrawn."""
    return [
        Flaw(
            f"{shown(manifest.folder)}/{shown(name)} is still there, although the release is withdrawn", manifest.folder
        )
        for name in sorted(manifest.files)
        if name in here
    ]


def chain_flaws(manifests: Sequence[Manifest], tombstones: Mapping[str, Tombstone]) -> list[Flaw]:
    """How the withdrawals that manifests record differ from the tombstones. `manifests` are in their order."""
    flaws: list[Flaw] = []
    before: set[str] = set()
    for manifest in manifests:
        for release, digest in manifest.withdrawn.items():
            flaws += _told_flaws(manifest.folder, release, digest, before, tombstones)
        before.add(manifest.folder)
    told: set[str] = set()
    stands = False  # whether a later release is not withdrawn
    for manifest in reversed(manifests):
        if manifest.folder in tombstones and stands and manifest.folder not in told:
            sentence = f"release {shown(manifest.folder)} is withdrawn, and no later manifest records it"
            flaws.append(Flaw(sentence, manifest.folder))
        stands |= manifest.folder not in tombstones
        told |= set(manifest.withdrawn)
    return flaws


def _told_flaws(
    teller: str, release: str, digest: str, before: set[str], tombstones: Mapping[str, Tombstone]
) -> list[Flaw]:
    name = shown(release)
    if release not in before:
        return [Flaw(f"{shown(teller)} records the withdrawal of {name}, which is no release before it", teller)]
    if release not in tombstones:
        return [Flaw(f"{name} was withdrawn, as {shown(teller)} records, and its {WITHDRAWN} is missing", release)]
    if tombstones[release].digest != digest:
        return [Flaw(f"{name}/{WITHDRAWN} was changed: it is not the one that {shown(teller)} records", release)]
    return []
