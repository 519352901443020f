"""What `--json` writes: outside the published folder, for its owner alone, in place of nothing else."""

from pathlib import Path

import pytest
from builders.series import people, write_series

from reanon_dagster.cli import main


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = write_series(tmp_path, snapshots={"r1": people(60)})
    assert main(["publish", str(path), "--quiet"]) == 0
    return path


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_answer_replaces_nothing_else(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = published.parent
    (folder / "link.json").symlink_to(folder / "elsewhere.json")
    before = content(folder)
    audit = ["audit", str(published), "--attack", "intersection", "--quiet", "--json"]
    verify = ["verify", str(folder / "published" / "clinic"), "--quiet", "--json"]
    for commands, out, told in (
        ([audit], "published/audit.json", "outside the published folder"),
        ([audit, verify], "published/clinic/r1/audit.json", "outside the published folder"),
        ([audit, verify], "link.json", "be no link"),
        ([audit, verify], "snapshots/r1.csv", "be a new file"),
        ([audit, verify], "snapshots", "be a new file"),
        ([audit, verify], "nowhere/audit.json", "folder that exists"),
    ):
        for command in commands:
            assert main([*command, str(folder / out)]) == 2
            assert told in capsys.readouterr().err
    assert content(folder) == before


def test_an_answer_is_for_its_owner_alone_and_may_be_written_again(published: Path) -> None:
    answer = published.parent / "audit.json"
    for _ in range(2):
        assert main(["audit", str(published), "--attack", "intersection", "--quiet", "--json", str(answer)]) == 0
        assert answer.stat().st_mode & 0o777 == 0o600
