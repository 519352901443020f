"""Whether a release fits into memory, is computed in parts, or is refused with a number before it is computed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_core.publishing import PartitionedTechnique
from reanon_core.threads import cores
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
TASK_ROW = 300
"""The bytes that a row takes while its task runs."""
FEWEST_ROWS, MOST_ROWS = 1 << 14, 1 << 20
"""The rows of a task, however little or much memory there is."""
LEAST_IN_PARTS, ROW_IN_PARTS = 100_000_000, 25
"""What a release in parts takes at least above the program itself, and for each person: what is held of groups."""


@dataclass(frozen=True)
class PartSizes:
    """How a release that is computed in parts divides its memory."""

    chunk_rows: int
    """The rows of a task."""
    judges: int
    """The bytes that the judges may take."""


def memory_need(series: "Series", people: int) -> int | None:
    """About how many bytes a release of so many people takes; None if the technique was not measured."""
    row = series.technique.declaration.row_memory
    if row is None:
        return None
    more = max(0, len(series.schema.quasi_identifiers) - MEASURED_COLUMNS)
    return FIXED + people * (row + COLUMN * more)


def part_sizes(series: "Series", people: int | None, guess: int | None = None) -> PartSizes | None:
    """How a release of so many people is computed in parts; None if it is computed in memory.

    With Spark every release is computed in parts. If the number of people is not known, a guess decides; without one, a
    series with a limit goes the safe way.

    Raises: Refused if the release neither fits into memory nor can be computed in parts.
    """
    spark, reason = series.config.engine.spark, memory_alone(series)
    if spark is not None:
        if reason:
            raise Refused(f"engine: spark computes releases in parts, and {reason}; use engine: embedded")
        return _sizes(bytes_of(spark.memory_limit), spark.tasks_at_a_time(cores()))
    size, (limit, whose) = series.config.engine.embedded.memory_limit, memory_limit(series)
    sizes = _sizes(limit, series.config.threads or cores())
    if people is None:
        unknown = size is not None if guess is None else not _fits(series, guess)
        return sizes if unknown and not reason else None
    if _fits(series, people):
        return None
    need = memory_need(series, people) or 0
    if not reason:
        need = LEAST_IN_PARTS + people * _row_in_parts(series)
        if need <= limit:
            return sizes
    advice = "publish fewer people or columns, or use a machine with more memory"
    if size is not None:
        advice += ", and raise engine.embedded.memory_limit"
    raise Refused(
        f"a release of {people:,} people with {series.technique.name} takes about {shown_bytes(need)} of memory, "
        f"more than the {shown_bytes(limit)} that {whose}{f', and {reason}' if reason else ''}; {advice}"
    )


def _fits(series: "Series", people: int) -> bool:
    """Whether a release of so many people can be computed in memory, as far as that is known."""
    need = memory_need(series, people)
    if need is None or (series.config.engine.embedded.memory_limit is None and need <= SMALL):
        return True
    return need <= memory_limit(series)[0]


def require_memory(series: "Series", people: int | None) -> None:
    """Refuse a release that must be computed in memory, and takes more than there is.

    Raises: Refused.
    """
    if series.config.engine.spark is not None or people is None:
        return
    if part_sizes(series, people) is not None:
        need, (limit, whose) = memory_need(series, people) or 0, memory_limit(series)
        raise Refused(
            f"this takes about {shown_bytes(need)} of memory for {people:,} people, more than the {shown_bytes(limit)} "
            f"that {whose}; only `reanon publish`, `backfill` and `validate` work in parts"
        )


def store_memory(series: "Series") -> int | None:
    """How many bytes DuckDB may take while a release is stored: half of the series' limit; None without one."""
    engine = series.config.engine
    size = engine.embedded.memory_limit if engine.spark is None else engine.spark.memory_limit
    return None if size is None else bytes_of(size) // 2


def memory_limit(series: "Series") -> tuple[int, str]:
    """The bytes that a release or an audit may take, and who says so."""
    size = series.config.engine.embedded.memory_limit
    return (available_memory(), "the machine has left") if size is None else (bytes_of(size), "it may take")


def memory_alone(series: "Series") -> str:
    """Why a release of the series cannot be computed in parts, as a part of a sentence; empty if it can."""
    technique = series.technique
    if not isinstance(technique, PartitionedTechnique):
        form = "" if series.form == "boxes" else f" in the form {series.form}"
        return f"{technique.name}{form} can be computed in memory only"
    options = technique.in_memory_only()
    return f"{options} can be computed in memory only" if options else ""


def _row_in_parts(series: "Series") -> int:
    """The bytes that a person takes in memory although the release is computed in parts, if everyone is new."""
    technique = series.technique
    if not isinstance(technique, PartitionedTechnique):
        return ROW_IN_PARTS
    return max(ROW_IN_PARTS, technique.new_row_memory(len(series.schema.quasi_identifiers)))


def _sizes(limit: int, at_a_time: int) -> PartSizes:
    free = max(0, limit - LEAST_IN_PARTS) // 2
    return PartSizes(min(MOST_ROWS, max(FEWEST_ROWS, free // at_a_time // TASK_ROW)), max(LEAST_IN_PARTS // 2, free))
