"""Judging a series from outside, with its commands and its published folder alone."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from trust.forked import Ended, reanon
from trust.result import Fault
from trust.small_series import private, public

ATTACK = "intersection"


@dataclass
class Witness:
    """Somebody who looks at the published folder again and again, and remembers all that was ever visible."""

    folder: Path
    seen: dict[str, str] = field(default_factory=dict)
    """The sha256 of each release's manifest when it was first visible."""
    faults: list[Fault] = field(default_factory=list)

    def look(self, when: str) -> None:
        """Compare what is visible now with what was."""
        visible = dict(visible_releases(self.folder))
        for release, digest in visible.items():
            whole = problem_of(public(self.folder) / release)
            if whole:
                self.faults.append(Fault("half release", f"{when}: {release} {whole}"))
            if digest is not None and self.seen.setdefault(release, digest) != digest:
                self.faults.append(Fault("second version", f"{when}: {release}"))
        mine = private(self.folder)
        if mine.is_dir() and mine.stat().st_mode & 0o077:
            self.faults.append(Fault("leak", f"{when}: the private folder is open to other accounts"))
        for release in self.seen.keys() - visible.keys():
            self.faults.append(Fault("lost", f"{when}: {release} was visible and is gone"))


def visible_releases(folder: Path) -> Iterator[tuple[str, str | None]]:
    """The releases in the published folder, each with the sha256 of its manifest."""
    there = public(folder)
    for path in sorted(there.iterdir()) if there.is_dir() else ():
        if path.is_dir() and not path.name.startswith("."):
            digest = None
            with suppress(OSError):
                digest = hashlib.sha256((path / "manifest.json").read_bytes()).hexdigest()
            yield path.name, digest


def problem_of(release: Path) -> str | None:
    """What is wrong with the files of a visible release; None if it is whole."""
    try:
        manifest = json.loads((release / "manifest.json").read_bytes())
        for name, described in manifest["files"].items():
            if hashlib.sha256((release / name).read_bytes()).hexdigest() != described["sha256"]:
                return f"has another {name} than its manifest says"
    except (OSError, ValueError, KeyError) as error:
        return f"is not whole: {type(error).__name__}"
    extra = {path.name for path in release.iterdir()} - {*manifest["files"], "manifest.json"}
    return f"has files that its manifest does not name: {sorted(extra)}" if extra else None


def spoken(what: str, ended: Ended, when: str) -> list[Fault]:
    """Whether a command spoke to a steward."""
    if ended.has_traceback:
        return [Fault("traceback", f"{when}: {what} ends with {ended.code}: {ended.last}")]
    if ended.code not in {0, 1, 2}:
        return [Fault("wrong code", f"{when}: {what} ends with {ended.code}: {ended.last}")]
    if ended.code and not ended.err.strip():
        return [Fault("wrong code", f"{when}: {what} ends with {ended.code} and says nothing")]
    return []


def working(when: str, *arguments: object) -> list[Fault]:
    """Run a command that must work."""
    ended = reanon(*arguments)
    faults = spoken(str(arguments[0]), ended, when)
    if ended.code and not ended.has_traceback:
        faults.append(Fault("bricked", f"{when}: {arguments[0]} ends with {ended.code}: {ended.last}"))
    return faults


def recovered(witness: Witness, series: Path, release: str, following: str, when: str) -> list[Fault]:
    """Go on after a fault in a release: every command works, and everything that was visible stays as it was."""
    faults = working(when, "status", series, "--quiet")
    for name in (release, following):
        faults += working(when, "publish", series, "--release", name, "--quiet")
        witness.look(f"{when}, after publishing {name}")
    if not faults:
        missing = {release, following} - witness.seen.keys()
        faults += [Fault("lost", f"{when}: {name} was published with exit 0 and is not visible") for name in missing]
    faults += working(when, "verify", public(witness.folder), "--quiet")
    faults += working(when, "audit", series, "--attack", ATTACK, "--quiet")
    return faults
