"""A judge who remembers codes refuses a release whose codes stand for other values."""

from collections.abc import Callable
from functools import wraps
from typing import Protocol, TypeVar

from reanon_core.model.codebook import FIELD, Codebook
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory


class Judged(Protocol):
    """A release with the table that it shows: an entry of the ledger, or its tables."""

    @property
    def snapshot(self) -> Snapshot:
        """The table."""
        ...


C = TypeVar("C")
J = TypeVar("J", bound=Judged)


def coded_memory(
    examine: Callable[[C, J, Memory], tuple[Verdict, Memory]],
) -> Callable[[C, J, Memory], tuple[Verdict, Memory]]:
    """A judgement whose memory also holds the codebook of the latest release, and that raises InvalidSnapshot."""

    @wraps(examine)
    def examine_coded(check: C, judged: J, memory: Memory) -> tuple[Verdict, Memory]:
        Codebook.restored(memory).require_extended_by(judged.snapshot.schema)
        own = {name: value for name, value in memory.items() if name != FIELD}
        verdict, remembered = examine(check, judged, own)
        return verdict, {**remembered, **Codebook.of(judged.snapshot.schema).packed()} if remembered else remembered

    return examine_coded
