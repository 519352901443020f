"""Puts a backup in the place of a private folder, unless it is older than what is published.

What is published is known from everything that is left on the disk. The two folders are exchanged in one step, so that
a kill leaves either the old or the new one in place.
"""

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, ReanonError, Refused, counted
from reanon_dagster.backup.archive import Content
from reanon_dagster.backup.series_backup import BackupSummary, examine_backup
from reanon_dagster.releasing.series_heads import private_heads, public_head
from reanon_dagster.storage import encryption, store_reader
from reanon_dagster.storage.connection import BUSY, STORE, exclusive, opened_with, require_version
from reanon_dagster.storage.database import hold
from reanon_dagster.storage.durable_file import flush, new_private_file
from reanon_dagster.storage.head_file import Head, read_head
from reanon_dagster.storage.pseudonym_key import KEY_FILE, private_folder
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import has_store
from reanon_dagster.verification.published_chain import read_chain

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    summary: BackupSummary
    replaced: Path | None
    """Where the former private folder is now; None if there was none."""


@dataclass(frozen=True)
class PresentStore:
    """What the store that is there now says."""

    records: Sequence[ReleaseRecord]
    frozen: Mapping[str, str]
    forgotten: int = 0
    """How many people are forgotten."""


def verify_backup(series: "Series", path: Path, passphrase: str) -> BackupSummary:
    """Read a whole backup, and compare it with what is known to be published. Nothing is written.

    Raises: Refused if it could not be restored.
    """
    content, summary = examine_backup(path, passphrase)
    with _present_store(series.private_folder, content) as present:
        _require_restorable(series, content, present)
    return summary


def restore_backup(series: "Series", path: Path, passphrase: str) -> Restored:
    """Replace the private folder by the one in the backup. The former folder is renamed, never deleted.

    Raises: Refused if the backup was changed, is of another series, or is older than what is published.
    """
    target = series.private_folder
    parent = private_folder(target.parent)
    arriving = private_folder(parent / f".{series.name}.arriving-{secrets.token_hex(4)}")
    with ExitStack() as stack:
        try:
            content, summary = examine_backup(path, passphrase, arriving)
            _require_complete(arriving / STORE, content)
            _encrypt_as_declared(arriving, target, content)
            for folder in (*(one for one in arriving.rglob("*") if one.is_dir()), arriving):
                flush(folder)
            # Until the end no process can write to the present store or open it.
            present = stack.enter_context(_present_store(target, content))
            _require_restorable(series, content, present)
            if target.exists():
                stack.enter_context(exclusive(target))
        except BaseException:
            shutil.rmtree(arriving, ignore_errors=True)
            raise
        return Restored(summary, _put_in_place(arriving, target))


def interrupted_restores(series: "Series") -> list[Path]:
    """Folders that killed restores left beside the private folder."""
    return sorted(series.private_folder.parent.glob(f".{series.name}.arriving-*"))


def _put_in_place(arriving: Path, target: Path) -> Path | None:
    """Give the arriving folder its name, and return the new name of the former one."""
    if not target.exists():
        arriving.rename(target)
        flush(target.parent)
        return None
    exchange(arriving, target)  # from here on, `arriving` is the former folder
    replaced = _free_name(target)
    arriving.rename(replaced)
    flush(target.parent)
    return replaced


@contextmanager
def _present_store(folder: Path, content: Content) -> Iterator[PresentStore | None]:
    """The store that is there now, held open; None if there is none or it cannot be read.

    Before a restore that turns encryption on, off or to another key, it opens with the key of the backup.

    Raises: Refused if another process is working on it.
    """
    with ExitStack() as stack:
        present = None
        if has_store(folder):
            for key in dict.fromkeys((_declared_key(folder), content.inventory.store_key, None)):
                present = _opened_present(stack, key, folder)
                if present is not None:
                    break
        yield present


def _declared_key(folder: Path) -> str | None:
    try:
        return encryption.store_key(folder)
    except InvalidParameter:
        return None


def _opened_present(stack: ExitStack, key: str | None, folder: Path) -> PresentStore | None:
    import duckdb

    try:
        connection = stack.enter_context(opened_with(key, folder, read_only=True))
        if not store_reader.exists(connection):
            return PresentStore((), {})
        forgotten = len(store_reader.marks(connection))
        return PresentStore(store_reader.releases(connection), store_reader.frozen(connection), forgotten)
    except ReanonError as error:
        if str(error) == BUSY:
            raise
        return None
    except duckdb.Error:
        return None


def _require_restorable(series: "Series", content: Content, present: PresentStore | None) -> None:
    """Refuse a backup of another series, and one that is older than what is known to be published.

    Raises: Refused.
    """
    inventory = content.inventory
    if inventory.series != series.name:
        raise Refused(f"the backup is of the series {inventory.series}, and not of {series.name}")
    if present is not None and present.frozen and present.frozen != inventory.frozen:
        raise Refused(
            f"the backup is of another series that is called {series.name}, too: its pseudonym key or its frozen "
            f"settings differ from those of the present store"
        )
    records = None if present is None else present.records
    sentence = newer_than(inventory.releases, known_releases(series, records)) or undone_decision(
        series, 0 if present is None else present.forgotten, inventory.forgotten, inventory.withdrawn
    )
    if sentence is not None:
        raise Refused(sentence)


