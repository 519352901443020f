"""The published folder of a series against its own manifests: files, hashes, one chain, nothing else.

What no manifest after it names, the latest release, is proved by the steward's ledger or by a signature.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reanon_dagster.verification.manifest_file import (
    MANIFEST,
    SIGNATURE,
    Flaw,
    Manifest,
    file_digest,
    read_manifest,
    shown,
)
from reanon_dagster.verification.series_files import head_flaws, series_file_flaws
from reanon_dagster.verification.withdrawal_file import (
    WITHDRAWN,
    Tombstone,
    chain_flaws,
    left_files,
    read_tombstone,
    tombstone_flaws,
)


@dataclass(frozen=True)
class PublishedChain:
    """The manifests of a published folder, and what is wrong with them."""

    manifests: tuple[Manifest, ...]
    """In the order of the chain as far as it reaches, then those that it does not reach."""
    flaws: tuple[Flaw, ...]
    tombstones: Mapping[str, Tombstone] = field(default_factory=dict)
    """Those of the withdrawn releases, by release."""


@dataclass(frozen=True)
class LedgerRelease:
    """A release as the steward's ledger records it."""

    release: str
    manifest_digest: str
    withdrawn: bool = False


def is_published_folder(folder: Path) -> bool:
    """Whether the folder holds releases: some folder in it has a manifest."""
    try:
        return any(os.path.lexists(one / MANIFEST) for one in folder.iterdir())
    except OSError:
        return False


def is_release_folder(folder: Path) -> bool:
    """Whether the folder is that of one release."""
    return folder.is_dir() and os.path.lexists(folder / MANIFEST)


def verify_published(folder: Path) -> PublishedChain:
    """The chain of a published folder with all its flaws: every file of every release is read."""
    chain = read_chain(folder)
    beside = _series_files(folder, chain)
    if beside:  # a release may have been published since the manifests were read
        chain = read_chain(folder)
        beside = _series_files(folder, chain)
    found = [flaw for manifest in chain.manifests for flaw in file_flaws(folder / manifest.folder, manifest)]
    return PublishedChain(chain.manifests, (*chain.flaws, *beside, *found), chain.tombstones)


def verify_release(folder: Path) -> PublishedChain:
    """One release's folder against its own manifest: a chain of one, or of none if it cannot be read."""
    manifest, flaws = read_manifest(folder)
    if manifest is None:
        return PublishedChain((), tuple(flaws))
    tombstone, wrong = read_tombstone(folder)
    wrong += [] if tombstone is None else tombstone_flaws(manifest, tombstone)
    tombstones = {} if tombstone is None else {folder.name: tombstone}
    return PublishedChain((manifest,), (*flaws, *wrong, *file_flaws(folder, manifest)), tombstones)


def read_chain(folder: Path) -> PublishedChain:
    """The chain of a published folder, from the manifests alone: no other file is read."""
    manifests: list[Manifest] = []
    flaws: list[Flaw] = []
    tombstones: dict[str, Tombstone] = {}
    others: dict[str, int] = {}
    for name, kind in _entries(folder, flaws, None):
        if not stat.S_ISDIR(kind) or not _has_manifest(folder / name):
            others[name] = kind
            continue
        manifest, wrong = read_manifest(folder / name)
        flaws += wrong
        if manifest is None:
            continue
        manifests.append(manifest)
        tombstone, wrong = read_tombstone(folder / name)
        flaws += wrong
        if tombstone is not None:
            tombstones[name] = tombstone
            flaws += tombstone_flaws(manifest, tombstone)
    ordered, broken = _ordered(manifests)
    told = (*chain_flaws(ordered, tombstones), *head_flaws(folder, ordered))
    strays = _strays(others, ordered)
    return PublishedChain(ordered, (*flaws, *strays, *broken, *_foreign(ordered), *told), tombstones)


def _strays(others: Mapping[str, int], manifests: Sequence[Manifest]) -> list[Flaw]:
    """What is in the folder of a series, and neither a release nor a file that the newest manifest lists."""
    listed = manifests[-1].series_files if manifests else {}
    return [
        Flaw(f"{shown(name)} is {_stray(kind)} {_of_no_release(name, kind)}", name, stray=True)
        for name, kind in others.items()
        if name not in listed
    ]


def _of_no_release(name: str, kind: int) -> str:
    if stat.S_ISDIR(kind) and not name.startswith("."):  # to delete it could be to delete a release
        return "without a manifest: it is no release, or it has lost its manifest"
    return "that belongs to no release: delete it"


def _has_manifest(folder: Path) -> bool:
    """Whether a folder has a manifest, or cannot be looked into."""
    try:
        os.lstat(folder / MANIFEST)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _series_files(folder: Path, chain: PublishedChain) -> list[Flaw]:
    """The flaws of the files beside the releases; which ones belong there is not known while the chain is broken."""
    is_broken = any(not flaw.stray for flaw in chain.flaws)
    return [] if is_broken else series_file_flaws(folder, chain.manifests)


