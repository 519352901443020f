"""A backup holds everything that the series needs to go on, in one file that tells nothing."""

import os
import stat
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import BinaryIO, cast

import duckdb
import pytest
from builders.series import DISEASES, lively, write_series

from reanon_dagster.backup import passphrase
from reanon_dagster.backup.encrypted_file import EncryptedReader
from reanon_dagster.cli import main
from reanon_dagster.storage.connection import STORE
from reanon_dagster.storage.pseudonym_key import KEY_FILE


def backed_up(series: Path, name: str = "clinic.backup") -> Path:
    target = series.parent / name
    assert main(["backup", str(series), "--out", str(target), "--quiet"]) == 0
    return target


def names(path: Path) -> list[str]:
    with path.open("rb") as file:
        source = cast("BinaryIO", EncryptedReader(file, os.environ[passphrase.ENVIRONMENT]))
        with tarfile.open(mode="r|", fileobj=source) as archive:
            return archive.getnames()


def test_a_backup_is_one_private_file_that_tells_nothing_about_people(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = clinic.parent / "clinic.backup"
    assert main(["backup", str(clinic), "--out", str(target)]) == 0
    said = capsys.readouterr().out
    assert "2 releases, up to r2" in said
    assert "sha256 of the backup" in said
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    data = target.read_bytes()
    key = (clinic.parent / "private" / "clinic" / KEY_FILE).read_bytes()
    assert key not in data
    assert not any(word.encode() in data for word in (*DISEASES, "Zacharias") if len(word) >= 6)
    assert [path.name for path in clinic.parent.iterdir() if "backup" in path.name] == ["clinic.backup"]


def test_a_backup_holds_the_whole_private_folder_but_what_can_be_made_again(clinic: Path) -> None:
    folder = clinic.parent / "private" / "clinic"
    for name in (
        "withheld/r1.csv",
        "refused/r3.csv",
        "staging/r9/table.csv",
        "scratch/run-1/rows",
        "data_docs/index.html",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("Zacharias")
    inside = names(backed_up(clinic))
    assert inside[0] == "inventory.json"
    assert sorted(inside[1:]) == sorted(
        f"private/{name}" for name in (KEY_FILE, STORE, "withheld/r1.csv", "refused/r3.csv", "head.json")
    )


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("published/clinic.backup", "outside the published folder"),
        ("private/clinic/clinic.backup", "outside the private folder"),
        ("series.yaml", "be a new file"),
        ("nowhere/clinic.backup", "lie in a folder that exists"),
    ],
)
def test_a_backup_goes_to_a_new_file_in_a_private_place(
    clinic: Path, place: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backup", str(clinic), "--out", str(clinic.parent / place)]) == 2
    assert sentence in capsys.readouterr().err


def test_a_series_without_a_store_has_nothing_to_back_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = write_series(tmp_path, snapshots=lively(1, 60))
    assert main(["backup", str(series), "--out", str(tmp_path / "b")]) == 1
    assert "no private store to back up" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_a_damaged_store_is_noticed_by_the_backup(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = clinic.parent / "private" / "clinic" / STORE
    data = bytearray(store.read_bytes())
    for place in range(len(data) // 2, len(data), 4096):
        data[place] ^= 0xFF
    store.write_bytes(bytes(data))
    assert main(["backup", str(clinic), "--out", str(clinic.parent / "b")]) == 1
    assert "restore" in capsys.readouterr().err
    assert not (clinic.parent / "b").exists()


def test_no_backup_is_taken_while_another_process_publishes(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = clinic.parent / "private" / "clinic" / STORE
    hold = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    monkeypatch.setattr(
        "reanon_dagster.storage.connection.opened.__wrapped__.__kwdefaults__", {"patience": 0.3, "memory_limit": None}
    )
    command = [sys.executable, "-c", hold, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert main(["backup", str(clinic), "--out", str(clinic.parent / "b")]) == 1
        holder.communicate()
    assert "another process is working" in capsys.readouterr().err


def test_the_passphrase_comes_from_a_file_that_only_its_owner_can_read(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(passphrase.ENVIRONMENT)
    secret = clinic.parent / "pass"
    secret.write_text("a long enough passphrase\n")
    secret.chmod(0o644)
    arguments = ["backup", str(clinic), "--out", str(clinic.parent / "b"), "--passphrase-file", str(secret)]
    assert main(arguments) == 2
    assert "--passphrase-file" in (said := capsys.readouterr().err)
    assert "readable by its owner only" in said
    secret.chmod(0o600)
    assert main(arguments) == 0
    secret.write_text("too short")
    assert main([*arguments[:3], str(clinic.parent / "c"), *arguments[4:]]) == 2
    assert "at least 12 characters" in (said := capsys.readouterr().err)
    assert "too short" not in said


def test_without_a_passphrase_the_sentence_says_the_ways(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(passphrase.ENVIRONMENT)
    assert main(["backup", str(clinic), "--out", str(clinic.parent / "b")]) == 2
    said = capsys.readouterr().err
    assert all(way in said for way in ("--passphrase-file", passphrase.ENVIRONMENT, "keyring", "terminal"))
    monkeypatch.setattr(passphrase, "keyring_secret", {"clinic": "from the keyring"}.get)
    assert main(["backup", str(clinic), "--out", str(clinic.parent / "b")]) == 0
    monkeypatch.setattr(passphrase, "keyring_secret", lambda _: None)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    answers = iter(["from the keyring", "from the keyring", "one of these", "is not the other"])
    monkeypatch.setattr("getpass.getpass", lambda _: next(answers))
    assert main(["backup", str(clinic), "--out", str(clinic.parent / "c")]) == 0
    assert main(["backup", str(clinic), "--out", str(clinic.parent / "d")]) == 2
    assert "be the same both times" in capsys.readouterr().err


def test_a_link_in_the_private_folder_is_told(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (clinic.parent / "private" / "clinic" / "withheld").symlink_to(clinic.parent)
    assert main(["backup", str(clinic), "--out", str(clinic.parent / "b")]) == 1
    assert "is a link" in capsys.readouterr().err


def test_a_store_that_changed_after_the_first_backup_can_be_backed_up_again(clinic: Path) -> None:
    backed_up(clinic, "first")
    with duckdb.connect(str(clinic.parent / "private" / "clinic" / STORE)) as connection:
        connection.execute("INSERT INTO private.refusals VALUES ('r3', current_localtimestamp(), 'because')")
    assert names(backed_up(clinic, "second")) == names(clinic.parent / "first")
