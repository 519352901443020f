"""The head files of a series: beside the store, beside the published folder, and where else the series file says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_dagster.storage.head_file import HEAD, PRIVATE_MODE, PUBLIC_MODE, head_of, read_head, write_head
from reanon_dagster.storage.records import ReleaseRecord

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True)
class HeadPlace:
    """One of the head files of a series."""

    label: str
    """What messages call it."""
    path: Path
    mode: int

    @property
    def is_private(self) -> bool:
        """Whether only the steward can read it."""
        return self.mode == PRIVATE_MODE

    def behind(self, records: Sequence[ReleaseRecord], forgotten: int) -> bool:
        """Whether it names an earlier one of these releases than the newest, or none yet, or fewer forgotten people.

        A head file that is damaged, or names another history, is for a person to look at.
        """
        try:
            head = read_head(self.path)
        except (ValueError, OSError):
            return False
        if head is None:
            return bool(records)
        known = 0 < head.position <= len(records) and records[head.position - 1].manifest_digest == head.manifest
        return known and (head.position < len(records) or (self.is_private and head.forgotten < forgotten))

    def ahead(self, records: Sequence[ReleaseRecord], forgotten: int) -> bool:
        """Whether it knows of more releases or of more forgotten people, so that these are those of an older store."""
        try:
            head = read_head(self.path)
        except (ValueError, OSError):
            return False
        return head is not None and (head.position > len(records) or head.forgotten > forgotten)


def private_heads(series: "Series") -> tuple[HeadPlace, ...]:
    """The head files that are written before a release can be seen."""
    own = HeadPlace(f"{HEAD} in the private folder", series.private_folder / HEAD, PRIVATE_MODE)
    elsewhere = series.head_file
    if elsewhere is None:
        return (own,)
    return own, HeadPlace("the file that private.head names", elsewhere, PRIVATE_MODE)


def public_head(series: "Series") -> HeadPlace:
    """The head file that everyone can read, beside the folder of the releases, written once a release can be seen."""
    path = series.published_folder.with_name(f"{series.name}.{HEAD}")
    return HeadPlace(f"{path.name} in the published folder", path, PUBLIC_MODE)


def write_heads(
    places: Sequence[HeadPlace], series: "Series", records: Sequence[ReleaseRecord], forgotten: int
) -> None:
    """Record the newest of these releases in those head files that are behind.

    Raises: OSError.
    """
    for place in places:
        head = head_of(series.name, records, forgotten if place.is_private else 0)
        if head is not None and place.behind(records, forgotten):
            place.path.parent.mkdir(parents=True, exist_ok=True)
            write_head(place.path, head, mode=place.mode)
