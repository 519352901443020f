"""Private: everything that one release would change, if the gate lets it through."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from reanon_core.model.errors import Refused
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace, Witness

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Publication(Generic[S]):
    """A candidate: its public part, its trace, and the state that would follow."""

    release: Release
    auxiliary: Auxiliary
    trace: Trace
    state: S
    withheld: dict[str, int] = field(default_factory=dict)
    """How many rows are withheld, by reason."""
    notes: tuple[str, ...] = ()
    """What the steward must read about this release; no datum of a person."""
    witness: Witness | None = None

    drawn: Snapshot | None = None
    """The rows that the release speaks of, where they are not the snapshot's alone."""

    def entry(self, snapshot: Snapshot) -> Entry:
        """The release with the truth behind it: the snapshot, and the rows that were drawn beside it.

        Raises: Refused if the technique drew on another table than the snapshot. The judge reads the truth from here.
        """
        if self.drawn is not None and not self.drawn.in_table().same_rows(snapshot):
            raise Refused("the release speaks of another table than its snapshot; this is an error of the technique")
        return Entry(self.drawn or snapshot, self.release, self.auxiliary, self.trace, self.witness)
