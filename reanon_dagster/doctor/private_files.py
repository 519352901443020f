"""The private folder: who can read it, and what killed processes left in it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import counted
from reanon_dagster.doctor.remark import Outcome, Remark, mended
from reanon_dagster.engines.scratch import abandoned_folders, sweep
from reanon_dagster.engines.series_engine import scratch_place
from reanon_dagster.releasing.series_heads import private_heads, public_head
from reanon_dagster.storage.connection import STORE
from reanon_dagster.storage.durable_file import leftover_files
from reanon_dagster.storage.pseudonym_key import KEY_FILE
from reanon_dagster.storage.published_folder import way_to

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
