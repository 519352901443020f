"""Snapshots as changes: each release has a file of what changed since the release before."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, PrivateAttr, ValidationInfo, field_validator

from reanon_core.model.arrays import Bool
from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.tables.ids import canonical_texts
from reanon_dagster.series.field_types import Text, Texts
from reanon_dagster.sources.kinds.file_formats import FileKeys
from reanon_dagster.sources.kinds.files import FileSource, joined, require_paths
from reanon_dagster.sources.kinds.source import Backwards, SnapshotMissing, SourceTable

if TYPE_CHECKING:
    import pyarrow as pa


class _Step(NamedTuple):
    """A file on the way to a snapshot, and the release that it belongs to."""

    files: FileSource
    release: str
    is_change: bool = False


class ChangesSource(FileKeys):
    """Snapshots that result from files of inserts, updates and deletes."""

    title: ClassVar[str] = "changes"
    note: ClassVar[str] = (
        "An insert or an update brings the whole row, a delete the id alone. All files are read for each release, from "
        "the latest whole table on."
    )

    changes: Texts = Field(
        min_length=1, description="The file of the changes since the release before; formats and patterns as for files."
    )
    path: Texts = Field(
        default=(),
        description="The file of a whole table: that of the first release, and of any later one from which to start "
        "again. Default: the changes of the first release are all inserts.",
    )
    operation: Text = Field(default="operation", description="The column that says insert, update or delete.")
    _backwards: Backwards | None = PrivateAttr(default=None)

    @field_validator("changes", "path")
    @classmethod
    def _names_files(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return require_paths(value, f"source.{info.field_name}")

    @property
    def format(self) -> str:
        """The format of the changes."""
        return self._changes.format

    def in_order(self, backwards: Backwards) -> "ChangesSource":
        """The same source, which knows the releases before each release."""
        ordered = self.model_copy()
        ordered._backwards = backwards  # noqa: SLF001  of this very class
        return ordered

    def exists(self, folder: Path, release: str) -> bool:
        """Whether the whole table and all changes since are there."""
        return all(step.files.exists(folder, step.release) for step in self._steps(folder, release))

    def version(self, folder: Path, release: str) -> str:
        """A digest of the versions of all files."""
        self._require(folder, release)
        versions = [step.files.version(folder, step.release) for step in self._steps(folder, release)]
        return hashlib.sha256("\n".join(versions).encode()).hexdigest()

    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:
        """The whole table with all changes since."""
        self._require(folder, release)
        table: pa.Table | None = None
        names, label, keys = dict[str, None](), "", ChangeKeys(self.id, self.operation)
        for step in self._steps(folder, release):
            wanted = dict.fromkeys((self.id, *columns, *((self.operation,) if step.is_change else ())))
            read = step.files.read(folder, step.release, list(wanted))
            names.update(dict.fromkeys(name for name in read.names if not step.is_change or name != self.operation))
            table = changed_table(table, read.data, keys, read.label, label) if step.is_change else read.data
            label = read.label
        return SourceTable(table, list(names), label)

    def describe(self, folder: Path, release: str) -> str:
        """The last file of the release."""
        last = self._steps(folder, release)[-1]
        return last.files.describe(folder, last.release)

    def missing(self, folder: Path, release: str) -> SnapshotMissing:
        """The error for a snapshot that is not there; it names the first file that is missing."""
        steps = self._steps(folder, release)
        first = next((step for step in steps if not step.files.exists(folder, step.release)), steps[-1])
        what = f"the {'file of changes' if first.is_change else 'snapshot'} of {first.release}"
        rule = f"be there before {'it' if first.release == release else release} can be published"
        return SnapshotMissing(Problem(what, rule, first.files.describe(folder, first.release)))

    def private_paths(self) -> Mapping[str, str]:
        """The whole tables and the changes are private."""
        changes = {f"changes{key.removeprefix('path')}": path for key, path in self._changes.private_paths().items()}
        return {**changes, **(self._tables.private_paths() if self._tables else {})}

    def _require(self, folder: Path, release: str) -> None:
        if not self.exists(folder, release):
            raise self.missing(folder, release)

    def _steps(self, folder: Path, release: str) -> list[_Step]:
        """The files that make a release, in order: the latest whole table, if there is one, and the changes since."""
        if self._backwards is None:
            raise AssertionError("changes need the order of the releases")
        steps: list[_Step] = []
        for one in self._backwards(release):
            if self._tables is not None and self._tables.exists(folder, one):
                return [*steps, _Step(self._tables, one)][::-1]
            steps.append(_Step(self._changes, one, is_change=True))
        if self._tables is not None:  # no whole table is there: the first release waits for its own
            steps[-1] = _Step(self._tables, steps[-1].release)
        return steps[::-1]

    @property
    def _changes(self) -> FileSource:
        return self._files(self.changes)

    @property
    def _tables(self) -> FileSource | None:
        return self._files(self.path) if self.path else None

    def _files(self, path: tuple[str, ...]) -> FileSource:
        shared = {name: getattr(self, name) for name in FileKeys.model_fields}
        return FileSource(path=path, **shared)


INSERT, UPDATE, DELETE = "insert", "update", "delete"


@dataclass(frozen=True)
class ChangeKeys:
    """The columns that say whom a change concerns and what it does."""

    id: str
    operation: str


def changed_table(
    before: "pa.Table | None", changes: "pa.Table", keys: ChangeKeys, label: str, label_before: str
) -> "pa.Table":
    """The table before (None if there is none) with these changes. An insert and an update bring the whole row.

    Raises: InvalidSnapshot with every problem of the changes at once.
    """
    from pyarrow import compute

    missing = [name for name in (keys.id, keys.operation) if name not in changes.column_names]
    if missing:
        raise InvalidSnapshot(Problem(label, "have the columns of a change", f"not {', '.join(missing)}"))
    ids = canonical_texts(keys.id, changes[keys.id]).fill_null("")
    known = None if before is None else canonical_texts(keys.id, before[keys.id]).fill_null("")
    operations = _operations(changes[keys.operation])
    require(list(_problems(ids, known, operations, keys, label)), InvalidSnapshot)
    arriving = changes.drop_columns([keys.operation]).filter(_mask(operations != DELETE))
    if before is None or known is None:
        return arriving
    kept = before.filter(compute.invert(compute.is_in(known, value_set=ids.filter(_mask(operations != INSERT)))))
    return joined([kept, arriving], [label_before, label]) if arriving.num_rows else kept


def _operations(column: "pa.ChunkedArray") -> np.ndarray:
    """What each change does, as text."""
    import pyarrow as pa
    from pyarrow import compute

    texts = compute.utf8_lower(compute.utf8_trim_whitespace(column.cast(pa.string()).fill_null("")))
    return np.asarray(texts.to_numpy(zero_copy_only=False), dtype=object)


def _problems(
    ids: "pa.StringArray", known: "pa.StringArray | None", operations: np.ndarray, keys: ChangeKeys, label: str
) -> Iterator[Problem]:
    """What is wrong with the changes."""
    import pyarrow as pa
    from pyarrow import compute

    empty = _numpy(compute.equal(ids, ""))
    counts = ids.value_counts()
    repeated = counts.field("values").filter(compute.greater(counts.field("counts"), 1))
    again = _numpy(compute.is_in(ids, value_set=repeated)) & ~empty
    there = _numpy(compute.is_in(ids, value_set=pa.array([], pa.string()) if known is None else known))
    wrong = ~np.isin(operations.astype(str), [INSERT, UPDATE, DELETE])
    rules = (
        (wrong, keys.operation, f"be {INSERT}, {UPDATE} or {DELETE}"),
        (empty, keys.id, "identify the person of each change"),
        (again, keys.id, "occur once among the changes of a release"),
        ((operations == INSERT) & there & ~empty, keys.id, "be new where it is inserted"),
        ((operations == UPDATE) & ~there & ~empty, keys.id, "be in the table before where it is updated"),
        ((operations == DELETE) & ~there & ~empty, keys.id, "be in the table before where it is deleted"),
    )
    for mask, column, rule in rules:
        if mask.any():
            yield Problem(f"{label}: {column}", rule, f"not in {named_rows(mask)}")


def _mask(values: Bool) -> "pa.BooleanArray":
    import pyarrow as pa

    return pa.array(values)


def _numpy(values: "pa.BooleanArray") -> Bool:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
