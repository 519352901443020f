"""What every kind of source does: find, date, read and describe the snapshot of a release; and what several share."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.field_types import Part, Text

if TYPE_CHECKING:
    import pyarrow as pa

PLACEHOLDER = "{release}"
"""Where the release's name goes in a path or a query."""
Backwards: TypeAlias = Callable[[str], Iterator[str]]
"""From a release to the first one of the series."""


class SnapshotMissing(InvalidSnapshot):
    """The snapshot of a release is not there (yet)."""


@dataclass(frozen=True, eq=False)
class SourceTable:
    """What a source returns for a release."""

    data: "pa.Table"
    """At least those of the requested columns that exist."""
    names: Sequence[str]
    """The names of all columns, for error messages."""
    label: str
    """What error messages call the table: a path, or a key of series.yaml."""
    digest: str | None = None
    """The sha256 of the bytes that were read; None if there are none."""


@dataclass(frozen=True, eq=False)
class SourceBatches:
    """What a source returns for a release whose rows are read batch by batch."""

    schema: "pa.Schema"
    """Those of the requested columns that exist."""
    names: Sequence[str]
    """The names of all columns, for error messages."""
    label: str
    """What error messages call the table."""
    digest: str
    """The sha256 of the bytes, as that of the same table read at once."""
    rows: int
    """The table has at most so many rows."""
    size: int
    """About how many bytes the table takes if it is read at once."""
    batches: "Callable[[int], Iterator[pa.Table]]"
    """From a number of rows to batches of at most so many, in order; it may raise InvalidSnapshot."""


class IdMap(Part):
    """Ids that were renumbered."""

    path: Text = Field(description="A csv file with the columns old and new, an id of the source on each side.")
    since: Text = Field(description="The first release whose snapshot has the new ids.")


class Source(Part, ABC):
    """The key `source` of series.yaml. Each kind adds its own keys as fields.

    Paths in the fields are relative to the folder of series.yaml, which every method is given. Callers pass only
    releases of the series' calendar, so a release's name is safe in a path and in a query.
    """

    title: ClassVar[str]
    """What the reference page calls this kind."""
    note: ClassVar[str] = ""
    """What the reference page adds."""

    id: Text = Field(description="The column that identifies the person of each row. It is never published.")
    id_map: Annotated[tuple[IdMap, ...], BeforeValidator(lambda one: [one] if isinstance(one, Mapping) else one)] = (
        Field(
            default=(),
            description="Private files of renumbered ids, each with the first release that has the new ones: "
            "`{path: ids.csv, since: 2024-Q3}` (docs/sources.md#renumbered-ids).",
        )
    )

    @property
    def format(self) -> str:
        """What the snapshots are kept in, as Dagster shows it."""
        return "table"

    def in_order(self, backwards: Backwards) -> "Source":  # noqa: ARG002
        """The source for the series whose releases have this order; a kind that needs no order returns itself."""
        return self

    @abstractmethod
    def exists(self, folder: Path, release: str) -> bool:
        """Whether the release's snapshot is there.

        Raises: InvalidSnapshot if the source itself is wrong.
        """

    @abstractmethod
    def version(self, folder: Path, release: str) -> str:
        """A text that changes when the snapshot may have changed. It is cheap: the sensor compares it every minute.

        Raises: SnapshotMissing.
        """

    @abstractmethod
    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:
        """The snapshot with at least those of the columns that exist.

        Raises: SnapshotMissing; InvalidSnapshot if it cannot be read at all.
        """

    @abstractmethod
    def describe(self, folder: Path, release: str) -> str:
        """Where the snapshot is, as the steward knows it."""

    def digest(self, folder: Path, release: str) -> str | None:  # noqa: ARG002
        """The sha256 of the snapshot's bytes; None if the snapshot has no bytes, and its rows are digested instead.

        Raises: SnapshotMissing; InvalidSnapshot.
        """
        return None

    def touched(self, folder: Path, release: str) -> datetime | None:  # noqa: ARG002
        """When the files of the snapshot were last written; None if it has none, or they are not there."""
        return None

    def rows(self, folder: Path, release: str) -> int | None:  # noqa: ARG002
        """How many rows the snapshot has, if that is known without reading them; None otherwise."""
        return None

    def most_rows(self, folder: Path, release: str) -> int | None:
        """About how many rows the snapshot may have, guessed without reading it; None if nothing tells.

        It decides whether a release is computed in memory, and changes nothing else.
        """
        return self.rows(folder, release)

    def batches(self, folder: Path, release: str, columns: Sequence[str]) -> SourceBatches | None:  # noqa: ARG002
        """The snapshot as `read` returns it, batch by batch; None if it can be read at once only.

        Raises: SnapshotMissing, InvalidSnapshot or OSError, and then `read` says what is wrong.
        """
        return None

    def private_paths(self) -> Mapping[str, str]:
        """The paths that hold private data, by the key that names them: they must lie outside the public folder."""
        return {}

    def missing(self, folder: Path, release: str) -> SnapshotMissing:
        """The error for a snapshot that is not there."""
        rule = "be there before it can be published"
        return SnapshotMissing(Problem(f"the snapshot of {release}", rule, self.describe(folder, release)))


def relative(folder: Path, path: Path) -> str:
    """A path as the steward knows it: relative to the series' folder where it lies inside."""
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def file_version(path: Path) -> str:
    """The time of a file's last change, and its size.

    Raises: FileNotFoundError.
    """
    seen = path.stat()
    return f"{seen.st_mtime_ns}:{seen.st_size}"


@dataclass(frozen=True, eq=False)
class StreamedFile:
    """What is known of a file before its rows are read, and how to read them."""

    schema: "pa.Schema"
    """Those of the requested columns that exist."""
    names: Sequence[str]
    """The names of all columns."""
    digest: str
    """The sha256 of the file's bytes."""
    rows: int
    """The file has at most so many rows."""
    size: int
    """The bytes of the file, without compression of the whole."""
    batches: "Callable[[int], Iterator[pa.Table]]"
    """From a number of rows to batches of at most so many, in order."""


def file_digest(path: Path) -> str:
    """The sha256 of a file's bytes, read in blocks.

    Raises: OSError.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


NOTE = "The release's name replaces `{release}` in the query as it is: write the quotes yourself, `'{release}'`."


def _with_placeholder(value: str) -> str:
    if PLACEHOLDER not in value:
        raise ValueError("contain {release}; such as select * from visits where quarter = '{release}'")
    return value.rstrip().rstrip(";")


Query: TypeAlias = Annotated[Text, AfterValidator(_with_placeholder)]
"""The text of a query with a place for the release's name, without a semicolon at its end."""


def extra_package(name: str, extra: str, what: str) -> Any:
    """The package of this name.

    Raises: InvalidSnapshot if it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # the package is there, and what it needs is not
        rule = f"be read with the package {name}, which is not installed"
        raise InvalidSnapshot(Problem(what, rule, help=f"reading it needs reanon[{extra}]")) from None
