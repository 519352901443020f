"""A candidate: a release that was computed and judged, and changes nothing until the gate accepts it."""

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from reanon_core.model.ledger import Entry
from reanon_core.model.packing import packed_digest
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_core.tables.id_forms import NewIds
from reanon_dagster.releasing.query_error import Utility
from reanon_dagster.storage.entry_codec import arrays_of
from reanon_dagster.storage.records import AcceptedDrift


@dataclass(frozen=True, eq=False)
class Candidate:
    """What the gate decides about."""

    release: str
    position: int
    input_digest: str
    key_check: str
    """The check value of the key that the pseudonyms were made with."""
    entry: Entry
    state: Memory
    memories: Mapping[str, Memory]
    """What each check will remember, by its name."""
    verdicts: tuple[Verdict, ...]
    judged: str
    """The digest of the entry that the verdicts are about."""
    people: int
    """How many people the source has."""
    withheld: Mapping[str, int]
    """How many people are withheld, by reason."""
    notes: tuple[str, ...]
    """What the steward must read about this release."""
    doubts: tuple[str, ...]
    """The steward's expectations that fail and only warn; also among the notes."""
    seconds: float
    forgotten: int
    """How many people were forgotten when it was computed: one who is forgotten later may be in it."""
    utility: Utility
    """What the release is worth to its readers; empty if a required verdict fails."""
    accepted: tuple[AcceptedDrift, ...] = ()
    """The brakes that a person has accepted."""
    new_ids: NewIds | None = None
    """The people who were in no snapshot before; None if no source wrote their ids."""


_DIGESTS: WeakKeyDictionary[Entry, str] = WeakKeyDictionary()


def digest(entry: Entry) -> str:
    """The sha256 of a release with everything the verdicts are about.

    Computed once for each entry, because its arrays are read-only.
    """
    if entry not in _DIGESTS:
        _DIGESTS[entry] = packed_digest(arrays_of(entry))
    return _DIGESTS[entry]
