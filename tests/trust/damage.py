"""Damage to a series on disk: which bytes, files and folders are changed, and which commands must notice."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trust.small_series import private, public

PUBLIC = frozenset({"verify", "audit"})
STATE = frozenset({"status", "publish", "audit"})
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Damage:
    """Something that was done to the folder of a series."""

    name: str
    act: Callable[[Path], None]
    noticed_by: frozenset[str]
    """The commands that must exit with something else than 0."""
    after_kill: bool = False
    """Whether it is done to the folder that a kill left with a log."""


@dataclass(frozen=True)
class Prepared:
    """Folders of one series at several times; r1 and r2 are published in the latest one."""

    empty: Path
    first: Path
    latest: Path
    logged: Path | None
    """After a kill that left a log beside the store, r2 visible."""


def flipped(path: Path, at: float) -> None:
    """Change one byte at this share of the file."""
    content = bytearray(path.read_bytes())
    content[min(len(content) - 1, int(at * len(content)))] ^= 0x55
    path.write_bytes(content)


def cut(path: Path, keep: float) -> None:
    """Keep this share of the file, or all but the last byte."""
    content = path.read_bytes()
    path.write_bytes(content[: min(len(content) - 1, int(keep * len(content)))])


def swapped_private(older: Path) -> Callable[[Path], None]:
    """Put an older private folder back."""

    def act(folder: Path) -> None:
        shutil.rmtree(folder / "private")
        if (older / "private").exists():
            shutil.copytree(older / "private", folder / "private")

    return act


def both(*acts: Callable[[Path], None]) -> Callable[[Path], None]:
    """One after the other."""

    def act(folder: Path) -> None:
        for one in acts:
            one(folder)

    return act


def without(path: str) -> Callable[[Path], None]:
    """Delete a file or folder below the series' folder, if it is there."""

    def act(folder: Path) -> None:
        target = folder / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    return act


def with_file(path: str, content: bytes = b"stray\n") -> Callable[[Path], None]:
    """Write a file that should not be there."""

    def act(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)

    return act


def as_folder(path: str) -> Callable[[Path], None]:
    """A folder where a file should be."""
    return both(without(path), lambda folder: (folder / path).mkdir(parents=True))


def as_link(path: str) -> Callable[[Path], None]:
    """A link where a file or folder was; its target is outside of the folders of the series."""

    def act(folder: Path) -> None:
        aside = folder / "aside"
        (folder / path).rename(aside)
        (folder / path).symlink_to(aside)

    return act


def lost_link(path: str) -> Callable[[Path], None]:
    """A link that leads nowhere."""
    return both(without(path), lambda folder: (folder / path).symlink_to(folder / "nowhere"))


def copied(source: str, target: str) -> Callable[[Path], None]:
    """A copy of a folder under another name."""
    return lambda folder: shutil.copytree(folder / source, folder / target) and None


def of_files(folder: Path) -> Iterator[Damage]:
    """Every file of both sides: a byte changed at three places, cut in two ways, empty, deleted."""
    for path in sorted(path for side in (private(folder), public(folder)) for path in side.rglob("*")):
        if not path.is_file():
            continue
        name = str(path.relative_to(folder))
        is_public = path.is_relative_to(public(folder))
        strays = PUBLIC if is_public else NONE
        for share in (0.0, 0.5, 0.999):
            yield Damage(f"{name}: a byte changed at {share:.0%}", _at(name, flipped, share), strays)
        store = path.name == "store.duckdb"
        for share in (1.0, 0.5, 0.0):
            label = {1.0: "cut by a byte", 0.5: "cut by half", 0.0: "empty"}[share]
            noticed = STATE if store and share < 1 else strays
            yield Damage(f"{name}: {label}", _at(name, cut, share), noticed)
        noticed = STATE if store else frozenset({"publish"}) if path.suffix == ".key" else strays
        yield Damage(f"{name}: deleted", without(name), noticed)


