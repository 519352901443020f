"""The files that a path of series.yaml names: one file, all that match a pattern, or a folder of parquet files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from urllib.parse import unquote

from reanon_dagster.sources.kinds.source import PLACEHOLDER

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""How a folder is called whose rows have no value in the partitioned column."""


@dataclass(frozen=True)
class FoundFile:
    """A file of a snapshot, and the columns that the names of its folders hold."""

    path: Path
    partition: Mapping[str, str | None] = field(default_factory=dict)


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
