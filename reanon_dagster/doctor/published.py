"""What is published, rebuilt from the store byte for byte where it was changed or lost; and the head files."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import ReanonError
from reanon_core.model.history import Published
from reanon_dagster.doctor.remark import Outcome, Remark, mended
from reanon_dagster.releasing.integrity import integrity_of
from reanon_dagster.releasing.manifest import sign_manifest
from reanon_dagster.releasing.recovery import is_interrupted, recover
from reanon_dagster.releasing.series_heads import private_heads, public_head
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.head_file import head_of, read_head, write_head
from reanon_dagster.storage.pseudonym_key import private_folder
from reanon_dagster.storage.published_folder import (
    MANIFEST,
    digests_of,
    move_to_public,
    replace_public_file,
    replace_series_documents,
    way_to,
    write_documents,
    write_files,
)
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import read_summary
from reanon_dagster.verification.manifest_file import file_digest
from reanon_dagster.verification.sound_releases import SoundReleases

if TYPE_CHECKING:
    import duckdb

    from reanon_dagster.series.series import Series

REBUILT = "rebuilt"
"""The private folder of files that are rebuilt."""


def interrupted(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: FBT001  an Examination
    """Releases that are committed and not public yet."""
    what = "interrupted releases"
    summary = read_summary(series.private_folder)
    if not is_interrupted(series, summary.records, len(summary.marks)):
        yield Remark(what, Outcome.SOUND)
        return
    pending = recover(series) if repair else ()
    for sentence in pending:
        yield Remark(what, Outcome.WRONG, sentence)
    if not pending:
        yield mended(what, "what an interrupted process left is finished", repaired=repair)


def head_files(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: FBT001  an Examination
    """Head files that cannot be read are written again if the published folder is not ahead of the store."""
    what, summary = "head files", read_summary(series.private_folder)
    damaged = []
    for place in (*private_heads(series), public_head(series)):
        try:
            read_head(place.path)
        except (ValueError, OSError):
            damaged.append(place)
    if not damaged:
        yield Remark(what, Outcome.SOUND)
        return
    if len(integrity_of(series).ahead) > len(damaged) or not summary.records:
        yield Remark(what, Outcome.WRONG, f"{damaged[0].label} is damaged, and the store may be an older one")
        return
    for place in damaged:
        head = head_of(series.name, summary.records, len(summary.marks) if place.is_private else 0)
        if repair and head is not None:
            write_head(place.path, head, mode=place.mode)
        yield mended(what, f"{place.label} could not be read", repaired=repair)


def published_files(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: FBT001  an Examination
    """Every file of every release is read; what differs from the store is rebuilt and has the same digests again."""
    what, found = "published files", integrity_of(series)
    if not found.ahead:
        records = read_summary(series.private_folder).records
        yield from _rebuilt(series, records, what, repair=repair)
        yield from _rebuilt_beside(series, records, what, repair=repair)
        found = integrity_of(series)
    for flaw in (*found.ahead, *(found.published if repair or found.ahead else ())):
        yield Remark(what, Outcome.WRONG, flaw)
    for stray in found.strays:
        yield Remark(what, Outcome.WRONG, stray)
    if not found.flaws and not found.strays:
        yield Remark(what, Outcome.SOUND)


def _rebuilt(series: "Series", records: Sequence[ReleaseRecord], what: str, *, repair: bool) -> Iterator[Remark]:
    sound = SoundReleases()
    for record in records:
        folder = series.published_folder / record.release
        if sound.holds(str(series.published_folder), record.release, record.manifest_digest):
            continue
        try:
            problem = _rebuild_release(series, record, folder, repair=repair)
        except (OSError, ReanonError) as error:  # such as a signing key that is not there
            problem = str(error)
        if problem is None:
            yield mended(what, f"{record.release} differed from the store", repaired=repair)
        elif problem:
            yield Remark(what, Outcome.WRONG, f"{record.release} cannot be rebuilt: {problem}")


def _rebuilt_beside(series: "Series", records: Sequence[ReleaseRecord], what: str, *, repair: bool) -> Iterator[Remark]:
    """The files of the series beside its releases, as the newest manifest records them."""
    if not records:
        return
    with opened(series.private_folder, read_only=True) as connection:
        documents = store_reader.series_documents(connection)
        listed = json.loads(dict(store_reader.manifests(connection))[records[-1].release])["series_files"]
    digests = digests_of(documents)
    wrong = [name for name, digest in digests.items() if not _has(series.published_folder / name, digest)]
    if not wrong:
        return
    names = ", ".join(wrong)
    if {name: told["sha256"] for name, told in listed.items()} != digests:
        yield Remark(what, Outcome.WRONG, f"{names} cannot be rebuilt: the store has not what the manifest records")
        return
    try:
        if repair:
            replace_series_documents(series.published_folder, {name: documents[name] for name in wrong})
    except OSError as error:  # such as a folder in the place of the file
        yield Remark(what, Outcome.WRONG, f"{names} cannot be rebuilt: {error.strerror or error}")
        return
    yield mended(what, f"{names} in the folder of the series differed from the store", repaired=repair)


def _has(path: Path, digest: str) -> bool:
    """Whether a file is there, with this sha256."""
    try:
        return file_digest(path) == digest
    except OSError:
        return False


def _rebuild_release(series: "Series", record: ReleaseRecord, folder: Path, *, repair: bool) -> str | None:
    """Put the right files in place; returns why that is not possible, "" if nothing need be done, None if it is done.

    Raises: OSError, Refused.
    """
    staged = private_folder(series.private_folder / REBUILT) / record.release
    shutil.rmtree(staged, ignore_errors=True)
    try:
        with opened(series.private_folder, read_only=True) as connection:
            problem = _write_again(connection, series, record, staged)
        if problem:
            return problem
        wrong = [path.name for path in sorted(staged.iterdir()) if not _has(folder / path.name, file_digest(path))]
        if repair and not folder.exists():
            move_to_public(staged, folder)
        elif repair:
            for name in wrong:
                way = way_to(series.published_folder, name)
                replace_public_file(folder / name, (staged / name).read_bytes(), way)
        return None if wrong else ""
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _write_again(connection: "duckdb.DuckDBPyConnection", series: "Series", record: ReleaseRecord, staged: Path) -> str:
    """Write the files of a release as they were; returns why they differ, or nothing."""
    text = dict(store_reader.manifests(connection))[record.release]
    listed = {name: told["sha256"] for name, told in json.loads(text)["files"].items()}
    if hashlib.sha256(text.encode()).hexdigest() != record.manifest_digest:
        return "the manifest in the store is not the one that was published"
    if record.withdrawn is not None:  # its tables are gone for good
        staged.mkdir()
        return _write_manifest(series, staged, text)
    entry = store_reader.entry(connection, record.position, store_reader.known_schema(connection, series.schema))
    formats = [form for form in ("parquet", "csv") if any(name.endswith(f".{form}") for name in listed)]
    order = sorted(formats, key=lambda form: next(at for at, name in enumerate(listed) if name.endswith(f".{form}")))
    digests = write_files(staged, Published(entry.release, entry.auxiliary), entry.snapshot.schema, order)
    digests |= write_documents(staged, store_reader.release_documents(connection, record.position))
    if digests != listed:
        other = sorted(name for name in {*digests, *listed} if digests.get(name) != listed.get(name))
        return (
            f"this version of pyarrow writes other bytes for {', '.join(other)}; restore them from a copy of the "
            f"published folder, or accept the loss with `reanon lift`"
        )
    return _write_manifest(series, staged, text)


def _write_manifest(series: "Series", staged: Path, text: str) -> str:
    (staged / MANIFEST).write_text(text, encoding="utf-8")
    sign_manifest(series, staged, text)
    return ""