def _at(name: str, change: Callable[[Path, float], None], share: float) -> Callable[[Path], None]:
    return lambda folder: change(folder / name, share)


def of_folders(prepared: Prepared) -> Iterator[Damage]:
    """Older folders, lost folders, strays, links."""
    older, mine, open_side = swapped_private(prepared.first), "private/clinic", "published/clinic"
    newest = f"{open_side}/r2"
    yield Damage("an older private folder", older, STATE)
    yield Damage("an older private folder, r2 unpublished", both(older, without(newest)), frozenset({"publish"}))
    yield Damage("the private folder deleted", without("private"), STATE)
    yield Damage("the store deleted, the key kept", without(f"{mine}/store.duckdb"), STATE)
    yield Damage("the published folder deleted", without("published"), STATE | PUBLIC)
    yield Damage("the newest release deleted", without(newest), frozenset({"status", "publish", "audit"}))
    yield Damage("the first release deleted", without(f"{open_side}/r1"), PUBLIC | {"publish", "status"})
    yield Damage("both heads deleted", both(without(f"{mine}/head.json"), without(f"{open_side}/head.json")), NONE)
    yield Damage("an unknown release", copied(newest, f"{open_side}/r3"), PUBLIC | {"publish"})
    yield Damage("a release under another name", copied(newest, f"{open_side}/r9"), PUBLIC)
    yield Damage("an empty folder beside the releases", as_folder(f"{open_side}/r3"), PUBLIC | {"publish"})
    yield Damage("a stray file in a release", with_file(f"{newest}/notes.txt"), PUBLIC)
    yield Damage("a stray file beside the releases", with_file(f"{open_side}/notes.txt"), PUBLIC)
    yield Damage("a stray file in the private folder", with_file(f"{mine}/notes.txt"), NONE)
    yield Damage("a stray file in staging", with_file(f"{mine}/staging/notes.txt"), NONE)
    yield Damage("a stray folder in staging", with_file(f"{mine}/staging/r3/table.csv"), NONE)
    yield Damage("an older release in staging", with_file(f"{mine}/staging/r1/manifest.json", b"{}"), NONE)
    no_staging = both(without(f"{mine}/staging"), with_file(f"{mine}/staging"))
    yield Damage("a file instead of the staging folder", no_staging, NONE)
    yield Damage("a folder instead of the store", as_folder(f"{mine}/store.duckdb"), STATE)
    yield Damage("a folder instead of the key", as_folder(f"{mine}/pseudonym.key"), frozenset({"publish"}))
    yield Damage("a folder instead of a manifest", as_folder(f"{newest}/manifest.json"), PUBLIC)
    yield Damage("a link instead of the newest release", as_link(newest), PUBLIC)
    yield Damage("a link instead of a table", as_link(f"{newest}/table.csv"), PUBLIC)
    yield Damage("a link instead of the store", as_link(f"{mine}/store.duckdb"), NONE)
    yield Damage("a link instead of the private folder", as_link("private"), NONE)
    yield Damage("a lost link instead of the store", lost_link(f"{mine}/store.duckdb"), STATE)
    yield Damage("a lost link where r3 will be", lost_link(f"{open_side}/r3"), frozenset({"publish"}))
    yield Damage("a log that is not one", with_file(f"{mine}/store.duckdb.wal", b"not a log" * 99), NONE)


def of_logs(prepared: Prepared) -> Iterator[Damage]:
    """The log that a killed process left: cut, changed or lost."""
    if prepared.logged is None:
        return
    name = "private/clinic/store.duckdb.wal"
    for label, act in (
        ("cut by a byte", _at(name, cut, 1.0)),
        ("cut by half", _at(name, cut, 0.5)),
        ("empty", _at(name, cut, 0.0)),
        ("lost", without(name)),
        ("a byte changed", _at(name, flipped, 0.5)),
    ):
        yield Damage(f"the store's log after a kill: {label}", act, NONE, after_kill=True)
