"""Signed manifests: anyone with the public key can prove every release, the latest one included."""

import base64
import hashlib
import json
import shutil
import stat
from pathlib import Path

import pytest
from builders.series import SERIES, lively, plainly_published, write_series

from reanon_core.model.errors import InvalidSchema
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series
from reanon_dagster.verification.manifest_file import SIGNATURE

SIGNED = SERIES + "publish: {sign: steward.pem}\n"


@pytest.fixture(scope="module")
def signed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series of three signed releases."""
    folder = tmp_path_factory.mktemp("signed")
    assert main(["keygen", "--out", str(folder / "steward.pem"), "--quiet"]) == 0
    assert main(["backfill", str(write_series(folder, text=SIGNED, snapshots=lively(3, 60))), "--quiet"]) == 0
    return folder


@pytest.fixture
def signed(signed_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(signed_once, tmp_path / "copy")


def verified(folder: Path, key: str = "steward.pem.pub") -> int:
    return main(["verify", str(folder / "published" / "clinic"), "--key", str(folder / key)])


def test_every_release_of_a_signed_series_is_proved_by_the_public_key(
    signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verified(signed) == 0
    assert "every manifest is signed with this key" in capsys.readouterr().out
    one = str(signed / "published" / "clinic" / "r3")
    assert main(["verify", one, "--key", str(signed / "steward.pem.pub")]) == 0
    assert main(["audit", str(signed / "series.yaml"), "--quiet", "--attack", "intersection"]) == 0


def test_a_signature_is_in_no_manifest_and_changes_none(signed: Path) -> None:
    for release in ("r1", "r2", "r3"):
        folder = signed / "published" / "clinic" / release
        assert SIGNATURE not in json.loads((folder / "manifest.json").read_text())["files"]
        assert "steward" not in (folder / "manifest.json").read_text()
        assert len(base64.b64decode((folder / SIGNATURE).read_text())) == 64
        assert stat.S_IMODE((folder / SIGNATURE).stat().st_mode) == 0o644


def test_a_replaced_latest_release_is_found_only_with_the_key(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = signed / "published" / "clinic" / "r3"
    (folder / "table.csv").write_text("forged\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["table.csv"]["sha256"] = hashlib.sha256(b"forged\n").hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    folder.parent.with_name("clinic.head.json").unlink()
    assert main(["verify", str(folder.parent)]) == 0
    assert "signatures were not verified" in capsys.readouterr().out
    assert verified(signed) == 1
    assert "r3/manifest.sig is not the signature of its manifest by this key" in capsys.readouterr().err


@pytest.mark.parametrize("release", ["r1", "r3"])
def test_a_missing_foreign_or_broken_signature_is_a_flaw(
    signed: Path, release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = signed / "published" / "clinic" / release / SIGNATURE
    original = path.read_bytes()
    for content in ((path.parent.parent / "r2" / SIGNATURE).read_bytes(), b"", b"%%%", original[::-1], original * 2):
        path.write_bytes(content)
        assert verified(signed) == 1
        assert f"{release}/manifest.sig is not the signature" in capsys.readouterr().err
    path.unlink()
    assert verified(signed) == 1
    assert f"{release}/manifest.sig is missing" in capsys.readouterr().err
    path.symlink_to(path.parent.parent / "r2" / SIGNATURE)
    assert main(["verify", str(signed / "published" / "clinic")]) == 1
    assert verified(signed) == 1


def test_another_key_proves_nothing_and_what_is_no_key_is_wrong_usage(
    signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keygen", "--out", str(signed / "other.pem"), "--quiet"]) == 0
    assert verified(signed, "other.pem.pub") == 1
    capsys.readouterr()
    for name in ("steward.pem", "series.yaml", "nothing.pub"):
        assert verified(signed, name) == 2
        assert "--key" in capsys.readouterr().err


def test_signing_may_begin_or_end_in_any_release(signed: Path) -> None:
    series = signed / "series.yaml"
    lively(4, 60)["r4"].to_csv(signed / "snapshots" / "r4.csv", index=False)
    series.write_text(plainly_published(SERIES))
    assert main(["publish", str(series), "--quiet"]) == 0
    assert main(["verify", str(signed / "published" / "clinic"), "--quiet"]) == 0
    assert verified(signed) == 1  # r4 is not signed


def test_a_missing_shared_or_foreign_signing_key_stops_a_release_before_it_is_computed(
    signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lively(4, 60)["r4"].to_csv(signed / "snapshots" / "r4.csv", index=False)
    key, series = signed / "steward.pem", str(signed / "series.yaml")
    key.chmod(0o644)
    for command in ("publish", "validate"):
        assert main([command, series]) == 2
        assert "publish.sign" in (said := capsys.readouterr().err)
        assert "readable by its owner only" in said
    key.chmod(0o600)
    key.write_bytes((signed / "steward.pem.pub").read_bytes())
    assert main(["publish", series]) == 2
    assert "Ed25519 private key" in capsys.readouterr().err
    key.unlink()
    assert main(["publish", series]) == 2
    assert not (signed / "published" / "clinic" / "r4").exists()
    assert not (signed / "private" / "clinic" / "staging" / "r4").exists()


def test_a_signing_key_in_the_public_folder_is_refused(tmp_path: Path) -> None:
    path = write_series(tmp_path, text=SERIES + "publish: {sign: published/steward.pem}\n")
    with pytest.raises(InvalidSchema, match=r"publish.sign .*must lie outside publish.to"):
        load_series(path, lazily=True)


def test_keygen_replaces_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keygen", "--out", str(tmp_path / "k")]) == 0
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600
    assert b"PRIVATE" not in (tmp_path / "k.pub").read_bytes()
    assert main(["keygen", "--out", str(tmp_path / "k")]) == 2
    (tmp_path / "k").unlink()
    assert main(["keygen", "--out", str(tmp_path / "k")]) == 2  # k.pub is there
    assert main(["keygen", "--secret", "--out", str(tmp_path / "s")]) == 0
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    secret = (tmp_path / "s").read_text().strip()
    assert len(secret) == 64
    assert secret not in "".join(capsys.readouterr())
