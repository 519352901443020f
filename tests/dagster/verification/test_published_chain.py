"""A verifier with the public folder alone finds every kind of tampering, and says all of it at once."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reanon_dagster.verification.published_chain import (
    LedgerRelease,
    ledger_flaws,
    read_chain,
    verify_published,
    verify_release,
)

NAMES = ("r1", "r2", "r3", "r4")


def write_release(folder: Path, name: str, previous: str | None, series: str = "clinic") -> str:
    """A release of two files, written without reanon; gives the digest of its manifest."""
    place = folder / name
    place.mkdir(parents=True)
    files = {"table.csv": f"group_id,disease\n0,{name}\n", "counterfeits.csv": "group_id,count\n"}
    for file, text in files.items():
        (place / file).write_text(text)
    digests = {file: {"sha256": hashlib.sha256(text.encode()).hexdigest()} for file, text in files.items()}
    claims = {"series": series, "release": name, "files": digests, "previous_manifest": previous, "series_files": {}}
    return write_claims(place, claims)


def write_claims(place: Path, claims: object) -> str:
    text = json.dumps(claims)
    (place / "manifest.json").write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


def claims_of(place: Path) -> dict[str, object]:
    claims: dict[str, object] = json.loads((place / "manifest.json").read_text())
    return claims


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    previous = None
    for name in NAMES:
        previous = write_release(tmp_path / "clinic", name, previous)
    return tmp_path / "clinic"


def found(folder: Path) -> list[str]:
    return [flaw.sentence for flaw in verify_published(folder).flaws]


def edit(place: Path, **changes: object) -> None:
    write_claims(place, claims_of(place) | changes)


def exchange(folder: Path) -> None:
    for old, new in (("r2", "x"), ("r3", "r2"), ("x", "r3")):
        (folder / old).rename(folder / new)


def replace_by_file(folder: Path) -> None:
    shutil.rmtree(folder / "r2")
    (folder / "r2").write_text("")


def replace_by_link(path: Path, target: Path) -> None:
    path.rename(target)
    path.symlink_to(target)


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


TAMPERING: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a changed file": (
        lambda f: (f / "r2" / "table.csv").write_text("x"),
        ["r2/table.csv was changed: it does not have the sha256 of its manifest"],
    ),
    "a file cut short": (lambda f: cut(f / "r4" / "table.csv"), ["r4/table.csv was changed"]),
    "an empty file": (lambda f: (f / "r1" / "table.csv").write_text(""), ["r1/table.csv was changed"]),
    "a deleted file": (lambda f: (f / "r2" / "table.csv").unlink(), ["r2/table.csv is missing"]),
    "an additional file": (
        lambda f: (f / "r2" / "more.csv").write_text("x"),
        ["r2/more.csv is a file that its manifest does not list"],
    ),
    "an additional folder in a release": (
        lambda f: (f / "r2" / "more").mkdir(),
        ["r2/more is a folder that its manifest does not list"],
    ),
    "a file beside the releases": (
        lambda f: (f / "notes.txt").write_text("x"),
        ["notes.txt is a file that belongs to no release: delete it"],
    ),
    "a hidden folder beside the releases": (
        lambda f: (f / ".r5.arriving").mkdir(),
        [".r5.arriving is a folder that belongs to no release: delete it"],
    ),
    "a name that would disturb a terminal": (
        lambda f: (f / "\x1b[2J").write_text("x"),
        ["'\\x1b[2J' is a file that belongs to no release: delete it"],
    ),
    "a file that is a link": (
        lambda f: replace_by_link(f / "r2" / "table.csv", f.parent / "table.csv"),
        ["r2/table.csv cannot be read: it is a link"],
    ),
    "a manifest that is a link": (
        lambda f: replace_by_link(f / "r4" / "manifest.json", f.parent / "m.json"),
        ["r4/manifest.json cannot be read: it is a link"],
    ),
    "a release that is a link": (
        lambda f: replace_by_link(f / "r4", f.parent / "r4"),
        ["r4 is a link that belongs to no release: delete it"],
    ),
    "a file that is a pipe": (
        lambda f: replace_by_pipe(f / "r2" / "table.csv"),
        ["r2/table.csv cannot be read: it is not a regular file"],
    ),
    "a release that is a file": (
        replace_by_file,
        ["r2 is a file that belongs to no release: delete it", "release r3 follows a manifest that is not here"],
    ),
    "a deleted manifest": (
        lambda f: (f / "r4" / "manifest.json").unlink(),
        ["r4 is a folder without a manifest: it is no release, or it has lost its manifest"],
    ),
    "a deleted release": (lambda f: shutil.rmtree(f / "r2"), ["release r3 follows a manifest that is not here"]),
    "a deleted first release": (
        lambda f: shutil.rmtree(f / "r1"),
        ["no release is the first", "release r2 follows a manifest that is not here"],
    ),
    "exchanged releases": (
        exchange,
        ["r2/manifest.json names another release than its folder", "r3/manifest.json names another release"],
    ),
    "a copied release": (
        lambda f: shutil.copytree(f / "r2", f / "r9"),
        ["r9/manifest.json names another release than its folder", "r2 and r9 have the same manifest"],
    ),
    "an edited manifest": (
        lambda f: edit(f / "r2", withheld=0),
        ["release r3 follows a manifest that is not here"],
    ),
    "a manifest edited by one space": (
        lambda f: (f / "r2" / "manifest.json").write_text((f / "r2" / "manifest.json").read_text() + " "),
        ["release r3 follows a manifest that is not here"],
    ),
    "a fork": (
        lambda f: write_release(f, "r2b", claims_of(f / "r2")["previous_manifest"]),  # type: ignore[arg-type]
        ["r2 and r2b each follow r1: one chain has one order"],
    ),
    "two beginnings": (
        lambda f: write_release(f, "r0", None),
        ["r0 and r1 each begin the chain: one chain has one order"],
    ),
    "a release of another series": (
        lambda f: write_release(f, "r5", hashlib.sha256((f / "r4" / "manifest.json").read_bytes()).hexdigest(), "bank"),
        ["release r5 belongs to the series bank, the first to clinic"],
    ),
    "a manifest that is no JSON": (
        lambda f: cut(f / "r4" / "manifest.json"),
        ["r4/manifest.json is not valid JSON: it was changed or cut short"],
    ),
    "a manifest that is nested too deep": (
        lambda f: (f / "r4" / "manifest.json").write_text("[" * 100_000),
        ["r4/manifest.json is not valid JSON"],
    ),
    "a manifest with a key twice": (
        lambda f: (f / "r4" / "manifest.json").write_text('{"series": "a", "series": "clinic"}'),
        ["r4/manifest.json is not valid JSON"],
    ),
    "a manifest that is not text": (
        lambda f: (f / "r4" / "manifest.json").write_bytes(b"\xff\xfe{}"),
        ["r4/manifest.json is not valid JSON"],
    ),
    "a manifest that is a list": (
        lambda f: write_claims(f / "r4", []),
        ["r4/manifest.json is not a manifest"],
    ),
    "a manifest without a predecessor": (
        lambda f: edit(f / "r4", previous_manifest="r3"),
        [
            "r4/manifest.json does not say which manifest comes before it",
            "release r4 follows a manifest that is not here",
        ],
    ),
    "a manifest that leaves its folder": (
        lambda f: edit(f / "r4", files={"../r1/table.csv": {"sha256": "0" * 64}}),
        [
            "r4/manifest.json lists ../r1/table.csv, which is not the name of a file in its folder",
            "r4/counterfeits.csv is a file that its manifest does not list",
            "r4/table.csv is a file that its manifest does not list",
        ],
    ),
    "a manifest without hashes": (
        lambda f: edit(f / "r4", files={"table.csv": {}, "counterfeits.csv": "x"}),
        [
            "r4/manifest.json has no sha256 for table.csv",
            "r4/manifest.json has no sha256 for counterfeits.csv",
            "r4/counterfeits.csv is a file that its manifest does not list",
            "r4/table.csv is a file that its manifest does not list",
        ],
    ),
    "a manifest without files": (
        lambda f: edit(f / "r4", files=None),
        ["r4/manifest.json lists no files", "r4/counterfeits.csv is a file", "r4/table.csv is a file"],
    ),
}


def test_a_sound_folder_has_no_flaws_and_its_releases_are_in_the_order_of_the_chain(folder: Path) -> None:
    (folder / "r1").rename(folder / "z")  # the order comes from the chain, not from names
    shutil.rmtree(folder)
    previous = None
    for name in ("b", "c", "a"):
        previous = write_release(folder, name, previous)
    chain = verify_published(folder)
    assert chain.flaws == ()
    assert [manifest.folder for manifest in chain.manifests] == ["b", "c", "a"]


@pytest.mark.parametrize("kind", TAMPERING)
def test_tampering_is_found(folder: Path, kind: str) -> None:
    tamper, expected = TAMPERING[kind]
    tamper(folder)
    sentences = found(folder)
    assert len(sentences) == len(expected), sentences
    for sentence, begin in zip(sentences, expected, strict=True):
        assert sentence.startswith(begin)


def test_every_flaw_is_said_at_once(folder: Path) -> None:
    (folder / "r1" / "table.csv").unlink()
    (folder / "r3" / "table.csv").write_text("x")
    (folder / "stray").write_text("")
    assert len(found(folder)) == 3


def test_the_chain_is_read_without_the_files_of_its_releases(folder: Path) -> None:
    (folder / "r1" / "table.csv").unlink()
    chain = read_chain(folder)
    assert chain.flaws == ()
    assert [manifest.folder for manifest in chain.manifests] == list(NAMES)


def test_one_release_is_verified_by_its_own_manifest(folder: Path) -> None:
    assert verify_release(folder / "r2").flaws == ()
    (folder / "r2" / "table.csv").write_text("x")
    assert [flaw.sentence[:24] for flaw in verify_release(folder / "r2").flaws] == ["r2/table.csv was changed"]


def ledger_of(folder: Path) -> list[LedgerRelease]:
    return [LedgerRelease(one.folder, one.digest) for one in read_chain(folder).manifests]


def test_the_ledger_finds_what_the_folder_alone_cannot_show(folder: Path) -> None:
    ledger = ledger_of(folder)
    assert ledger_flaws(read_chain(folder), ledger) == []
    edit(folder / "r4", withheld=0)  # nothing follows it, so the chain is whole
    assert found(folder) == []
    forged = [flaw.sentence for flaw in ledger_flaws(read_chain(folder), ledger)]
    assert forged == ["r4/manifest.json is not the manifest that the ledger records"]
    shutil.rmtree(folder / "r4")
    assert found(folder) == []
    lost = ledger_flaws(read_chain(folder), ledger)
    assert [flaw.release for flaw in lost] == ["r4"]
    assert "is missing from the published folder" in lost[0].sentence


def test_a_published_folder_ahead_of_the_ledger_is_found(folder: Path) -> None:
    ahead = ledger_flaws(read_chain(folder), ledger_of(folder)[:3])
    assert [flaw.sentence for flaw in ahead] == ["release r4 is published, and the ledger does not know it"]


def test_a_rewritten_series_is_found_by_the_ledger_alone(folder: Path) -> None:
    ledger = ledger_of(folder)
    shutil.rmtree(folder)
    previous = None
    for name in ("r2", "r1", "r3", "r4"):
        previous = write_release(folder, name, previous)
    assert found(folder) == []
    assert len(ledger_flaws(read_chain(folder), ledger)) == 4
    assert len(ledger_flaws(read_chain(folder), ledger_of(folder)[::-1])) == 1  # the same manifests in another order


@pytest.mark.parametrize("closed", ["r2/table.csv", "r4/manifest.json"])
def test_what_may_not_be_read_is_a_flaw_and_no_stray(
    folder: Path, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open", "lstat"):  # for root no file is closed
        real = getattr(os, name)

        def refused(path: object, *rest: object, real: Callable[..., object] = real, **named: object) -> object:
            if str(path) == str(folder / closed):
                raise PermissionError(13, "Permission denied")
            return real(path, *rest, **named)

        monkeypatch.setattr(os, name, refused)
    assert found(folder) == [f"{closed} cannot be read: Permission denied"]
