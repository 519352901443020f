"""A judge who remembers codes refuses a release whose codes stand for other values."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from reanon_core.model.codebook import FIELD, Codebook
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

C = TypeVar("C")


def coded_memory(
    examine: Callable[[C, Entry, Memory], tuple[Verdict, Memory]],
) -> Callable[[C, Entry, Memory], tuple[Verdict, Memory]]:
    """An `examine` whose memory also holds the codebook of the latest release, and that raises InvalidSnapshot."""

    @wraps(examine)
    def examine_coded(check: C, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        Codebook.restored(memory).require_extended_by(entry.snapshot.schema)
        own = {name: value for name, value in memory.items() if name != FIELD}
        verdict, remembered = examine(check, entry, own)
        return verdict, {**remembered, **Codebook.of(entry.snapshot.schema).packed()} if remembered else remembered

    return examine_coded
