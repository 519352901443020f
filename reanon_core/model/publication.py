"""Private: everything that one release would change, if the gate lets it through."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from reanon_core.model.ledger import Entry
from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace, Witness

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Publication(Generic[S]):
    """A candidate: its public part, its trace, and the state that would follow."""

    snapshot: Snapshot
    """The table that is published: the one given, and perhaps people who left it and may not leave the release yet."""
    release: Release
    auxiliary: Auxiliary
    trace: Trace
    state: S
    withheld: dict[str, int] = field(default_factory=dict)
    """How many rows are withheld, by reason."""
    notes: tuple[str, ...] = ()
    """What the steward must read about this release; no datum of a person."""
    witness: Witness | None = None

    def entry(self) -> Entry:
        """The release with the truth behind it, for the judges."""
        return Entry(self.snapshot, self.release, self.auxiliary, self.trace, self.witness)
