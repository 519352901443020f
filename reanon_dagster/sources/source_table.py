"""The snapshot of a release as an Arrow table of the columns that the schema asks for."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.config import DuckdbSource
from reanon_dagster.series.series import Series
from reanon_dagster.sources.csv_files import read_csv
from reanon_dagster.sources.queries import read_query
from reanon_dagster.sources.snapshot_location import missing, shown_path, source_path

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that are there, and what is wrong with those that are not."""

    data: "pa.Table"
    problems: tuple[Problem, ...]
    digest: str | None
    """The sha256 of the file's bytes; None for a query."""


def read_table(series: Series, release: str, wanted: Sequence[str], optional: frozenset[str] = frozenset()) -> Table:
    """The wanted columns of the release's snapshot; those that are optional need not be there.

    Raises: SnapshotMissing; InvalidSnapshot if it cannot be read at all.
    """
    source = series.config.source
    if isinstance(source, DuckdbSource):
        data = read_query(series, release)
        return _checked(data, data.column_names, wanted, "source.query", None, optional)
    series.calendar.index(release)
    path = source_path(series, release)
    shown = shown_path(series, path)
    content = _bytes(series, release, path)
    digest = hashlib.sha256(content).hexdigest()
    if path.suffix.lower() == ".parquet":
        data, names = _parquet(content, wanted, shown)
    else:
        data, names = read_csv(content, source, wanted, shown)
    return _checked(data, names, wanted, shown, digest, optional)


def _bytes(series: Series, release: str, path: Path) -> bytes:
    """The file's bytes, read once: what is digested is what is parsed."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise missing(series, release) from None
    except OSError as error:
        raise InvalidSnapshot(Problem(shown_path(series, path), "be readable", help=error.strerror)) from None


def _parquet(content: bytes, wanted: Sequence[str], shown: str) -> tuple["pa.Table", list[str]]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(content))
        names = list(file.schema_arrow.names)
        return file.read(columns=[name for name in wanted if name in names]), names
    except (pa.ArrowException, OSError):
        raise InvalidSnapshot(Problem(shown, "be a parquet file that can be read")) from None


def _checked(
    data: "pa.Table",
    names: Sequence[str],
    wanted: Sequence[str],
    shown: str,
    digest: str | None,
    optional: frozenset[str],
) -> Table:
    twice = [name for name in wanted if list(data.column_names).count(name) > 1]
    if twice:
        raise InvalidSnapshot(Problem(shown, "have every column once", ", ".join(twice)))
    absent = [name for name in wanted if name not in data.column_names]
    there = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    problems = [
        Problem(f"column {name}", f"be in {shown}", help=f"its columns are {there}")
        for name in absent
        if name not in optional
    ]
    return Table(data.select([name for name in wanted if name not in absent]), tuple(problems), digest)
