"""How large a snapshot may become in memory, so that a compressed file is refused before it fills the machine."""

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.memory_size import available_memory, bytes_of, shown_bytes


def most_bytes(size: str | None) -> int:
    """The limit in bytes; without a size, half of the memory that the machine has left."""
    return available_memory() // 2 if size is None else bytes_of(size)


def require_size(seen: int, limit: int, label: str) -> None:
    """Refuse what needs more memory than the limit.

    Raises: InvalidSnapshot.
    """
    if seen > limit:
        rule = f"need at most {shown_bytes(limit)} in memory"
        advice = "set source.max_size if this is no mistake and the machine has more"
        raise InvalidSnapshot(Problem(label, rule, help=advice))
