"""The private folder: who can read it, what killed processes left in it, and whether its store is sound.

The store opens, every block can be read, its key is there, and it is not full of deleted rows.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import ReanonError, counted
from reanon_dagster.doctor.remark import Outcome, Remark, mended
from reanon_dagster.engines.scratch import abandoned_folders, sweep
from reanon_dagster.engines.series_engine import scratch_place
from reanon_dagster.releasing.series_heads import private_heads, public_head
from reanon_dagster.storage.compaction import compact
from reanon_dagster.storage.connection import STORE, opened
from reanon_dagster.storage.durable_file import leftover_files
from reanon_dagster.storage.pseudonym_key import KEY_FILE, pseudonym_key
from reanon_dagster.storage.published_folder import way_to
from reanon_dagster.storage.series_store import has_store, read_summary

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

AGE = 600.0
"""Seconds after which a temporary file belongs to no process any more."""


def permissions(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: FBT001  an Examination
    """Only the owner may read the private folder and what is in it."""
    what = "permissions of the private folder"
    if not series.private_folder.is_dir():
        yield Remark(what, Outcome.SOUND, "there is no private folder yet")
        return
    everything = [series.private_folder, *series.private_folder.rglob("*")]
    links = [path for path in everything if path.is_symlink()]
    foreign = [path for path in everything if path.lstat().st_uid != os.geteuid()]
    open_to_others = [path for path in everything if not path.is_symlink() and path.stat().st_mode & 0o077]
    for path in links:
        yield Remark(what, Outcome.WRONG, f"{_named(series, path)} is a link; replace it with what it points to")
    if foreign:
        files = counted(len(foreign), "file belongs", "files belong")
        yield Remark(what, Outcome.WRONG, f"{files} to another user, such as {_named(series, foreign[0])}")
    if open_to_others:
        if repair:
            for path in open_to_others:
                path.chmod(0o700 if path.is_dir() else 0o600)
        files = counted(len(open_to_others), "file was", "files were")
        yield mended(what, f"{files} readable by others, such as {_named(series, open_to_others[0])}", repaired=repair)
    if not (links or foreign or open_to_others):
        yield Remark(what, Outcome.SOUND)


def leftovers(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: FBT001  an Examination
    """Temporary files of processes that were killed."""
    what, now = "temporary files", time.time()
    files = [series.private_folder / STORE, series.private_folder / KEY_FILE]
    files += [place.path for place in (*private_heads(series), public_head(series))]
    files.append(way_to(series.published_folder, "*"))
    found = [path for file in files for path in leftover_files(file.parent, file.name)]
    found = [path for path in found if now - path.lstat().st_mtime > AGE]
    abandoned = abandoned_folders(scratch_place(series))
    if repair:
        sweep(scratch_place(series))
        for path in found:
            path.unlink()
    if found or abandoned:
        left = counted(len(found) + len(abandoned), "file or folder", "files and folders")
        yield mended(what, f"{left} of killed processes", repaired=repair)
    else:
        yield Remark(what, Outcome.SOUND)


def _named(series: "Series", path: Path) -> str:
    return str(path.relative_to(series.private_folder.parent))


FREE = 0.2
"""The share of free blocks above which a store is compacted."""


def blocks(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: ARG001, FBT001  an Examination
    """Every row of every table is read, so that a damaged block is noticed."""
    what = "the private store"
    if not has_store(series.private_folder):
        yield Remark(what, Outcome.SOUND, "there is no store yet")
        return
    try:
        with opened(series.private_folder, read_only=True) as connection:
            tables = connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            rows = 0
            for schema, table in tables:
                # Names of our own tables. The hash reads every column.
                query = f'SELECT count(*), bit_xor(hash(t)) FROM "{schema}"."{table}" AS t'  # noqa: S608
                rows += (connection.execute(query).fetchone() or (0,))[0]
        key = pseudonym_key(series.private_folder, read_summary(series.private_folder).frozen.get("key"))
    except ReanonError as error:
        yield Remark(what, Outcome.WRONG, str(error))
        return
    size = counted(len(key) * 8, "bit", "bits")
    yield Remark(what, Outcome.SOUND, f"{counted(rows, 'row', 'rows')} in {len(tables)} tables; a key of {size}")


def free_blocks(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: FBT001  an Examination
    """Deleted rows stay in free blocks of the file until it is written anew."""
    what = "free blocks of the store"
    if not has_store(series.private_folder):
        return
    try:
        with opened(series.private_folder, read_only=True) as connection:
            found = connection.execute("SELECT free_blocks, total_blocks FROM pragma_database_size()").fetchone()
        free, total = found or (0, 0)
        if free <= FREE * total:
            yield Remark(what, Outcome.SOUND, f"{free} of {total}")
            return
        before, after = compact(series.private_folder) if repair else (0, 0)
    except ReanonError as error:
        yield Remark(what, Outcome.WRONG, str(error))
        return
    shrunk = f"; the file shrank from {before:,} to {after:,} bytes" if repair else ""
    yield mended(what, f"{free} of {total} held deleted rows{shrunk}", repaired=repair)
