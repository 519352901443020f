"""What is known to be published, from everything that is left on the disk, and whether a backup has all of it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.model.errors import counted
from reanon_dagster.releasing.series_heads import private_heads, public_head
from reanon_dagster.storage.head_file import Head, read_head
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.verification.published_chain import read_chain

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


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
