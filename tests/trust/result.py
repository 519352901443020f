"""What a part of the trust run found: counts of each kind of fault, and sentences for the first of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

KINDS = {
    "lost": "a release that was visible, or reported as published, is gone or not in the audit",
    "second version": "a release was visible with two different manifests",
    "half release": "a release was visible without all files of its manifest, or with others",
    "bricked": "a command that must work on a sound series fails after the fault",
    "traceback": "a traceback, a crash or a hang instead of a sentence",
    "wrong code": "the exit code does not say what happened",
    "silent": "a state that is wrong, and the command exits with 0",
    "leak": "a private text on a public surface",
}
"""Every kind of fault that a part can find, and what it means."""
SCRATCH = re.compile(r"[^\s'\"(]*reanon-trust-run-\d+/[^\s/'\")]+")
"""Folders of the run, which say nothing to a reader."""
NOTES = 12
"""So many sentences are kept for each part."""


@dataclass(frozen=True)
class Fault:
    """One thing that must not happen."""

    kind: str
    sentence: str

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind


@dataclass
class Result:
    """One part of the trust run."""

    part: str
    how: str
    """How it was measured."""
    planned: int = 0
    runs: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    notes: list[str] = field(default_factory=list)
    figures: dict[str, float | int | str] = field(default_factory=dict)
    skipped: str | None = None
    seconds: float = 0.0

    def add(self, faults: Iterable[Fault], *, runs: int = 1) -> None:
        """Count a run, or several, by the kinds of faults that it showed; a kind counts once."""
        self.runs += runs
        faults = list(faults)
        for kind in {fault.kind for fault in faults}:
            self.counts[kind] += 1
        for fault in faults:
            note = SCRATCH.sub("…", f"{fault.kind}: {fault.sentence}")
            if len(self.notes) < NOTES and note not in self.notes:
                self.notes.append(note)

    def join(self, other: "Result") -> None:
        """Count what another run of the same part found."""
        self.planned += other.planned
        self.runs += other.runs
        for kind, count in other.counts.items():
            self.counts[kind] += count
        self.notes = [*self.notes, *other.notes][:NOTES]
        self.figures |= other.figures
        self.skipped = self.skipped or other.skipped

    @property
    def found(self) -> int:
        """How many faults were found."""
        return sum(self.counts.values())
