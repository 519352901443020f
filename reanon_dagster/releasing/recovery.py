"""What an interrupted process left: committed releases whose files are not public yet, and files that no one needs."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused
from reanon_dagster.releasing.series_heads import private_heads, public_head, write_heads
from reanon_dagster.storage import published_folder, store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.records import ReleaseRecord

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

STAGING = "staging"
"""The private folder of files that are written and not public yet."""


def is_interrupted(series: "Series", records: Sequence[ReleaseRecord], forgotten: int) -> bool:
    """Whether a process was interrupted before it had published the newest of these releases."""
    staging = series.private_folder / STAGING
    heads = (*private_heads(series), public_head(series))
    if any(place.ahead(records, forgotten) for place in heads):
        return False  # an older store has nothing to finish
    return (staging.is_dir() and any(staging.iterdir())) or any(place.behind(records, forgotten) for place in heads)


def recover(series: "Series") -> tuple[str, ...]:
    """Publish the files of committed releases and delete any others; what cannot be done yet, as sentences.

    Nothing of this needs to succeed now: every later command tries again.
    """
    try:
        with opened(series.private_folder, read_only=False) as connection:
            if not store_reader.exists(connection):
                return tuple(_finish(series, [], 0, {}))
            records = store_reader.releases(connection)
            documents = store_reader.series_documents(connection)
            return tuple(_finish(series, records, len(store_reader.marks(connection)), documents))
    except OSError as error:
        return (f"{series.name}: what an interrupted process left cannot be finished yet: {error.strerror or error}",)
    except Refused as error:
        return (f"{series.name}: what an interrupted process left cannot be finished yet: {error}",)


def _finish(
    series: "Series", records: Sequence[ReleaseRecord], forgotten: int, documents: Mapping[str, bytes]
) -> list[str]:
    committed = {record.release: record for record in records}
    staging, pending = series.private_folder / STAGING, []
    write_heads(private_heads(series), series, records, forgotten)
    for staged in sorted(staging.iterdir()) if staging.is_dir() else ():
        record = committed.get(staged.name)
        if record is None or manifest_digest(staged) != record.manifest_digest:
            _remove(staged)
            continue
        try:
            published_folder.move_to_public(staged, series.published_folder / staged.name)
        except (OSError, Refused) as error:
            pending.append(pending_sentence(series, staged.name, error))
    if not pending and records and (series.published_folder / records[-1].release).is_dir():
        if public_head(series).behind(records, forgotten):
            published_folder.replace_series_documents(series.published_folder, documents)
        write_heads([public_head(series)], series, records, forgotten)
    return pending


def pending_sentence(series: "Series", release: str, error: OSError | Refused) -> str:
    """What became of a release that is committed and could not be published."""
    reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return (
        f"{series.name} {release}: the release passed every check and is recorded, but its files could not be "
        f"published ({reason}); the next command that can will publish them, and nothing else is published before"
    )


def manifest_digest(staged: Path) -> str | None:
    """The sha256 of the manifest of staged files; None if it was not written yet."""
    path = staged / published_folder.MANIFEST
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _remove(staged: Path) -> None:
    if staged.is_dir() and not staged.is_symlink():
        shutil.rmtree(staged)
    else:
        staged.unlink()
