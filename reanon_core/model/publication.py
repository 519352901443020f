"""Private: everything that one release changes if the gate accepts it."""

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
    """What the steward must read about this release, without personal data."""
    witness: Witness | None = None
    record_pool: Snapshot | None = None
    """The rows that were published from, where they are not the snapshot's alone."""

    def entry(self, snapshot: Snapshot) -> Entry:
        """The release with the truth behind it: the snapshot, and the rows that the technique added to it.

        Raises: Refused if the technique published from another table than the snapshot, which checks take as the truth.
        """
        if self.record_pool is not None and not self.record_pool.in_table().same_rows(snapshot):
            raise Refused("the release was not made from its snapshot; this is a bug of the technique")
        return Entry(self.record_pool or snapshot, self.release, self.auxiliary, self.trace, self.witness)
