"""A release that was computed and judged, and changes nothing until the gate lets it through."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reanon_core.model.ledger import Entry
from reanon_core.model.packing import Packable, pack
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True, eq=False)
class Candidate:
    """What the gate decides about."""

    release: str
    position: int
    input_digest: str
    key_check: str
    """The check value of the key that the people's pseudonyms were made with."""
    entry: Entry
    state: Memory
    memories: Mapping[str, Memory]
    """What each judge will remember, by the check's name."""
    verdicts: tuple[Verdict, ...]
    judged: str
    """The digest of the entry that the verdicts speak of."""
    people: int
    """How many people the source has."""
    withheld: Mapping[str, int]
    notes: tuple[str, ...]
    """What the steward must read about this release."""
    seconds: float

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The required verdicts that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.required and not verdict.holds)


def digest(entry: Entry) -> str:
    """The sha256 of a release with everything the verdicts speak of."""
    return hashlib.sha256(pack(arrays(entry))).hexdigest()


def arrays(entry: Entry) -> dict[str, Packable]:
    """An entry as named arrays."""
    snapshot, release = entry.snapshot, entry.release
    more: dict[str, Packable] = {}
    if snapshot.schema.other:
        more |= {"other": snapshot.other, "published_other": release.other}
    if not release.grouped:
        more |= {"columns": json.dumps(release.columns)}
    if entry.witness is not None:
        more |= {"witness": entry.witness.rows}
    return more | {
        "persons": snapshot.persons,
        "qi": snapshot.qi,
        "sensitive": snapshot.sensitive,
        "group": release.group,
        "published": release.sensitive,
        "low": release.boxes.low,
        "high": release.boxes.high,
        "missing": release.boxes.missing,
        "fake_group": entry.auxiliary.group,
        "fake_count": entry.auxiliary.count,
        "traced": entry.trace.persons,
        "rows": entry.trace.rows,
        "asked": snapshot.selection,
        "origin": np.zeros(snapshot.size, np.int8) if snapshot.origin is None else snapshot.origin,
    }
