"""What the store keeps about a series, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reanon_core.metrics.value_counts import ValueCounts
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_core.tables.id_forms import NewIds


@dataclass(frozen=True)
class ReleaseRecord:
    """A release that passed the gate."""

    position: int
    """How many releases came before it."""
    release: str
    input_digest: str
    candidate_digest: str
    manifest_digest: str
    people: int
    withheld: int
    seconds: float
    query_error: float | None = None
    """How far off a typical count is; None if that is not known."""
    relations: float | None = None
    """How much of the relations is kept; None if none is large enough to measure."""
    lost: float | None = None
    """The greatest share of the people with one value who are lost; None if the values are not shown."""
    share_changed: float | None = None
    """The greatest relative change of a value's share."""
    withdrawn: datetime | None = None
    """When the release was taken back; None if it was not."""
    committed: datetime | None = None
    """When it passed the gate; None until it is read from the store."""


@dataclass(frozen=True)
class Refusal:
    """A release that was refused, and why."""

    release: str
    reason: str


@dataclass(frozen=True)
class Halt:
    """A halt that stands: the audit of a published release failed, and no person has lifted the halt yet."""

    release: str
    halted: datetime
    reason: str


@dataclass(frozen=True)
class AcceptedDrift:
    """A brake that a person has accepted for a release."""

    brake: str
    """What tripped the brake, without any value of the data."""
    reason: str


@dataclass(frozen=True)
class Withdrawal:
    """A release that was taken back."""

    release: str
    withdrawn: datetime
    because: str
    """Private."""
    tombstone: str
    """The text of the public file that replaces its tables."""
    releases: int
    """How many releases were published then: the manifest of the next one records the withdrawal."""


@dataclass(frozen=True)
class StateSummary:
    """What may be told about a state: it holds everyone ever published."""

    digest: str
    people: int
    """How many people were ever published."""
    size: int
    """Bytes."""


@dataclass(frozen=True, eq=False)
class Commit:
    """Everything that one release changes, written in one transaction."""

    record: ReleaseRecord
    entry: Entry
    verdicts: tuple[Verdict, ...]
    state: Memory
    memories: Mapping[str, Memory]
    """What each check remembers, by its name."""
    manifest: str
    frozen: Mapping[str, str]
    """What the first release freezes, by name: the settings of the series, and a check value of its key."""
    accepted: tuple[AcceptedDrift, ...] = ()
    """The brakes that a person has accepted for this release."""
    documents: Mapping[str, bytes] = field(default_factory=dict)
    """What explains the release, by the name of the file beside its tables."""
    series_documents: Mapping[str, bytes] = field(default_factory=dict)
    """What explains the series, by the name of the file in its folder."""
    values: ValueCounts | None = None
    """What became of the people with each value; None if the release does not show the values."""
    new_ids: NewIds | None = None
    """The people who were in no snapshot before; None if no source wrote their ids."""
