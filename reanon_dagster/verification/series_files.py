"""The files beside the releases of a series: its documents, whose sha256 the newest manifest has, and its head file."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from reanon_dagster.verification.manifest_file import Flaw, Manifest, file_content, file_digest, shown


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


def head_flaws(folder: Path, manifests: Sequence[Manifest]) -> list[Flaw]:
    """How the head file differs from the last of these manifests; nothing if there is no head file."""
    path = folder.with_name(f"{folder.name}.head.json")
    if not os.path.lexists(path):
        return []
    try:
        claims = json.loads(file_content(path).decode("utf-8"))
        position, release, manifest = int(claims["position"]), str(claims["release"]), str(claims["manifest"])
    except OSError as error:
        return [Flaw(f"{shown(path.name)} cannot be read: {error.strerror or error}")]
    except (ValueError, TypeError, KeyError, RecursionError):
        return [Flaw(f"{shown(path.name)} is not a head file: it was changed or cut short")]
    problems = _problems(manifests, position, release, manifest)
    return [Flaw(f"{shown(path.name)} {problem}", release) for problem in problems]


def claimed_manifest(folder: Path) -> str | None:
    """The sha256 of the manifest that the head file names as the newest; None if it names none."""
    try:
        return str(json.loads(file_content(folder.with_name(f"{folder.name}.head.json")).decode("utf-8"))["manifest"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _problems(manifests: Sequence[Manifest], position: int, release: str, manifest: str) -> list[str]:
    order = [one.folder for one in manifests]
    if release not in order:
        return [f"names {shown(release)} as the newest release, and it is missing"]
    place = order.index(release)
    if manifests[place].digest != manifest:
        return [f"has another sha256 of {shown(release)}/manifest.json"]
    # One release behind is right: the head file follows the release, and somebody may look in between.
    if place + 1 != position or len(order) - position not in {0, 1}:
        return [f"counts other releases than are here, {len(order)} up to {shown(order[-1])}"]
    return []