def _require_complete(store: Path, content: Content) -> None:
    """Refuse a backup whose store does not hold what its inventory says.

    Raises: Refused.
    """
    import duckdb

    try:
        held = hold(store, content.inventory.store_key, read_only=True)
        if held is None:
            raise Refused(BUSY)
        with held.cursor() as connection:
            require_version(connection)
            found = tuple((one.release, one.manifest_digest) for one in store_reader.releases(connection))
            frozen = store_reader.frozen(connection)
    except duckdb.Error:
        raise Refused("the store in the backup cannot be opened with this version of reanon") from None
    if found != content.inventory.releases or frozen != content.inventory.frozen:
        raise Refused("the store in the backup does not hold what its inventory says")


def _encrypt_as_declared(arriving: Path, target: Path, content: Content) -> None:
    """Write the pseudonym key, and the store again if it is not under the key that series.yaml declares."""
    store, key = arriving / STORE, encryption.store_key(target)
    if key != content.inventory.store_key:
        rewritten = store.with_name(f"{STORE}.rewritten")
        encryption.copy_store(store, content.inventory.store_key, rewritten, key)
        rewritten.replace(store)
        flush(store)
    with new_private_file(arriving / KEY_FILE) as file:
        file.write(encryption.sealed(target, KEY_FILE, content.key))


def _free_name(target: Path) -> Path:
    """A name beside the private folder that says when it was replaced."""
    name = f"{target.name}.before-restore-{datetime.now().astimezone():%Y%m%dT%H%M%S}"
    free = (target.with_name(name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(path for path in free if not os.path.lexists(path))


@dataclass(frozen=True)
class KnownRelease:
    """A release that was published, as one witness knows it."""

    witness: str
    """Where it is known from, as a sentence calls it."""
    release: str
    manifest: str
    """The sha256 of its manifest."""
    position: int | None = None
    """How many releases there were with it; None if the witness does not say."""


def newer_than(releases: Sequence[tuple[str, str]], known: Iterable[KnownRelease]) -> str | None:
    """Why a ledger of these releases, by name and manifest, must not replace what is there; None if it may.

    A ledger that lacks a known release, or has another version of it, would publish it again in another version.
    """
    places = {release: (count, manifest) for count, (release, manifest) in enumerate(releases, 1)}
    latest = releases[-1][0] if releases else "no release"
    for one in known:
        place, manifest = places.get(one.release, (0, ""))
        if place == 0:
            return (
                f"the backup is too old: it ends with {latest}, and {one.witness} has {one.release}; restore a later "
                f"backup, because this one would publish {one.release} a second time"
            )
        if manifest != one.manifest or one.position not in {None, place}:
            return (
                f"the backup is of another history: its {one.release} is not the {one.release} that {one.witness} has; "
                f"restore a backup of this one"
            )
    return None


def undone_decision(series: "Series", present: int, forgotten: int, withdrawn: Collection[str]) -> str | None:
    """Why a store with so many forgotten people, and these withdrawals, must not replace what is there.

    It would bring back a person who is forgotten, or a release that is withdrawn. `present` are the people whom the
    store that is there now has forgotten. None if it may replace it.
    """
    known = max([present, *(head.forgotten for _, head in _heads(series))])
    if known > forgotten:
        return (
            f"the backup is too old: {counted(known, 'person is', 'people are')} forgotten, and {forgotten} in the "
            f"backup, so it would bring someone back; restore a later backup"
        )
    tombstones = read_chain(series.published_folder).tombstones if series.published_folder.is_dir() else {}
    undone = sorted(set(tombstones) - set(withdrawn))
    if undone:
        return f"the backup is too old: it was made before {undone[0]} was withdrawn; restore a later backup"
    return None


def _heads(series: "Series") -> Iterator[tuple[str, Head]]:
    """What the head files record, each with what messages call it. A damaged one is a witness of nothing."""
    for place in (*private_heads(series), public_head(series)):
        with suppress(ValueError, OSError):
            head = read_head(place.path)
            if head is not None:
                yield place.label, head


def known_releases(series: "Series", records: Sequence[ReleaseRecord] | None) -> Iterator[KnownRelease]:
    """Every release that the published folder, the heads and the present store know; `records` None if it is broken."""
    if series.published_folder.is_dir():
        for manifest in read_chain(series.published_folder).manifests:
            yield KnownRelease("the published folder", manifest.folder, manifest.digest)
    for label, head in _heads(series):
        yield KnownRelease(label, head.release, head.manifest, head.position)
    for record in records or ():
        yield KnownRelease("the present store", record.release, record.manifest_digest, record.position + 1)


AT_FDCWD = -100
RENAME_EXCHANGE = 2
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def exchange(one: Path, other: Path) -> None:
    """Exchange the names of two folders on one file system.

    Where the system cannot do both in one step, they are three renames; a kill between them leaves a folder of another
    name beside the place, and nothing in it.

    Raises: OSError.
    """
    if _exchanged(one, other):
        return
    between = other.with_name(f"{one.name}.between")
    other.rename(between)
    one.rename(other)
    between.rename(one)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether the system could exchange the two."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))
