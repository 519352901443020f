"""A restored series goes on as if nothing had happened; a backup older than what is published is refused."""

import json
import os
import secrets
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from builders.series import DISEASES, SERIES, lively, plainly_published, write_series

from reanon_dagster.backup import series_restore
from reanon_dagster.cli import main
from reanon_dagster.storage import connection
from reanon_dagster.storage.connection import STORE
from reanon_dagster.storage.encryption import EXTENSION
from reanon_dagster.storage.head_file import HEAD
from reanon_dagster.storage.pseudonym_key import KEY_FILE
from reanon_dagster.storage.store_tables import VERSION


def private(series: Path) -> Path:
    return series.parent / "private" / "clinic"


def published(series: Path, release: str) -> dict[str, bytes]:
    folder = series.parent / "published" / "clinic" / release
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def backed_up(series: Path, name: str) -> str:
    target = series.parent / name
    assert main(["backup", str(series), "--out", str(target), "--quiet"]) == 0
    return str(target)


def put_aside(series: Path) -> list[Path]:
    return sorted(private(series).parent.glob("clinic.before-restore-*"))


def break_store(series: Path) -> None:
    (private(series) / STORE).write_bytes(os.urandom(1 << 16))


TECHNIQUES = {
    "m-invariance": "{name: m-invariance, m: 3}",
    "cor-split": "{name: cor-split, m: 3, n: 2}",
    "bpg": "{name: bpg, k: 3, ell: 2, variant: ghost}",
    "js-reduce": "{name: js-reduce, k: 3, ell: 2, t: 0.9, j: 0.9}",
    "sequential": "{name: sequential, ell: 2, on_delete: defer}",
    "mondrian": "{name: mondrian, k: 3, ell: 2}",
}


@pytest.mark.parametrize(
    "technique",
    [name if name == "m-invariance" else pytest.param(name, marks=pytest.mark.slow) for name in TECHNIQUES],
)
def test_a_restored_series_publishes_the_same_bytes_as_if_nothing_had_happened(tmp_path: Path, technique: str) -> None:
    text = SERIES.replace(TECHNIQUES["m-invariance"], TECHNIQUES[technique])
    snapshots = lively(3, 60)
    if technique == "sequential":  # its people do not age
        snapshots = {name: frame.assign(age=frame["zip"] % 90) for name, frame in snapshots.items()}
    series = write_series(tmp_path, text=text, snapshots=snapshots)
    for seed in ("1", "2"):
        assert main(["publish", str(series), "--quiet", "--seed", seed]) == 0
    backup = backed_up(series, "b")
    twin = shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-twin")) / "series.yaml"
    shutil.rmtree(private(series))
    assert main(["restore", str(series), "--from", backup, "--quiet"]) == 0
    for one in (series, twin):
        assert main(["publish", str(one), "--quiet", "--seed", "3"]) == 0
    assert published(series, "r3") == published(twin, "r3")


def test_an_older_backup_is_refused_and_changes_nothing(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older = backed_up(clinic, "older")
    assert main(["publish", str(clinic), "--quiet", "--seed", "3"]) == 0
    before = {path: path.read_bytes() for path in private(clinic).rglob("*") if path.is_file()}
    for option in ([], ["--verify"]):
        assert main(["restore", str(clinic), "--from", older, *option]) == 1
        assert "too old: it ends with r2, and the published folder has r3" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in private(clinic).rglob("*") if path.is_file()} == before
    assert [path.name for path in private(clinic).parent.iterdir()] == ["clinic"]


