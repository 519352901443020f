"""A private folder with a key: what lies on the disk is unreadable without it, and every mismatch is one sentence."""

import logging
import os
import secrets
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders.series import DISEASES, SERIES, lively, write_series

from reanon_core.model.errors import InvalidParameter, InvalidSchema, Refused
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import database, encryption, pseudonym_key, secret
from reanon_dagster.storage.connection import STORE, opened
from reanon_dagster.storage.pseudonym_key import KEY_FILE
from reanon_dagster.storage.series_store import read_summary

pytest.importorskip(encryption.EXTENSION, reason="install reanon[encryption]")

KEYED = SERIES + "private: {to: private, key: {file: store.secret}}\n"


def keep(path: Path, text: str) -> Path:
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_text(text)
    return path


@pytest.fixture
def keyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A series with a key, and one release; every series has the same pseudonyms, so that releases can be compared."""
    monkeypatch.setattr(pseudonym_key, "secrets", SimpleNamespace(token_bytes=bytes, token_hex=secrets.token_hex))
    keep(tmp_path / "store.secret", secrets.token_hex(32) + "\n")
    path = write_series(tmp_path, text=KEYED, snapshots=lively(2, 60))
    assert main(["publish", str(path), "--quiet", "--seed", "1"]) == 0
    return path


def private_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((folder / "private").rglob("*")) if path.is_file())


def test_an_encrypted_private_folder_holds_no_value_in_the_clear_and_publishes_the_same_bytes(
    keyed: Path, tmp_path: Path
) -> None:
    plain = write_series(tmp_path / "plain", snapshots=lively(2, 60))
    assert main(["publish", str(plain), "--quiet", "--seed", "1"]) == 0
    assert main(["publish", str(plain), "--quiet", "--seed", "2"]) == 0
    assert main(["publish", str(keyed), "--quiet", "--seed", "2"]) == 0
    seen = private_bytes(plain.parent)
    words = [word.encode() for word in (*DISEASES, "previous_manifest") if len(word) >= 6]  # "flu" occurs by chance
    assert all(word in seen for word in words)
    hidden = private_bytes(keyed.parent)
    assert not any(word in hidden for word in words)
    for release in ("r1", "r2"):
        tables = [folder / "published" / "clinic" / release for folder in (plain.parent, keyed.parent)]
        assert len({(table / "manifest.json").read_bytes() for table in tables}) == 1
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (keyed.parent / "private").rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_a_wrong_key_opens_nothing(keyed: Path) -> None:
    keep(keyed.parent / "store.secret", other := secrets.token_hex(32))
    folder = load_series(keyed, lazily=True).private_folder
    with pytest.raises(Refused, match=f"{STORE} .*cannot be opened with the key") as caught:
        read_summary(folder)
    assert other not in str(caught.value)
    with pytest.raises(Refused, match=f"{KEY_FILE} .*cannot be opened with the key") as caught:
        pseudonym_key.pseudonym_key(folder, None)
    assert other not in str(caught.value)


def test_an_encrypted_store_without_a_key_and_a_plain_store_with_one_are_told_apart(
    keyed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keyed.write_text(SERIES)
    assert main(["status", str(keyed)]) == 1
    assert "store.duckdb in the private folder is encrypted, and series.yaml names no key" in capsys.readouterr().err
    plain = write_series(keyed.parent / "plain", snapshots=lively(1, 60))
    assert main(["publish", str(plain), "--quiet", "--seed", "1"]) == 0
    keep(plain.parent / "store.secret", "s" * 32)
    plain.write_text(KEYED)
    assert main(["status", str(plain)]) == 1
    assert "store.duckdb in the private folder is not encrypted" in capsys.readouterr().err


def test_a_missing_short_or_shared_key_is_one_sentence(keyed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = keyed.parent / "store.secret"
    path.chmod(0o640)
    assert main(["status", str(keyed)]) == 2
    assert "must be readable by its owner only" in capsys.readouterr().err
    keep(path, "too short to be random")
    assert main(["status", str(keyed)]) == 2
    said = capsys.readouterr().err
    assert "at least 32 random characters" in said
    assert "too short" not in said
    path.unlink()
    assert main(["status", str(keyed)]) == 2
    assert "private.key" in capsys.readouterr().err


def test_the_key_may_come_from_the_environment_or_a_keyring(
    keyed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (keyed.parent / "store.secret").read_text().strip()
    keyed.write_text(KEYED.replace("{file: store.secret}", "{environment: CLINIC_KEY}"))
    assert main(["status", str(keyed), "--quiet"]) == 2
    assert "environment variable CLINIC_KEY" in capsys.readouterr().err
    monkeypatch.setenv("CLINIC_KEY", text)
    assert main(["status", str(keyed), "--quiet"]) == 0
    keyed.write_text(KEYED.replace("{file: store.secret}", "{keyring: clinic}"))
    assert main(["status", str(keyed), "--quiet"]) == 2
    assert "reanon[keyring]" in capsys.readouterr().err
    monkeypatch.setattr(secret, "keyring_secret", {"clinic": text}.get)
    assert main(["status", str(keyed), "--quiet"]) == 0


def test_a_key_beside_its_store_or_in_public_is_refused(tmp_path: Path) -> None:
    for place in ("private/store.secret", "published/store.secret"):
        path = write_series(tmp_path, text=KEYED.replace("store.secret", place))
        with pytest.raises(InvalidSchema, match="a key beside its store protects nothing"):
            load_series(path, lazily=True)
    path = write_series(tmp_path, text=KEYED.replace("{file: store.secret}", "{file: a, keyring: b}"))
    with pytest.raises(InvalidSchema, match="exactly one of file, environment, keyring"):
        load_series(path, lazily=True)


def test_without_the_extension_the_sentence_names_what_to_install(keyed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "EXTENSION", "duckdb_extension_that_is_not_there")
    monkeypatch.setattr(database, "_RUNNING", {})
    with pytest.raises(InvalidParameter, match=r"reanon\[encryption\]"):
        read_summary(load_series(keyed, lazily=True).private_folder)


def test_the_key_is_in_no_statement_and_no_log_and_spilled_files_stay_private(
    keyed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    series = load_series(keyed, lazily=True)
    derived = encryption.store_key(series.private_folder)
    assert derived is not None
    with opened(series.private_folder, read_only=True) as connection:
        spill = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        assert spill is not None
        assert Path(spill[0]).parent == series.private_folder
        assert connection.execute("SELECT current_setting('temp_file_encryption')").fetchone() == (True,)
        shown = str(connection.execute("SELECT * FROM duckdb_databases()").fetchall())
        shown += str(connection.execute("SELECT * FROM duckdb_settings()").fetchall())
    assert derived not in shown + caplog.text
    assert derived not in str(os.environ)
