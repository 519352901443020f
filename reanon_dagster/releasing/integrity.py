"""Whether the store, the head files and the published folder of a series still belong together."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import Refused, counted
from reanon_dagster.releasing.series_heads import private_heads, public_head
from reanon_dagster.storage import series_store
from reanon_dagster.storage.durable_file import replace_file
from reanon_dagster.storage.head_file import read_head
from reanon_dagster.storage.pseudonym_key import KEY_FILE, LOST_KEY
from reanon_dagster.storage.records import ReleaseRecord, Withdrawal
from reanon_dagster.storage.series_store import StoreSummary
from reanon_dagster.verification.manifest_file import file_content, read_manifest, shown
from reanon_dagster.verification.published_chain import (
    LedgerRelease,
    PublishedChain,
    ledger_flaws,
    verify_published,
)
from reanon_dagster.verification.series_files import series_file_flaws
from reanon_dagster.verification.sound_releases import SoundReleases
from reanon_dagster.verification.withdrawal_file import WITHDRAWN

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

SOUND = "sound.json"
"""The private file of releases whose files need not be read again."""
LISTED = 5
"""The most sentences that a refusal lists."""
RESTORE = "restore the latest private folder from a backup"
NAMESAKE = "; if another series with this name publishes there, give this one a name of its own"


@dataclass(frozen=True)
class Integrity:
    """What is wrong between the store, the head files and the published folder, as sentences."""

    ahead: tuple[str, ...] = ()
    """The private side is older than what is published, or is not of this series: only a restore helps."""
    published: tuple[str, ...] = ()
    """What is published is not what the store recorded; accepted flaws are left out."""
    strays: tuple[str, ...] = ()
    """What does not belong into the published folder, and hinders nothing."""

    @property
    def flaws(self) -> tuple[str, ...]:
        """Everything that must be mended before the next release."""
        return (*self.ahead, *self.published)


def integrity_of(series: "Series", *, remember: bool = False) -> Integrity:
    """Compare the store, the head files and the published folder. Meanwhile no other process publishes.

    With `remember`, releases that are found sound need not be read again.

    Raises: Refused if the store cannot be read.
    """
    with series_store.held_summary(series.private_folder) as summary:
        return compared(series, summary, remember=remember)


def compared(series: "Series", summary: StoreSummary, *, remember: bool) -> Integrity:
    """The same for a store that is held."""
    folder = _published_folder(series, summary, remember=remember)
    return replace(folder, ahead=(*_lost_store(series, summary), *_head_flaws(series, summary), *folder.ahead))


def ahead_flaws(series: "Series", summary: StoreSummary, chain: PublishedChain) -> tuple[str, ...]:
    """How the private side is older than what is published, whose chain was read already, or is not of this series."""
    unknown = _unknown_folders(chain, ledger_of(summary.records))
    return (
        *_lost_store(series, summary),
        *_head_flaws(series, summary),
        *((_unknown_releases(unknown),) if unknown else ()),
    )


def require_integrity(name: str, found: Integrity) -> None:
    """Refuse to publish while something is wrong.

    Raises: Refused.
    """
    flaws = [f"{name}: {flaw}" for flaw in found.flaws]
    if len(flaws) > LISTED:
        flaws[LISTED:] = [f"{name}: and {len(flaws) - LISTED} more flaws, which `reanon status` lists"]
    if found.published and not found.ahead:
        flaws.append(
            f"{name}: run `reanon doctor` to rebuild what is published from the private store, or "
            f"`reanon lift` to accept what it cannot rebuild"
        )
    if flaws:
        raise Refused("\n".join(flaws))


def require_current_store(series: "Series") -> None:
    """Refuse to change a series whose private side is older than what is published.

    Raises: Refused.
    """
    require_integrity(series.name, replace(integrity_of(series), published=()))


def _lost_store(series: "Series", summary: StoreSummary) -> Iterator[str]:
    if not summary.exists and (series.private_folder / KEY_FILE).exists():
        yield (
            f"the private folder has a key and no store, so the store was lost, and without it the next release could "
            f"expose people; {RESTORE}, or delete {KEY_FILE} if no release was ever published"
        )
    if "key" in summary.frozen and not (series.private_folder / KEY_FILE).exists():
        yield LOST_KEY


def _head_flaws(series: "Series", summary: StoreSummary) -> Iterator[str]:
    """Head files that know more than the store, or another history."""
    records = summary.records
    for place in (*private_heads(series), public_head(series)):
        try:
            head = read_head(place.path)
        except OSError as error:
            yield f"{place.label} cannot be read: {error.strerror or error}"
            continue
        except ValueError:
            yield f"{place.label} is damaged; run `reanon doctor` to write it again from what is published"
            continue
        if head is None:
            continue
        if head.series != series.name:
            yield f"{place.label} is of the series {head.series}"
        elif head.position > len(records):
            yield (
                f"{place.label} records {head.position} releases up to {head.release}, and the private store knows "
                f"{len(records)}, so it is an older one, and the next release could expose people; {RESTORE}"
                f"{'' if records else NAMESAKE}"
            )
        elif head.forgotten > len(summary.marks):
            yield (
                f"{place.label} records that {counted(head.forgotten, 'person is', 'people are')} forgotten, and the "
                f"private store knows {len(summary.marks)} of them, so it is an older one; {RESTORE}"
            )
        elif head.position < 1 or records[head.position - 1].manifest_digest != head.manifest:
            yield f"{place.label} records another release {head.release} than the private store; {RESTORE}"


def _published_folder(series: "Series", summary: StoreSummary, *, remember: bool) -> Integrity:
    """How the published folder differs from its manifests and from the store."""
    folder, ledger = series.published_folder, ledger_of(summary.records)
    if not os.path.lexists(folder):
        return Integrity(published=("the published folder is missing",) if ledger else ())
    if _is_unchanged(series, ledger, summary.withdrawals, remember=remember):
        return Integrity()
    chain = verify_published(folder)
    known = {one.release for one in ledger}
    mine = tuple(one for one in chain.manifests if one.folder in known)
    unknown = _unknown_folders(chain, ledger)
    lost = known - {one.folder for one in mine}  # a release without its manifest is not to be deleted
    flaws = (*chain.flaws, *ledger_flaws(PublishedChain(mine, (), chain.tombstones), ledger))
    return Integrity(
        ahead=(_unknown_releases(unknown),) if unknown else (),
        published=tuple(
            flaw.sentence for flaw in flaws if not flaw.stray and flaw.sentence not in summary.accepted_flaws
        ),
        strays=tuple(flaw.sentence for flaw in flaws if flaw.stray and flaw.release not in lost),
    )


def ledger_of(records: Sequence[ReleaseRecord]) -> list[LedgerRelease]:
    """The releases as the verification of a published folder knows them."""
    return [
        LedgerRelease(record.release, record.manifest_digest, withdrawn=record.withdrawn is not None)
        for record in records
    ]


def _is_unchanged(
    series: "Series", ledger: Sequence[LedgerRelease], withdrawals: Sequence[Withdrawal], *, remember: bool
) -> bool:
    """Whether every release is there as the store recorded it, and nothing else. Only what is new is read."""
    remembered, folder = series.private_folder / SOUND, series.published_folder
    sound = SoundReleases.read(remembered)
    newest = read_manifest(folder / ledger[-1].release)[0] if ledger else None
    beside = set() if newest is None else set(newest.series_files)
    with os.scandir(folder) as entries:
        names = {entry.name for entry in entries if not entry.is_symlink()}  # a link could lead anywhere tomorrow
    if names != {one.release for one in ledger} | beside:
        return False
    if newest is not None and series_file_flaws(folder, [newest]):
        return False
    # Texts instead of paths: there may be thousands of releases, and making a path costs more than looking it up.
    place = str(folder)
    if not all(sound.holds(place, one.release, one.manifest_digest) for one in ledger):
        return False
    tombstones = {one.release: one.tombstone.encode() for one in withdrawals}
    if not all(_has_tombstone(f"{place}/{one.release}", tombstones.get(one.release)) for one in ledger):
        return False
    if sound.changed and remember:
        with suppress(OSError):  # it is only a shortcut
            replace_file(remembered, sound.text().encode(), mode=0o600)
    return True


def _has_tombstone(folder: str, tombstone: bytes | None) -> bool:
    """Whether the folder of a release has this tombstone; None for a release that is not withdrawn."""
    if tombstone is None:
        return not os.path.lexists(f"{folder}/{WITHDRAWN}")
    try:
        return file_content(Path(folder) / WITHDRAWN) == tombstone
    except OSError:
        return False


def _unknown_folders(chain: PublishedChain, ledger: Sequence[LedgerRelease]) -> list[str]:
    """The published releases that the ledger does not have."""
    known = {one.release for one in ledger}
    return [shown(one.folder) for one in chain.manifests if one.folder not in known]


def _unknown_releases(names: Sequence[str]) -> str:
    return (
        f"the published folder has releases that the private store does not know ({', '.join(names[:LISTED])}), and "
        f"without them the next release could expose people; {RESTORE}, or move these folders away if reanon did not "
        f"publish them"
    )
