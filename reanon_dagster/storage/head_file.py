"""The head of a series: which release is the newest, in small files outside the store.

The store can be put back from an older backup, or lose its log. The head files do not go back with it, so an older
store is noticed before it publishes a second version of a release.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reanon_dagster.storage.durable_file import replace_file
from reanon_dagster.storage.records import ReleaseRecord

HEAD = "head.json"
PRIVATE_MODE, PUBLIC_MODE = 0o600, 0o644
LARGEST = 1 << 16
"""Bytes of the largest head file that is read."""


@dataclass(frozen=True)
class Head:
    """The newest release of a series. Everything in it is public but the number of forgotten people."""

    series: str
    position: int
    """How many releases there are."""
    release: str
    manifest: str
    """The sha256 of its manifest."""
    forgotten: int = 0
    """How many people are forgotten; in private head files only."""

    def text(self) -> str:
        """The content of a head file."""
        fields = {name: value for name, value in self.__dict__.items() if name != "forgotten" or value}
        return json.dumps(fields, indent=2) + "\n"


def head_of(series: str, records: Sequence[ReleaseRecord], forgotten: int = 0) -> Head | None:
    """The head that the records have; None before the first release."""
    if not records:
        return None
    return Head(series, len(records), records[-1].release, records[-1].manifest_digest, forgotten)


def read_head(path: Path) -> Head | None:
    """The head that a file records; None if there is no such file.

    Raises: ValueError if the file is not a head file; OSError if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            fields = json.loads(file.read(LARGEST).decode("utf-8"))
    except FileNotFoundError:
        return None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    kinds = {"series": str, "position": int, "release": str, "manifest": str}
    if not isinstance(fields, dict) or any(type(fields.get(name)) is not kind for name, kind in kinds.items()):
        raise ValueError("not a head file")
    forgotten = fields.get("forgotten", 0)
    return Head(**{name: fields[name] for name in kinds}, forgotten=forgotten if type(forgotten) is int else 0)


def write_head(path: Path, head: Head, *, mode: int) -> None:
    """Record the head, flushed to the disk.

    Raises: OSError; the earlier head is then still there.
    """
    replace_file(path, head.text().encode(), mode=mode)
