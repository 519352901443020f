"""What the store says about a series."""

from collections.abc import Mapping
from dataclasses import dataclass

from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


@dataclass(frozen=True)
class Recorded:
    """A release that passed the gate."""

    position: int
    release: str
    input_digest: str
    candidate_digest: str
    manifest_digest: str
    people: int
    withheld: int
    seconds: float


@dataclass(frozen=True)
class Refusal:
    """A release that was tried and refused, and the sentence that said why."""

    release: str
    reason: str


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a series stands: what the next release builds on."""

    latest: Recorded | None
    values: tuple[str, ...]
    """The sensitive values known so far."""
    state: Memory | None
    memories: Mapping[str, Memory]
    """What each judge remembers, by the check's name."""
    other_values: tuple[tuple[str, ...], ...] = ()
    """The values of each non-identifier known so far."""

    @property
    def position(self) -> int:
        """The position of the next release."""
        return 0 if self.latest is None else self.latest.position + 1


@dataclass(frozen=True, eq=False)
class Commit:
    """Everything that one release changes, to be written in one transaction."""

    record: Recorded
    entry: Entry
    verdicts: tuple[Verdict, ...]
    state: Memory
    memories: Mapping[str, Memory]
    manifest: str
    frozen: Mapping[str, str]
    """What the first release freezes, by name: the settings of the series, and a check value of its key."""
