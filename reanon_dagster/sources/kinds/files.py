"""Snapshots in files, one or several for each release, each read as the ending of its name says."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import unquote

from pydantic import Field, ValidationInfo, field_validator

from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_dagster.series.field_types import ProblemError, Texts
from reanon_dagster.sources.kinds.columnar_files import parquet_rows
from reanon_dagster.sources.kinds.file_formats import FORMATS, STREAMS, FileKeys, ending_of
from reanon_dagster.sources.kinds.source import (
    PLACEHOLDER,
    SourceBatches,
    SourceTable,
    StreamedFile,
    file_version,
    relative,
)

if TYPE_CHECKING:
    import pyarrow as pa

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""How a folder is called whose rows have no value in the partitioned column."""


@dataclass(frozen=True)
class FoundFile:
    """A file of a snapshot, and the columns that the names of its folders hold."""

    path: Path
    partition: Mapping[str, str | None] = field(default_factory=dict)


SHORTEST_ROW = 16
"""The bytes of a short row of text: an id, three or four values and their separators."""
COMPRESSION = 4
"""How much longer a compressed file is than it looks."""


class FileSource(FileKeys):
    """Snapshots in files, one or several for each release."""

    title: ClassVar[str] = "files"
    note: ClassVar[str] = "[Sources](sources.md) has an example of each format."

    path: Texts = Field(
        min_length=1,
        description="The snapshot's file, with {release} in its name; its ending names the format. Or a pattern such "
        "as releases/{release}/*.csv, a folder of parquet files such as releases/{release}/, or a list of these.",
    )

    @field_validator("path")
    @classmethod
    def _names_files(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return require_paths(value, f"source.{info.field_name}")

    @property
    def format(self) -> str:
        """The format of the first file."""
        return (ending_of(self.path[0]) or ".parquet").split(".")[1]

    def exists(self, folder: Path, release: str) -> bool:
        """Whether each path leads to a file."""
        found = [found_files(folder, path, release) for path in self.path]
        return all(files and all(file.path.is_file() for file in files) for files in found)

    def version(self, folder: Path, release: str) -> str:
        """The time of change and the size of the file; of several files a digest of those, with their names."""
        files = self._files(folder, release)
        try:
            versions = [file_version(file.path) for file in files]
        except FileNotFoundError:
            raise self.missing(folder, release) from None
        if len(files) == 1:
            return versions[0]
        named = [f"{relative(folder, file.path)}:{seen}" for file, seen in zip(files, versions, strict=True)]
        return _sha256("\n".join(named).encode())

    def read(self, folder: Path, release: str, columns: Sequence[str]) -> SourceTable:
        """The columns of the files that exist."""
        label = self.describe(folder, release)
        tables, names, digests, labels = [], dict[str, None](), [], []
        for file in self._files(folder, release):
            shown = relative(folder, file.path)
            content = self._content(folder, release, file)  # read once: what is digested is what is parsed
            table, found = FORMATS[ending_of(file.path.name) or ".parquet"](self, content, columns, shown)
            tables.append(_with_partition(table, file.partition, found, columns, shown))
            names.update(dict.fromkeys((*found, *file.partition)))
            digests.append(_file_digest(file, content))
            labels.append(shown)
        data = tables[0] if len(tables) == 1 else joined(tables, labels)
        return SourceTable(data, list(names), label, _joined_digest(digests))

    def batches(self, folder: Path, release: str, columns: Sequence[str]) -> SourceBatches | None:
        """The columns of the files that exist, batch by batch; None if a file is of a format that is read at once."""
        files = self._files(folder, release)
        labels = [relative(folder, file.path) for file in files]
        streams = [STREAMS.get(ending_of(file.path.name) or ".parquet") for file in files]
        if None in streams:
            return None
        versions = [file_version(file.path) for file in files]
        opened = []
        for file, label, stream in zip(files, labels, streams, strict=True):
            one = None if stream is None else stream(self, file.path, columns, label)
            if one is None:
                return None
            opened.append(one)
        tables = [
            _with_partition(one.schema.empty_table(), file.partition, one.names, columns, label)
            for file, one, label in zip(files, opened, labels, strict=True)
        ]
        schema = tables[0].schema if len(tables) == 1 else _common_schema(tables, labels)
        names = dict.fromkeys(name for file, one in zip(files, opened, strict=True) for name in _names(file, one))

        def batches(most: int) -> Iterator["pa.Table"]:
            for file, one, label, seen in zip(files, opened, labels, versions, strict=True):
                for batch in one.batches(most):
                    table = _with_partition(batch, file.partition, one.names, columns, label)
                    yield table if len(files) == 1 else table.select(schema.names).cast(schema)
                if not _is_version(file.path, seen):  # what is digested is what is parsed
                    raise InvalidSnapshot(Problem(label, "not change while it is read", help="try again"))

        texts = [" ".join([one.digest, *_partition_texts(f.partition)]) for f, one in zip(files, opened, strict=True)]
        rows, size = sum(one.rows for one in opened), sum(one.size for one in opened)
        label = self.describe(folder, release)
        return SourceBatches(schema, list(names), label, _joined_digest(texts), rows, size, batches)

    def describe(self, folder: Path, release: str) -> str:
        """The file's path; several paths as they are written."""
        return ", ".join(relative(folder, folder / path.replace(PLACEHOLDER, release)) for path in self.path)

    def digest(self, folder: Path, release: str) -> str:
        """The sha256 of the file's bytes; of several files the sha256 of their digests, in any order of the files."""
        files = self._files(folder, release)
        return _joined_digest([_file_digest(file, self._content(folder, release, file)) for file in files])

    def touched(self, folder: Path, release: str) -> datetime | None:
        """When the last of the files was written, by the local clock."""
        files = [file.path for path in self.path for file in found_files(folder, path, release) if file.path.is_file()]
        times = [datetime.fromtimestamp(path.stat().st_mtime) for path in files]  # noqa: DTZ006  as the store's times
        return max(times, default=None)

    def rows(self, folder: Path, release: str) -> int | None:
        """How many rows parquet files have by what they say of themselves; other files do not."""
        files = [file.path for path in self.path for file in found_files(folder, path, release)]
        counts = [parquet_rows(path) if path.suffix.lower() == ".parquet" else None for path in files]
        return None if None in counts else sum(count for count in counts if count is not None)

    def most_rows(self, folder: Path, release: str) -> int | None:
        """About how many rows files of this size may have."""
        paths = [file.path for path in self.path for file in found_files(folder, path, release)]
        return sum(_most_rows(path) for path in paths)

    def private_paths(self) -> Mapping[str, str]:
        """The snapshots are private."""
        if len(self.path) == 1:
            return {"path": self.path[0]}
        return {f"path, entry {number}": path for number, path in enumerate(self.path, 1)}

    def _files(self, folder: Path, release: str) -> list[FoundFile]:
        """All files of a release, each once.

        Raises: SnapshotMissing.
        """
        found = [found_files(folder, path, release) for path in self.path]
        if not all(found):
            raise self.missing(folder, release)
        return list({file.path: file for files in found for file in files}.values())

    def _content(self, folder: Path, release: str, file: FoundFile) -> bytes:
        try:
            return file.path.read_bytes()
        except FileNotFoundError:
            raise self.missing(folder, release) from None
        except OSError as error:
            raise InvalidSnapshot(Problem(relative(folder, file.path), "be readable", help=error.strerror)) from None


def require_paths(paths: tuple[str, ...], key: str) -> tuple[str, ...]:
    """The paths, if each names files of a known format for each release.

    Raises: ProblemError for the first that does not.
    """
    for path in paths:
        if PLACEHOLDER not in path:
            raise ProblemError(Problem(key, "contain {release}; such as releases/{release}.csv", path))
        if ending_of(path) is None and (is_pattern(path) or not path.endswith("/")):
            rule = f"end in {', '.join(FORMATS)}, or in / for a folder of parquet files"
            raise ProblemError(Problem(key, rule, path))
    return paths


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file_digest(file: FoundFile, content: bytes) -> str:
    """The sha256 of a file's bytes, and the values that the names of its folders hold."""
    return " ".join([_sha256(content), *_partition_texts(file.partition)])


def _is_version(path: Path, seen: str) -> bool:
    try:
        return file_version(path) == seen
    except OSError:
        return False


def _common_schema(tables: Sequence["pa.Table"], labels: Sequence[str]) -> "pa.Schema":
    """The types that hold the values of all files. Texts that every file encodes stay encoded, which is faster.

    Raises: InvalidSnapshot.
    """
    import pyarrow as pa

    common = joined(tables, labels).schema
    same = [len({table.schema.field(field.name).type for table in tables}) == 1 for field in common]
    return pa.schema(
        [tables[0].schema.field(field.name) if one else field for field, one in zip(common, same, strict=True)]
    )


def _names(file: FoundFile, opened: StreamedFile) -> tuple[str, ...]:
    return (*opened.names, *file.partition)


def _partition_texts(partition: Mapping[str, str | None]) -> Iterator[str]:
    for name, value in sorted(partition.items()):
        yield f"{name!r}={value!r}"


def _joined_digest(digests: Sequence[str]) -> str:
    """The digest of the only file; the sha256 of those of several files, whatever their order."""
    if len(digests) == 1 and " " not in digests[0]:
        return digests[0]
    return _sha256("\n".join(sorted(digests)).encode())


def _with_partition(
    table: "pa.Table", partition: Mapping[str, str | None], names: Sequence[str], columns: Sequence[str], label: str
) -> "pa.Table":
    """The table with the columns that the names of its folders hold, as text."""
    import pyarrow as pa

    both = [name for name in partition if name in names]
    if both:
        rule = "have every column once, in the file or in the names of its folders"
        raise InvalidSnapshot(Problem(label, rule, ", ".join(both)))
    for name in (name for name in partition if name in columns):
        table = table.append_column(name, pa.repeat(pa.scalar(partition[name], pa.string()), table.num_rows))
    return table


def _most_rows(path: Path) -> int:
    try:
        size = path.stat().st_size
    except OSError:  # whoever reads it says what is wrong
        return 0
    return size * (COMPRESSION if path.suffix.lower() in {".gz", ".zst"} else 1) // SHORTEST_ROW


def found_files(folder: Path, path: str, release: str) -> list[FoundFile]:
    """The files of a release that are there, in the order of their names."""
    text = path.replace(PLACEHOLDER, release)
    if is_pattern(path):
        # Unlike a Path, this takes an absolute pattern and leaves the hidden files of writers out.
        found = glob(text.replace("[", "[[]"), root_dir=folder, recursive=True)  # noqa: PTH207
        return [FoundFile(folder / one) for one in sorted(found) if (folder / one).is_file()]
    place = folder / text
    if place.is_dir() and (path.endswith("/") or place.suffix.lower() == ".parquet"):
        return sorted(_parquet_files(place), key=lambda one: one.path)
    return [FoundFile(place)] if place.exists() else []


def is_pattern(path: str) -> bool:
    """Whether a path stands for all files that match it."""
    return "*" in path or "?" in path


def _parquet_files(folder: Path) -> Iterator[FoundFile]:
    """The parquet files of a folder and of its folders; what begins with _ or . is a writer's own."""
    for path in folder.rglob("*.parquet"):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(("_", ".")) for part in parts):
            yield FoundFile(path, dict(_partition(part) for part in parts[:-1] if "=" in part))