def test_every_witness_alone_is_enough_to_refuse_an_older_backup(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = backed_up(clinic, "older")
    assert main(["publish", str(clinic), "--quiet", "--seed", "3"]) == 0
    public = clinic.parent / "published" / "clinic"
    shutil.rmtree(public / "r3")
    heads = {
        public.with_name("clinic.head.json"): "clinic.head.json in the published folder",
        private(clinic) / HEAD: "head.json in the private folder",
    }
    for path in heads:
        path.unlink()
    assert main(["restore", str(clinic), "--from", older]) == 1
    assert "the present store has r3" in capsys.readouterr().err
    break_store(clinic)
    head = json.dumps({"series": "clinic", "position": 3, "release": "r3", "manifest": "0" * 64})
    for path, witness in heads.items():
        for other in heads:
            other.unlink(missing_ok=True)
        path.write_text(head)
        assert main(["restore", str(clinic), "--from", older]) == 1
        assert witness in capsys.readouterr().err


def test_a_backup_of_another_history_is_refused(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twin = write_series(clinic.parent / "twin", snapshots=lively(4, 60, seed=5))
    for seed in ("1", "2"):
        assert main(["publish", str(twin), "--quiet", "--seed", seed]) == 0
    backup = backed_up(twin, "b")
    assert main(["restore", str(clinic), "--from", backup]) == 1
    assert "pseudonym key or its frozen settings differ" in capsys.readouterr().err
    break_store(clinic)
    assert main(["restore", str(clinic), "--from", backup]) == 1
    assert "of another history: its r1 is not the r1 that the published folder has" in capsys.readouterr().err
    clinic.write_text(SERIES.replace("series: clinic", "series: dentist"))
    assert main(["restore", str(clinic), "--from", backup]) == 1
    assert "of the series clinic, and not of dentist" in capsys.readouterr().err


def test_a_broken_store_is_replaced_and_the_former_folder_kept(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = backed_up(clinic, "b")
    break_store(clinic)
    broken = (private(clinic) / STORE).read_bytes()
    assert main(["restore", str(clinic), "--from", backup]) == 0
    captured = capsys.readouterr()
    assert "clinic: restored (2 releases, up to r2" in captured.out
    (kept,) = put_aside(clinic)
    assert kept.name in captured.err
    assert "destroy it" in captured.err
    assert (kept / STORE).read_bytes() == broken
    assert main(["publish", str(clinic), "--quiet", "--seed", "3"]) == 0
    for path in (private(clinic), *private(clinic).rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_backup_is_verified_without_a_private_folder_and_writes_nothing(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = backed_up(clinic, "b")
    shutil.rmtree(clinic.parent / "private")
    assert main(["restore", str(clinic), "--from", backup, "--verify"]) == 0
    assert "sound and could be restored (2 releases, up to r2" in capsys.readouterr().out
    assert not (clinic.parent / "private").exists()


@pytest.mark.parametrize("place", [0, 100, -1])
def test_a_changed_backup_is_refused_and_leaves_nothing_behind(clinic: Path, place: int) -> None:
    backup = Path(backed_up(clinic, "b"))
    data = bytearray(backup.read_bytes())
    data[place] ^= 1
    backup.write_bytes(bytes(data))
    before = (private(clinic) / STORE).read_bytes()
    assert main(["restore", str(clinic), "--from", str(backup)]) == 1
    assert (private(clinic) / STORE).read_bytes() == before
    assert [path.name for path in private(clinic).parent.iterdir()] == ["clinic"]


@pytest.mark.parametrize("step", ["before", "after"])
def test_an_interruption_at_the_exchange_leaves_one_whole_folder_and_loses_none(
    clinic: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = backed_up(clinic, "b")
    (private(clinic) / "marker").touch()
    real = series_restore._exchanged

    def interrupted(one: Path, other: Path) -> bool:
        if step == "after":
            real(one, other)
        raise KeyboardInterrupt

    monkeypatch.setattr(series_restore, "_exchanged", interrupted)
    assert main(["restore", str(clinic), "--from", backup]) == 130
    assert (private(clinic) / "marker").exists() == (step == "before")
    assert len([path for path in private(clinic).parent.iterdir() if (path / "marker").exists()]) == 1
    assert main(["status", str(clinic), "--quiet"]) == 0


@pytest.mark.slow
def test_a_kill_leaves_the_old_or_the_new_folder_in_place(clinic: Path) -> None:
    """The process ends itself at every call that changes the private folder's name or that of the arriving one."""
    backup = backed_up(clinic, "b")
    run = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from reanon_dagster.backup import series_restore
        from reanon_dagster.cli import main
        left = int(sys.argv[1])
        def counted(call):
            def wrapped(*arguments, **named):
                global left
                left -= 1
                if left < 0:
                    os._exit(9)
                found = call(*arguments, **named)
                left -= 1
                if left < 0:
                    os._exit(9)
                return found
            return wrapped
        Path.rename = counted(Path.rename)
        series_restore._exchanged = counted(series_restore._exchanged)
        sys.exit(main(["restore", *sys.argv[2:]]))
    """)
    for kill in range(5):
        (private(clinic) / "marker").touch()
        arguments = [str(kill), str(clinic), "--from", backup, "--quiet"]
        code = subprocess.run([sys.executable, "-c", run, *arguments], check=False, capture_output=True).returncode
        assert code == (9 if kill < 4 else 0)
        assert (private(clinic) / STORE).stat().st_size > 0
        assert (private(clinic) / KEY_FILE).stat().st_size > 0
        new = not (private(clinic) / "marker").exists()
        assert new == (kill >= 1)
        kept = [path for path in private(clinic).parent.iterdir() if (path / "marker").exists()]
        assert kept  # the former folder is never lost
        for path in private(clinic).parent.iterdir():
            if path != private(clinic):
                shutil.rmtree(path)


def test_where_the_system_cannot_exchange_folders_they_are_renamed(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = backed_up(clinic, "b")
    monkeypatch.setattr(series_restore, "_exchanged", lambda *_: False)
    assert main(["restore", str(clinic), "--from", backup, "--quiet"]) == 0
    assert len(put_aside(clinic)) == 1
    assert main(["status", str(clinic), "--quiet"]) == 0


def test_a_leftover_of_a_killed_restore_is_told(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = backed_up(clinic, "b")
    (private(clinic).parent / ".clinic.arriving-0").mkdir()
    assert main(["restore", str(clinic), "--from", backup]) == 0
    assert "an interrupted restore left .clinic.arriving-0" in capsys.readouterr().err


def test_backup_and_restore_turn_encryption_on_change_the_key_and_turn_it_off(clinic: Path) -> None:
    pytest.importorskip(EXTENSION, reason="install reanon[encryption]")

    def restored(settings: str, name: str) -> bytes:
        backup = backed_up(clinic, name)
        clinic.write_text(plainly_published(SERIES + settings))
        assert main(["restore", str(clinic), "--from", backup, "--quiet"]) == 0
        assert main(["status", str(clinic), "--quiet"]) == 0
        return (private(clinic) / STORE).read_bytes() + (private(clinic) / KEY_FILE).read_bytes()

    key = (private(clinic) / KEY_FILE).read_bytes()
    words = [key, *(word.encode() for word in DISEASES if len(word) >= 6)]
    for name in ("one", "two"):
        (clinic.parent / name).touch(0o600)
        (clinic.parent / name).write_text(secrets.token_hex(32))
    encrypted = restored("private: {key: {file: one}}\n", "a")
    assert not any(word in encrypted for word in words)
    other = restored("private: {key: {file: two}}\n", "b")
    assert not any(word in other for word in words)
    plain = restored("", "c")
    assert all(word in plain for word in words)
    assert main(["publish", str(clinic), "--quiet", "--seed", "3"]) == 0
    assert main(["audit", str(clinic), "--quiet", "--attack", "intersection"]) == 0


def test_a_backup_of_another_version_is_refused_and_changes_nothing(
    clinic: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = backed_up(clinic, "before")
    store = (private(clinic) / STORE).read_bytes()
    monkeypatch.setattr(connection, "VERSION", VERSION + 1)
    assert main(["restore", str(clinic), "--from", backup, "--quiet"]) == 1
    said = f"has version {VERSION}, and this version of reanon reads version {VERSION + 1} only"
    assert said in capsys.readouterr().err
    assert (private(clinic) / STORE).read_bytes() == store
    assert put_aside(clinic) == []


def test_a_backup_from_before_a_person_was_forgotten_or_a_release_withdrawn_is_refused(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = backed_up(clinic, "before")
    assert main(["forget", str(clinic), "--id", "Zacharias-000001", "--quiet"]) == 0
    after = backed_up(clinic, "after")
    assert main(["restore", str(clinic), "--from", before]) == 1
    assert "1 person is forgotten, and 0 in the backup" in capsys.readouterr().err
    break_store(clinic)
    assert main(["restore", str(clinic), "--from", before]) == 1  # the head file knows it, too
    assert main(["restore", str(clinic), "--from", after, "--quiet"]) == 0
    assert main(["withdraw", str(clinic), "--release", "r2", "--because", "wrong", "--quiet"]) == 0
    assert main(["restore", str(clinic), "--from", after]) == 1
    assert "made before r2 was withdrawn" in capsys.readouterr().err


def test_an_older_store_that_is_put_back_by_hand_does_not_bring_a_forgotten_person_back(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = private(clinic) / STORE
    before = store.read_bytes()
    assert main(["forget", str(clinic), "--id", "Zacharias-000001", "--quiet"]) == 0
    assert main(["status", str(clinic), "--quiet"]) == 0
    store.write_bytes(before)
    assert main(["publish", str(clinic), "--quiet"]) == 1
    assert "records that 1 person is forgotten, and the private store knows 0 of them" in capsys.readouterr().err
