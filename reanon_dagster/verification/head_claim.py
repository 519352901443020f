"""What the head file beside a published folder claims about the newest release, against the manifests in the folder."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from reanon_dagster.verification.manifest_file import Flaw, Manifest, file_content, shown


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
