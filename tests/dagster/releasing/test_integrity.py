"""Store, head files and published folder: whatever is put back, lost or changed is noticed before the next release."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from builders.series import SERIES, lively, write_series

from reanon_dagster.cli import main
from reanon_dagster.releasing.integrity import SOUND, integrity_of
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.series_store import read_summary
from reanon_dagster.verification import sound_releases
from reanon_dagster.verification.sound_releases import SoundReleases


@pytest.fixture(scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases, and the private folder as it was after the first."""
    folder = tmp_path_factory.mktemp("published")
    series = write_series(folder, text=SERIES + "private: {head: heads/clinic.json}\n", snapshots=lively(3, 72))
    assert main(["publish", str(series), "--quiet"]) == 0
    shutil.copytree(folder / "private", folder / "older")
    assert main(["publish", str(series), "--quiet"]) == 0
    return folder


@pytest.fixture
def folder(_published: Path, tmp_path: Path) -> Path:
    shutil.copytree(_published, tmp_path / "here")
    return tmp_path / "here"


def put_back(folder: Path) -> None:
    shutil.rmtree(folder / "private")
    (folder / "older").rename(folder / "private")


def put_back_without_the_newest_release(folder: Path) -> None:
    put_back(folder)
    shutil.rmtree(folder / "published" / "clinic" / "r2")


def put_both_back(folder: Path) -> None:
    put_back_without_the_newest_release(folder)
    (folder / "published" / "clinic.head.json").unlink()


def lose_the_store(folder: Path) -> None:
    for name in ("store.duckdb", "head.json"):
        (folder / "private" / "clinic" / name).unlink()
    shutil.rmtree(folder / "published")
    (folder / "heads" / "clinic.json").unlink()


def put_the_store_back_alone(folder: Path) -> None:
    store = folder / "private" / "clinic" / "store.duckdb"
    store.unlink()
    shutil.copy(folder / "older" / "clinic" / "store.duckdb", store)
    shutil.rmtree(folder / "published")
    (folder / "heads" / "clinic.json").unlink()


def change_a_table(folder: Path) -> None:
    (folder / "published" / "clinic" / "r1" / "table.csv").write_text("x")


def change_a_manifest(folder: Path) -> None:
    path = folder / "published" / "clinic" / "r1" / "manifest.json"
    path.write_text(path.read_text().replace('"rows"', '"rowz"'))


def delete_a_file(folder: Path) -> None:
    (folder / "published" / "clinic" / "r2" / "counterfeits.parquet").unlink()


def delete_a_release(folder: Path) -> None:
    shutil.rmtree(folder / "published" / "clinic" / "r1")


def delete_the_folder(folder: Path) -> None:
    shutil.rmtree(folder / "published" / "clinic")


def add_a_release(folder: Path) -> None:
    shutil.copytree(folder / "published" / "clinic" / "r2", folder / "published" / "clinic" / "r3")


def damage_the_head(folder: Path) -> None:
    (folder / "private" / "clinic" / "head.json").write_text("{")


def lose_the_key(folder: Path) -> None:
    (folder / "private" / "clinic" / "pseudonym.key").unlink()


def link_a_release(folder: Path) -> None:
    release = folder / "published" / "clinic" / "r1"
    release.rename(folder / "elsewhere")
    release.symlink_to(folder / "elsewhere")


