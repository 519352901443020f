"""Withdrawal: a release is taken back from the public folder; its lessons stay, because its copies do."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, OutOfOrder, Problem, Refused
from reanon_dagster.releasing.integrity import require_current_store
from reanon_dagster.storage import published_folder, store_reader, store_writer
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.records import ReleaseRecord, Withdrawal

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def withdraw_release(
    series: "Series", records: Sequence[ReleaseRecord], release: str, because: str, public_reason: str | None = None
) -> bool:
    """Take back the newest release that is not withdrawn; False if it was withdrawn before.

    State, trace, memories and ledger stay as they are: whoever has a copy can still compare it with later releases.

    Raises: InvalidParameter without a reason, or if there is no such release; OutOfOrder if a newer one is not
    withdrawn; Refused if the published folder does not hold what the ledger records, or holds later releases.
    """
    if not because.strip():
        raise InvalidParameter(Problem("--because", "say why the release is withdrawn"))
    record = next((one for one in records if one.release == release), None)
    if record is None:
        raise InvalidParameter(Problem("release", "be a published one", release, "see reanon status"))
    if record.withdrawn is not None:
        return False
    newest = [one for one in records if one.withdrawn is None][-1]
    if newest.release != release:
        raise OutOfOrder(
            f"release {newest.release} was published after {release} and builds on it; withdraw {newest.release} first"
        )
    require_current_store(series)
    _require_published(series, record)
    now = datetime.now()  # noqa: DTZ005  by the steward's own clock, as all times in the store
    reason = None if public_reason is None else public_reason.strip()
    digest = record.manifest_digest
    tombstone = published_folder.tombstone_of(series.name, release, digest, now.date(), reason)
    change = Withdrawal(release, now, because.strip(), tombstone, len(records))
    with opened(series.private_folder, read_only=False) as connection:
        with store_writer.transaction(connection):
            if store_reader.releases(connection) != list(records):
                raise OutOfOrder(store_writer.OVERTAKEN)
            store_writer.record_withdrawal(connection, record, change)
        try:
            published_folder.bury(series.published_folder / release, tombstone)
        except OSError as error:
            raise Refused(
                f"release {release} is withdrawn in the store, but its published folder cannot be changed "
                f"({error.strerror or error}); make it writable, and the next command finishes the withdrawal"
            ) from None
    return True


def finish_withdrawals(series: "Series", withdrawals: Sequence[Withdrawal]) -> None:
    """Finish what an interrupted process left: write tombstones, delete tables. A folder that is gone stays so.

    What cannot be written now is left to a later command; an audit reports it meanwhile.
    """
    left = unfinished_withdrawals(series, withdrawals)
    with suppress(OSError, ValueError):  # a manifest that was changed is not JSON any more
        if left:
            with opened(series.private_folder, read_only=False):  # a lock: no other process does the same
                for one in left:
                    published_folder.bury(series.published_folder / one.release, one.tombstone)


def unfinished_withdrawals(series: "Series", withdrawals: Sequence[Withdrawal]) -> list[Withdrawal]:
    """The withdrawals whose tombstone is not written yet, or whose tables are still there."""
    left = []
    for one in withdrawals:
        folder = series.published_folder / one.release
        with suppress(OSError, ValueError):
            if (folder / published_folder.MANIFEST).is_file() and not published_folder.is_buried(folder, one.tombstone):
                left.append(one)
    return left


def untold_withdrawals(withdrawals: Sequence[Withdrawal], releases: int) -> dict[str, str]:
    """The withdrawals that no manifest records yet: the sha256 of each tombstone by release."""
    return {
        one.release: hashlib.sha256(one.tombstone.encode()).hexdigest()
        for one in withdrawals
        if one.releases == releases
    }


def require_not_withdrawn(record: ReleaseRecord) -> None:
    """Refuse to publish a withdrawn release again.

    Raises: OutOfOrder.
    """
    if record.withdrawn is not None:
        raise OutOfOrder(
            f"release {record.release} was withdrawn on {record.withdrawn:%Y-%m-%d}; another version of it could be "
            f"compared with its copies, so make the correction in the next release"
        )


def _require_published(series: "Series", record: ReleaseRecord) -> None:
    path = series.published_folder / record.release / published_folder.MANIFEST
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != record.manifest_digest:
        raise Refused(
            f"the published folder does not hold release {record.release} as the ledger records it; restore its folder "
            f"first, because the chain of manifests needs it"
        )
