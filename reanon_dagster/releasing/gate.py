"""The gate: only a candidate whose required verdicts all hold, for exactly its own digest, is published."""

import hashlib
import json
import os
from collections.abc import Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.judgement import require_verdicts
from reanon_core.model.errors import OutOfOrder, Refused
from reanon_dagster.documents.release_documents import SERIES_DOCUMENTS
from reanon_dagster.releasing.candidate import Candidate, digest
from reanon_dagster.releasing.halts import require_not_halted
from reanon_dagster.releasing.memory_need import store_memory
from reanon_dagster.releasing.people_lists import remove_refused_people, write_withheld_people
from reanon_dagster.releasing.recovery import STAGING, pending_sentence
from reanon_dagster.releasing.series_heads import private_heads, public_head, write_heads
from reanon_dagster.releasing.staged_release import StagedRelease, staged_release
from reanon_dagster.releasing.withdrawal import untold_withdrawals
from reanon_dagster.report.pages.public_page import LONGEST_HISTORY
from reanon_dagster.storage import published_folder, store_reader, store_writer
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.pseudonym_key import private_folder
from reanon_dagster.storage.records import Commit, ReleaseRecord

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


class Pending(Refused):
    """A release that is committed, and whose files could not be published yet."""


def require_acceptable(candidate: Candidate) -> None:
    """Refuse a candidate that failed a required check, or that is not the one its checks judged.

    Raises: Refused.
    """
    if candidate.judged != digest(candidate.entry):
        raise Refused(f"release {candidate.release} is not what its checks judged; compute it again")
    require_verdicts(candidate.release, candidate.entry, candidate.verdicts, candidate.withheld)


def accept(series: "Series", candidate: Candidate) -> ReleaseRecord:
    """Publish: write the files privately, advance the store in one transaction, move the files to the public folder.

    A kill before the transaction changes nothing. After a later kill, `recover` moves the files. Before anyone can see
    them, the private head files know of them, so that a store that loses its log is noticed.

    Raises: Refused, OutOfOrder; Pending if the release is committed, and its files cannot be published yet.
    """
    require_acceptable(candidate)
    # The connection is also a lock: meanwhile no other process stages or moves files.
    with opened(series.private_folder, read_only=False, memory_limit=store_memory(series)) as connection:
        require_not_halted(series.name, store_reader.halts(connection))
        known = store_reader.releases(connection)
        if len(store_reader.marks(connection)) != candidate.forgotten:
            raise OutOfOrder("a person was forgotten in the meantime, and may be in this release; compute it again")
        if len(known) == candidate.position:  # otherwise another process was faster, and the commit says so
            _require_no_folder(series.published_folder / candidate.release)
            _require_no_files(series.published_folder, store_reader.series_documents(connection))
        place = private_folder(series.private_folder / STAGING) / candidate.release
        told = untold_withdrawals(store_reader.withdrawals(connection), len(known))
        earlier = store_reader.latest_manifests(connection, LONGEST_HISTORY - 1) if known else []
        previous = known[-1].manifest_digest if known else None
        files = store_reader.published_files(connection) if known else {}
        staged = staged_release(series, candidate, place, previous, told, earlier, files)
        record = ReleaseRecord(
            position=candidate.position,
            release=candidate.release,
            input_digest=candidate.input_digest,
            candidate_digest=candidate.judged,
            manifest_digest=hashlib.sha256(staged.manifest.encode()).hexdigest(),
            people=candidate.people,
            withheld=sum(candidate.withheld.values()),
            seconds=candidate.seconds,
            query_error=candidate.utility.error,
            relations=candidate.utility.relations,
            lost=candidate.utility.lost,
            share_changed=candidate.utility.changed,
        )
        change = Commit(
            record=record,
            entry=candidate.entry,
            verdicts=candidate.verdicts,
            state=candidate.state,
            memories=candidate.memories,
            manifest=staged.manifest,
            frozen={"fingerprint": json.dumps(series.fingerprint(), sort_keys=True), "key": candidate.key_check},
            accepted=candidate.accepted,
            documents=staged.documents,
            series_documents=staged.series_documents,
            new_ids=candidate.new_ids,
            values=candidate.utility.counts,
        )
        write_withheld_people(series, candidate)  # before the commit: after a kill, no one would write it
        published_folder.require_room(series.published_folder, staged.folder)
        store_writer.commit(connection, change)
        _bring_out(series, [*known, record], staged, len(store_reader.marks(connection)))
        with suppress(OSError):
            remove_refused_people(series, candidate.release)
    return record


def _bring_out(series: "Series", records: Sequence[ReleaseRecord], staged: StagedRelease, forgotten: int) -> None:
    """Record the newest release in the head files, and move its files to the public folder.

    Raises: Pending.
    """
    target = series.published_folder / staged.folder.name
    try:
        write_heads(private_heads(series), series, records, forgotten)
        published_folder.move_to_public(staged.folder, target)
    except (OSError, Refused) as error:
        if isinstance(error, Refused) or not target.exists():
            raise Pending(pending_sentence(series, target.name, error)) from error
    # The release can be seen. What fails from here on is finished by the next command, which the head file tells.
    with suppress(OSError):
        published_folder.replace_series_documents(series.published_folder, staged.series_documents)
        write_heads([public_head(series)], series, records, forgotten)


def _require_no_folder(target: Path) -> None:
    """Refuse to replace what is published already.

    Raises: Refused.
    """
    if os.path.lexists(target):
        raise Refused(
            f"the published folder holds {target.name} already, and the private store does not know it; restore the "
            f"latest private folder from a backup, or move that folder away if reanon did not publish it"
        )


def _require_no_files(folder: Path, own: Container[str]) -> None:
    """Refuse to replace a file of the steward's by a document of the series.

    Raises: Refused.
    """
    for name in SERIES_DOCUMENTS:
        if name not in own and os.path.lexists(folder / name):
            raise Refused(
                f"the published folder has a {name} that reanon did not write, and this release would replace it; move "
                f"it away, and see `description`, `licence` and `contact` in docs/series-yaml.md"
            )
