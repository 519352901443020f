"""The gate: only a candidate whose required verdicts all hold, for exactly its own digest, is published."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.judgement import require_verdicts
from reanon_core.model.errors import Refused
from reanon_core.model.history import Published
from reanon_dagster.releasing.candidate import Candidate, digest
from reanon_dagster.releasing.halts import require_not_halted
from reanon_dagster.releasing.manifest import manifest_of
from reanon_dagster.releasing.withheld_people import write_withheld_people
from reanon_dagster.storage import published_folder, store_reader, store_writer
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.pseudonym_key import private_folder
from reanon_dagster.storage.records import Commit, ReleaseRecord

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

STAGING = "staging"
"""The private folder of files that are written and not public yet."""


def require_acceptable(candidate: Candidate) -> None:
    """Refuse a candidate that failed a required check, or that is not the one its checks judged.

    Raises: Refused.
    """
    if candidate.judged != digest(candidate.entry):
        raise Refused(f"release {candidate.release} is not what its checks judged; compute it again")
    require_verdicts(candidate.release, candidate.entry, candidate.verdicts, candidate.withheld)


def accept(series: "Series", candidate: Candidate) -> ReleaseRecord:
    """Publish: write the files privately, advance the store in one transaction, move the files to the public folder.

    A kill before the transaction changes nothing. After a later kill, `recover` moves the files.

    Raises: Refused, OutOfOrder.
    """
    require_acceptable(candidate)
    # The connection is also a lock: meanwhile no other process stages or moves files.
    with opened(series.private_folder, read_only=False) as connection:
        require_not_halted(series.name, store_reader.halts(connection))
        known = store_reader.releases(connection) if store_reader.exists(connection) else []
        if len(known) == candidate.position:  # otherwise another process was faster, and the commit says so
            _require_no_folder(series.published_folder / candidate.release)
        staged = private_folder(series.private_folder / STAGING) / candidate.release
        manifest = _stage_files(series, candidate, staged, known[-1].manifest_digest if known else None)
        record = ReleaseRecord(
            position=candidate.position,
            release=candidate.release,
            input_digest=candidate.input_digest,
            candidate_digest=candidate.judged,
            manifest_digest=hashlib.sha256(manifest.encode()).hexdigest(),
            people=candidate.people,
            withheld=sum(candidate.withheld.values()),
            seconds=candidate.seconds,
            query_error=candidate.query_error,
        )
        change = Commit(
            record=record,
            entry=candidate.entry,
            verdicts=candidate.verdicts,
            state=candidate.state,
            memories=candidate.memories,
            manifest=manifest,
            frozen={"fingerprint": json.dumps(series.fingerprint(), sort_keys=True), "key": candidate.key_check},
        )
        write_withheld_people(series, candidate)  # before the commit: after a kill, no one would write it
        store_writer.commit(connection, change)
        published_folder.move_to_public(staged, series.published_folder / candidate.release)
    return record


def _require_no_folder(target: Path) -> None:
    """Refuse to replace what is published already.

    Raises: Refused.
    """
    if os.path.lexists(target):
        raise Refused(
            f"the published folder holds {target.name} already, and the private store does not know it; restore the "
            f"latest private folder from a backup, or move that folder away if reanon did not publish it"
        )


def recover(series: "Series") -> None:
    """Finish what an interrupted process left: publish the files of a committed release, delete any others."""
    staging = series.private_folder / STAGING
    if not staging.is_dir() or not any(staging.iterdir()):
        return
    with opened(series.private_folder, read_only=False) as connection:
        known = store_reader.releases(connection) if store_reader.exists(connection) else []
        committed = {record.release: record for record in known}
        for staged in sorted(staging.iterdir()):
            record = committed.get(staged.name)
            if record is not None and _manifest_digest(staged) == record.manifest_digest:
                published_folder.move_to_public(staged, series.published_folder / staged.name)
            else:
                shutil.rmtree(staged)


def _stage_files(series: "Series", candidate: Candidate, staged: Path, previous: str | None) -> str:
    """Write the release's files into the private folder, and return the manifest's text."""
    entry = candidate.entry
    published = Published(entry.release, entry.auxiliary)
    shutil.rmtree(staged, ignore_errors=True)
    files = published_folder.write_files(staged, published, entry.snapshot.schema, series.config.publish.formats)
    return published_folder.write_manifest(staged, manifest_of(series, candidate, files, previous))


def _manifest_digest(staged: Path) -> str | None:
    path = staged / published_folder.MANIFEST
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
