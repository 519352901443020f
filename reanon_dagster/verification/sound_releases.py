"""Releases that were found sound, remembered so that their files are read again only if they may have changed."""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from reanon_dagster.verification.published_chain import verify_release

SETTLED = 2.0
"""Seconds after the last change in which a release is not remembered: a second change could leave the same times."""


class SoundReleases:
    """For each release that was found sound: the sha256 of its manifest, and a digest of sizes, times and inodes."""

    def __init__(self, known: Mapping[str, tuple[str, str]] | None = None) -> None:
        self._known = dict(known or {})
        self.changed = False
        """Whether there is something new to remember."""

    @staticmethod
    def read(path: Path) -> "SoundReleases":
        """What was remembered; nothing if the file is missing or is not ours, because it is only a shortcut."""
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
            return SoundReleases({name: (str(manifest), str(seen)) for name, (manifest, seen) in entries.items()})
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return SoundReleases()

    def text(self) -> str:
        """What `read` reads."""
        return json.dumps(self._known) + "\n"

    def holds(self, published: str, release: str, manifest: str) -> bool:
        """Whether a release in this folder has this manifest, and every file and no other, with its sha256."""
        folder = f"{published}/{release}"
        try:
            seen, newest = _seen(folder)
            if self._known.get(release) == (manifest, seen):
                return True
            if not _is_sound(Path(folder), manifest):
                return False
            if time.time() - newest / 1e9 > SETTLED and _seen(folder)[0] == seen:
                self._known[release] = (manifest, seen)
                self.changed = True
        except OSError:
            return False
        return True


def _is_sound(folder: Path, digest: str) -> bool:
    found = verify_release(folder)
    return [one.digest for one in found.manifests] == [digest] and not found.flaws


def _seen(folder: str) -> tuple[str, int]:
    """A digest of what a change of the files would change, and the time of the last change in nanoseconds."""
    listed, newest = [], 0
    with os.scandir(folder) as entries:
        for entry in entries:
            one = entry.stat(follow_symlinks=False)
            listed.append((entry.name, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino))
            newest = max(newest, one.st_mtime_ns, one.st_ctime_ns)
    return hashlib.sha256(repr(sorted(listed)).encode("utf-8", "surrogateescape")).hexdigest(), newest
