"""Private: history, snapshots and traces together, which is what the judge has."""

from dataclasses import dataclass

from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace


@dataclass(frozen=True, eq=False)
class Entry:
    """One release with the truth behind it."""

    snapshot: Snapshot
    release: Release
    auxiliary: Auxiliary
    trace: Trace

    def presence(self) -> Presence:
        """What the strongest adversary of [XT07] knows about this release: who is in it, and their values.

        Paper: [XT07] Definition 6. A withheld person is not in the release. Of [RPB12], Section 4.1, comes that the
        adversary may know the respondents of each group.
        """
        published = self.snapshot.persons.searchsorted(self.trace.persons)
        group = self.release.group[self.trace.rows]
        return Presence(self.trace.persons, self.snapshot.qi[:, published], group)


@dataclass(frozen=True, eq=False)
class Ledger:
    """The releases in order, with the truth behind each: the judge's view."""

    entries: tuple[Entry, ...]

    def history(self) -> History:
        """The public half."""
        if not self.entries:
            raise ValueError("a ledger without entries has no schema")
        return History(
            self.entries[-1].snapshot.schema,
            tuple(Published(entry.release, entry.auxiliary) for entry in self.entries),
        )

    def knowledge(self) -> Knowledge:
        """What the strongest adversary of [XT07] knows: identities, quasi-identifiers, lifespans."""
        return Knowledge(tuple(entry.presence() for entry in self.entries))
