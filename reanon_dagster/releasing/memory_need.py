"""Whether a release fits into memory: said with a number before it is computed, and not by a process that is killed."""

from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_dagster.series.memory_size import available_memory, bytes_of, shown_bytes

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

FIXED = 300_000_000
"""What Python, Arrow, DuckDB and the kernels take for a table of any size."""
SMALL = 2 * FIXED
"""What takes no more than this is refused only by a limit of the series: the machine may be busy for a moment."""
MEASURED_COLUMNS = 4
"""The quasi-identifiers of the table that techniques were measured with."""
COLUMN = 16
"""The bytes that each further quasi-identifier adds to a person: codes, and the ends of boxes."""


def memory_need(series: "Series", people: int) -> int | None:
    """About how many bytes a release of so many people takes; None if the technique was not measured."""
    row = series.technique.declaration.row_memory
    if row is None:
        return None
    more = max(0, len(series.schema.quasi_identifiers) - MEASURED_COLUMNS)
    return FIXED + people * (row + COLUMN * more)


def require_memory(series: "Series", people: int | None) -> None:
    """Refuse a release that takes more memory than its engine may use, or than the machine has left.

    Raises: Refused.
    """
    need = None if people is None else memory_need(series, people)
    size = series.config.engine.embedded.memory_limit
    if need is None or (size is None and need <= SMALL):
        return
    limit, whose = (available_memory(), "the machine has left") if size is None else (bytes_of(size), "it may take")
    if need > limit:
        advice = "publish fewer people or columns, or use a machine with more memory"
        if size is not None:
            advice += ", and raise engine.embedded.memory_limit"
        raise Refused(
            f"a release of {people:,} people with {series.technique.name} takes about {shown_bytes(need)} of memory, "
            f"more than the {shown_bytes(limit)} that {whose}; {advice}"
        )