def _partition(name: str) -> tuple[str, str | None]:
    """The column and the value that a folder such as sex=f stands for."""
    column, _, value = name.partition("=")
    return unquote(column), None if value == _NULL else unquote(value)


def joined(tables: Sequence["pa.Table"], labels: Sequence[str]) -> "pa.Table":
    """All rows, file after file.

    Raises: InvalidSnapshot if a column is in some files only, or has types that do not go together.
    """
    import pyarrow as pa

    require(list(_different_columns(tables, labels)), InvalidSnapshot)
    names = tables[0].column_names
    types = {name: _common_type([table[name].type for table in tables]) for name in names}
    clashes = [name for name, kind in types.items() if kind is None]
    if clashes:
        shown = [f"{name}: {', '.join(sorted({str(table[name].type) for table in tables}))}" for name in clashes]
        rule = "have columns of the same types"
        raise InvalidSnapshot(Problem(f"the files {labels[0]} to {labels[-1]}", rule, help="; ".join(shown)))
    schema = pa.schema([(name, types[name]) for name in names])
    return pa.concat_tables([table.select(names).cast(schema) for table in tables])


def _different_columns(tables: Sequence["pa.Table"], labels: Sequence[str]) -> list[Problem]:
    """The files whose columns are not those of the first."""
    first = set(tables[0].column_names)
    return [
        Problem(label, f"have the same columns as {labels[0]}", ", ".join(sorted(first ^ set(table.column_names))))
        for table, label in zip(tables[1:], labels[1:], strict=True)
        if set(table.column_names) != first
    ]


def _common_type(types: Sequence["pa.DataType"]) -> "pa.DataType | None":
    """A type that holds the values of all these types exactly; None if there is none."""
    import pyarrow as pa

    plain = {kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types}
    plain = {kind for kind in plain if not pa.types.is_null(kind)} or {pa.null()}
    if len(plain) == 1:
        return plain.pop()
    if all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in plain):
        return pa.int64()
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if all(any(is_text(kind) for is_text in texts) for kind in plain):
        return pa.large_string()
    return None
