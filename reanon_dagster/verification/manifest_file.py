"""A manifest as a verifier reads it: nothing in it is trusted, and every flaw is a sentence."""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
"""The file that signs the manifest, which therefore cannot list it."""
LARGEST = 16 << 20
"""Bytes of the largest manifest that is read."""
CHUNK = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ABSENT = object()


@dataclass(frozen=True)
class Flaw:
    """Something that is wrong with a published series, as a sentence."""

    sentence: str
    release: str | None = None
    """The folder of the release that it concerns; None if it concerns the series."""
    stray: bool = False
    """Whether it is about something that does not belong there, and harms nothing that does."""


@dataclass(frozen=True)
class Manifest:
    """What a manifest claims."""

    folder: str
    """The name of the release's folder."""
    digest: str
    """The sha256 of the manifest itself."""
    series: str
    previous: str | None
    """The sha256 of the manifest before; None for the first release."""
    files: Mapping[str, str]
    """The sha256 of each file, by name."""
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    """The sha256 of the tombstone of each earlier release whose withdrawal it records, by release."""
    series_files: Mapping[str, str] = field(default_factory=dict)
    """The sha256 of each file in the folder of the series, by name, as of this release."""


def shown(name: str) -> str:
    """A name as it may be printed: whatever could disturb a terminal is escaped."""
    return name if name.isprintable() else ascii(name)


def read_manifest(folder: Path) -> tuple[Manifest | None, list[Flaw]]:
    """The manifest of a release's folder, and its flaws; None if it cannot be read."""
    name, label = folder.name, f"{shown(folder.name)}/{MANIFEST}"
    try:
        content = file_content(folder / MANIFEST)
        claims = json.loads(content.decode("utf-8"), object_pairs_hook=without_repetition)
    except OSError as error:
        return None, [Flaw(f"{label} cannot be read: {error.strerror or error}", name)]
    except (ValueError, RecursionError):
        return None, [Flaw(f"{label} is not valid JSON: it was changed or cut short", name)]
    if not isinstance(claims, dict):
        return None, [Flaw(f"{label} is not a manifest", name)]
    flaws = [Flaw(f"{label} {problem}", name) for problem in _problems(name, claims)]
    previous = claims.get("previous_manifest")
    return Manifest(
        name,
        hashlib.sha256(content).hexdigest(),
        str(claims.get("series")),
        previous if isinstance(previous, str) else None,
        _digests(claims.get("files")),
        {release: digest for release, digest in _withdrawals(claims).items() if _is_digest(digest)},
        _digests(claims.get("series_files")),
    ), flaws


def file_digest(path: Path) -> str:
    """The sha256 of a regular file, read in pieces.

    Raises: OSError, also if it is a link, a folder or a device.
    """
    digest = hashlib.sha256()
    with os.fdopen(_opened(path), "rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def file_content(path: Path) -> bytes:
    """The content of a small regular file.

    Raises: OSError, also if it is a link, a folder or a device, or too large.
    """
    with os.fdopen(_opened(path), "rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(f"it is larger than {LARGEST >> 20} MB")
    return content


def _opened(path: Path) -> int:
    """A descriptor of a regular file; opening a pipe without NONBLOCK would wait for ever."""
    if path.is_symlink():
        raise OSError("it is a link")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a regular file")
    return descriptor


def _problems(name: str, claims: Mapping[str, Any]) -> list[str]:
    """What is wrong with the claims by themselves."""
    problems = []
    if not isinstance(claims.get("series"), str):
        problems.append("names no series")
    if claims.get("release") != name:
        problems.append("names another release than its folder: releases were exchanged, renamed or copied")
    previous = claims.get("previous_manifest", _ABSENT)
    if previous is not None and not _is_digest(previous):
        problems.append("does not say which manifest comes before it")
    if any(not _is_digest(digest) for digest in _withdrawals(claims).values()):
        problems.append("has no sha256 for a release that it records as withdrawn")
    beside = claims.get("series_files")
    if not isinstance(beside, dict):
        problems.append("does not list the files of the series by name")
        beside = {}
    files = claims.get("files")
    if not isinstance(files, dict) or not files:
        return [*problems, *_listed_problems(beside), "lists no files"]
    return [*problems, *_listed_problems(files), *_listed_problems(beside)]


def _listed_problems(files: Mapping[str, Any]) -> list[str]:
    """What is wrong with the names and digests of files."""
    problems = [
        f"lists {shown(file)}, which is not the name of a file in its folder" for file in files if not _is_plain(file)
    ]
    return problems + [
        f"has no sha256 for {shown(file)}" for file, told in files.items() if _is_plain(file) and not _sha256(told)
    ]


def _digests(files: object) -> dict[str, str]:
    """The digest of each file that is listed as it should be."""
    listed = files if isinstance(files, dict) else {}
    return {file: _sha256(told) for file, told in listed.items() if _is_plain(file) and _sha256(told)}


def _withdrawals(claims: Mapping[str, Any]) -> Mapping[str, Any]:
    told = claims.get("withdrawn", {})
    return told if isinstance(told, dict) else {"": told}


def _is_plain(file: str) -> bool:
    return file not in {"", ".", "..", MANIFEST, SIGNATURE} and not set(file) & {"/", "\\", "\0"}


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _sha256(told: object) -> str:
    """The digest of a file as the manifest states it; empty if it states none."""
    digest = told.get("sha256") if isinstance(told, dict) else None
    return str(digest) if _is_digest(digest) else ""


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a key twice: readers would disagree on what it says."""
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a key is repeated")
    return read
