"""`reanon verify`: for anyone with the public folder alone."""

import json
import shutil
from pathlib import Path

import pytest
from builders.series import lively, write_series

from reanon_dagster.cli import main


@pytest.fixture(scope="module")
def backfilled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public folder of five releases, far from its private one."""
    folder = tmp_path_factory.mktemp("series")
    assert main(["backfill", str(write_series(folder, snapshots=lively())), "--quiet"]) == 0
    return folder / "published" / "clinic"


@pytest.fixture
def published(backfilled: Path, tmp_path: Path) -> Path:
    shutil.copytree(backfilled, tmp_path / "downloaded")
    return tmp_path / "downloaded"


def test_what_reanon_publishes_is_sound(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(published)]) == 0
    out = capsys.readouterr().out
    assert "clinic: 5 releases are sound (r1 to r5)" in out
    assert "sha256 of the latest manifest: " in out
    assert main(["verify", str(published), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_every_flaw_is_a_sentence_and_the_exit_code_is_1(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (published / "r2" / "table.csv").write_text("x")
    (published / "r3" / "table.parquet").unlink()
    assert main(["verify", str(published), "--json", str(tmp_path / "answer.json")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "reanon: r2/table.csv was changed" in err
    assert "reanon: r3/table.parquet is missing" in err
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["sound"] is False
    assert [one["release"] for one in answer["releases"]] == ["r1", "r2", "r3", "r4", "r5"]
    assert [flaw["release"] for flaw in answer["flaws"]] == ["r2", "r3"]


def test_one_release_may_be_verified_alone(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(published / "r2")]) == 0
    assert "r2 is sound; whether it belongs to its series was not verified" in capsys.readouterr().out
    (published / "r2" / "stray").mkdir()
    assert main(["verify", str(published / "r2")]) == 1


def test_what_is_not_a_published_folder_is_wrong_usage(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (tmp_path, tmp_path / "nowhere", published / "r1" / "table.csv"):
        assert main(["verify", str(place)]) == 2
        assert "must be the public folder of a series" in capsys.readouterr().err