OLDER = "restore the latest private folder from a backup"
WRONG: list[tuple[Callable[[Path], None], str]] = [
    (put_back, f"the private store knows 1, so it is an older one, and the next release could expose people; {OLDER}"),
    (put_back_without_the_newest_release, "clinic.head.json in the published folder records 2 releases"),
    (put_both_back, "the file that private.head names records 2 releases"),
    (lose_the_store, "the private folder has a key and no store"),
    (put_the_store_back_alone, "head.json in the private folder records 2 releases"),
    (change_a_table, "r1/table.csv was changed"),
    (change_a_manifest, "r1/manifest.json is not the manifest that the ledger records"),
    (delete_a_file, "r2/counterfeits.parquet is missing"),
    (delete_a_release, "release r1 is in the ledger, and its manifest is missing"),
    (delete_the_folder, "the published folder is missing"),
    (add_a_release, "has releases that the private store does not know (r3)"),
    (damage_the_head, "head.json in the private folder is damaged"),
    (lose_the_key, "pseudonym.key is gone from the private folder"),
    (link_a_release, "release r1 is in the ledger, and its manifest is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "sentence"), WRONG, ids=lambda one: getattr(one, "__name__", "")[:40])
def test_what_does_not_belong_together_is_said_by_every_command_and_nothing_is_published(
    folder: Path, wrong: Callable[[Path], None], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong(folder)
    path = str(folder / "series.yaml")
    before = {one: one.stat().st_mtime_ns for one in (folder / "published").rglob("*")}
    every = (["status"], ["publish"], ["validate"], ["publish", "--dry-run"], ["backfill"])
    for command in every if wrong in {put_back, change_a_table} else every[:2]:  # the others read the same view
        assert main([command[0], path, *command[1:], "--quiet"]) == 1
        assert sentence in capsys.readouterr().err, command
    assert {one: one.stat().st_mtime_ns for one in (folder / "published").rglob("*")} == before


def test_a_sound_series_publishes_on_and_its_heads_follow(folder: Path) -> None:
    assert main(["status", str(folder / "series.yaml"), "--quiet"]) == 0
    assert main(["publish", str(folder / "series.yaml"), "--quiet"]) == 0
    heads = [folder / "private" / "clinic" / "head.json", folder / "heads" / "clinic.json"]
    heads.append(folder / "published" / "clinic.head.json")
    found = [json.loads(path.read_text()) for path in heads]
    assert found[0] == found[1] == found[2]
    assert (found[0]["position"], found[0]["release"]) == (3, "r3")
    assert [path.stat().st_mode & 0o777 for path in heads] == [0o600, 0o600, 0o644]
    assert main(["verify", str(folder / "published" / "clinic"), "--quiet"]) == 0


def test_head_files_that_a_kill_left_behind_are_brought_up_to_date(folder: Path) -> None:
    older = {"series": "clinic", "position": 1, "release": "r1"}
    manifest = json.loads((folder / "private" / "clinic" / "head.json").read_text())["manifest"]
    digests = [record.manifest_digest for record in read_summary(folder / "private" / "clinic").records]
    assert digests[1] == manifest
    places = [folder / "private" / "clinic" / "head.json", folder / "published" / "clinic.head.json"]
    for place in places:
        place.write_text(json.dumps(older | {"manifest": digests[0]}))
    (folder / "heads" / "clinic.json").unlink()
    assert main(["status", str(folder / "series.yaml"), "--quiet"]) == 0
    for place in (*places, folder / "heads" / "clinic.json"):
        assert json.loads(place.read_text())["release"] == "r2"


def test_a_stray_file_is_named_and_hinders_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "published" / "clinic" / "notes.txt").write_text("of the steward")
    assert main(["status", str(folder / "series.yaml"), "--quiet"]) == 0
    assert "notes.txt is a file that belongs to no release" in capsys.readouterr().err
    assert main(["audit", str(folder / "series.yaml"), "--attack", "intersection", "--quiet"]) == 1
    assert "notes.txt is a file that belongs to no release" in capsys.readouterr().err
    assert main(["publish", str(folder / "series.yaml"), "--quiet"]) == 0  # an audit that finds it halts nothing
    assert "notes.txt is a file that belongs to no release" in capsys.readouterr().err


def test_a_release_that_was_found_sound_is_read_again_only_if_it_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = load_series(folder / "series.yaml", lazily=True)
    monkeypatch.setattr(sound_releases, "SETTLED", -1.0)
    assert integrity_of(series, remember=True).flaws == ()
    remembered = series.private_folder / SOUND
    assert remembered.stat().st_mode & 0o777 == 0o600
    reads: list[Path] = []
    real = sound_releases.verify_release
    monkeypatch.setattr(sound_releases, "verify_release", lambda there: reads.append(there) or real(there))  # type: ignore[func-returns-value]
    assert integrity_of(series).flaws == ()
    assert reads == []
    table = series.published_folder / "r1" / "table.csv"
    table.write_bytes(table.read_bytes())  # the same content at another time
    assert integrity_of(series).flaws == ()
    assert [path.name for path in reads] == ["r1"]
    remembered.write_text("not ours")
    assert integrity_of(series).flaws == ()


def test_what_changed_just_now_is_not_remembered(folder: Path) -> None:
    sound = SoundReleases()
    release = folder / "published" / "clinic" / "r1"
    (release / "table.csv").touch()
    first = read_summary(folder / "private" / "clinic").records[0]
    assert sound.holds(str(release.parent), "r1", first.manifest_digest)
    assert not sound.changed


def test_a_person_can_accept_what_cannot_be_rebuilt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    delete_a_file(folder)
    path = str(folder / "series.yaml")
    assert main(["publish", path, "--quiet"]) == 1
    assert "run `reanon doctor` to rebuild" in capsys.readouterr().err
    assert main(["lift", path, "--because", "lost with the mirror", "--quiet"]) == 0
    assert "accepted" in capsys.readouterr().err
    assert main(["publish", path, "--quiet"]) == 0
    delete_a_release(folder)
    assert main(["status", path, "--quiet"]) == 1