def file_flaws(folder: Path, manifest: Manifest) -> list[Flaw]:
    """The files of a release against its manifest: each is there with its sha256, and there is no other.

    Of a withdrawn release only the manifest and the tombstone are left.
    """
    flaws: list[Flaw] = []
    place, here = shown(folder.name), set()
    for name, kind in _entries(folder, flaws, folder.name):
        here.add(name)
        known = name in {MANIFEST, WITHDRAWN} or (name == SIGNATURE and stat.S_ISREG(kind))
        if name not in manifest.files and not known:
            sentence = f"{place}/{shown(name)} is {_stray(kind)} that its manifest does not list"
            flaws.append(Flaw(sentence, folder.name, stray=True))
    if WITHDRAWN in here:
        return [*flaws, *left_files(manifest, sorted(here))]
    for name, expected in sorted(manifest.files.items()):
        label = f"{place}/{shown(name)}"
        if name not in here:
            flaws.append(Flaw(f"{label} is missing", folder.name))
            continue
        try:
            changed = file_digest(folder / name) != expected
        except OSError as error:
            flaws.append(Flaw(f"{label} cannot be read: {error.strerror or error}", folder.name))
            continue
        if changed:
            flaws.append(Flaw(f"{label} was changed: it does not have the sha256 of its manifest", folder.name))
    return flaws


def ledger_flaws(chain: PublishedChain, ledger: Sequence[LedgerRelease]) -> list[Flaw]:
    """How a published folder differs from the steward's ledger: other releases, other manifests, another order."""
    here = {manifest.folder: manifest.digest for manifest in chain.manifests}
    known = {one.release for one in ledger}
    flaws = [
        Flaw(
            f"release {one.release} is in the ledger, and its manifest is missing from the published folder",
            one.release,
        )
        for one in ledger
        if one.release not in here
    ]
    flaws += [
        Flaw(f"{one.release}/{MANIFEST} is not the manifest that the ledger records", one.release)
        for one in ledger
        if here.get(one.release, one.manifest_digest) != one.manifest_digest
    ]
    flaws += [
        Flaw(f"release {shown(name)} is published, and the ledger does not know it")
        for name in here
        if name not in known
    ]
    flaws += [
        Flaw(
            f"release {one.release} is {_state(withdrawn=one.withdrawn)} in the ledger, "
            f"and {_state(withdrawn=not one.withdrawn)} in the published folder",
            one.release,
        )
        for one in ledger
        if one.release in here and one.withdrawn != (one.release in chain.tombstones)
    ]
    order = [one.release for one in ledger]
    if not flaws and [manifest.folder for manifest in chain.manifests] != order:
        flaws.append(Flaw("the published releases are not in the order of the ledger"))
    return flaws


def _state(*, withdrawn: bool) -> str:
    return "withdrawn" if withdrawn else "not withdrawn"


def _entries(folder: Path, flaws: list[Flaw], release: str | None) -> Iterator[tuple[str, int]]:
    """The name and the mode of everything in a folder, by name; links are not followed."""
    try:
        with os.scandir(folder) as found:
            entries = sorted((entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in found)
    except OSError as error:
        flaws.append(Flaw(f"{shown(folder.name)} cannot be read: {error.strerror or error}", release))
        return
    yield from entries


def _stray(kind: int) -> str:
    return "a link" if stat.S_ISLNK(kind) else "a folder" if stat.S_ISDIR(kind) else "a file"


def _ordered(manifests: Sequence[Manifest]) -> tuple[tuple[Manifest, ...], list[Flaw]]:
    """The manifests along the chain, and where it forks, ends early or begins more than once."""
    twins, following = defaultdict(list), defaultdict(list)
    for manifest in manifests:
        twins[manifest.digest].append(manifest)
        following[manifest.previous].append(manifest)
    flaws = [Flaw(f"{_names(same)} have the same manifest", same[1].folder) for same in twins.values() if len(same) > 1]
    if manifests and not following[None]:
        flaws.append(Flaw("no release is the first: the beginning of the chain is missing or was changed"))
    for previous, after in following.items():
        if previous is not None and previous not in twins:
            flaws += [
                Flaw(
                    f"release {shown(one.folder)} follows a manifest that is not here: the release before it is "
                    f"missing, or its manifest was changed",
                    one.folder,
                )
                for one in after
            ]
        elif len({one.digest for one in after}) > 1:
            before = "begin the chain" if previous is None else f"follow {shown(twins[previous][0].folder)}"
            flaws.append(Flaw(f"{_names(after)} each {before}: one chain has one order", after[-1].folder))
    return _walked(manifests, following), flaws


def _walked(manifests: Iterable[Manifest], following: dict[str | None, list[Manifest]]) -> tuple[Manifest, ...]:
    """The manifests in the order of the chain, then those that it does not reach."""
    order: dict[str, Manifest] = {}
    waiting = list(reversed(following.get(None, ())))
    while waiting:
        manifest = waiting.pop()
        if manifest.folder not in order:
            order[manifest.folder] = manifest
            waiting += reversed(following.get(manifest.digest, ()))
    return (*order.values(), *(one for one in manifests if one.folder not in order))


def _foreign(manifests: Sequence[Manifest]) -> list[Flaw]:
    """The releases of another series than the first."""
    return [
        Flaw(
            f"release {shown(one.folder)} belongs to the series {shown(one.series)}, the first to "
            f"{shown(manifests[0].series)}",
            one.folder,
        )
        for one in manifests
        if one.series != manifests[0].series
    ]


def _names(manifests: Iterable[Manifest]) -> str:
    return " and ".join(shown(one.folder) for one in manifests)
