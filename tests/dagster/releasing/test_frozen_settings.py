"""A series keeps the rule of balancing that it began with: what the paper's has told cannot be taken back."""

import json
from pathlib import Path

import pytest
from builders.series import SERIES, lively, plainly_published, write_series

from reanon_dagster.cli import main

M_INVARIANCE = "m-invariance, m: 3"
COR_SPLIT = "cor-split, m: 3, n: 2"


def text(technique: str, balancing: str) -> str:
    return plainly_published(SERIES.replace(M_INVARIANCE, f"{technique}, balancing: {balancing}"))


def balancing(path: Path, release: str) -> str:
    manifest = path.parent / "published" / "clinic" / release / "manifest.json"
    return str(json.loads(manifest.read_text())["technique"]["balancing"])


@pytest.mark.parametrize("technique", [M_INVARIANCE, COR_SPLIT])
@pytest.mark.parametrize(("first", "second"), [("filled", "blind"), ("blind", "filled")])
def test_balancing_cannot_change_between_the_papers_and_blind(
    technique: str, first: str, second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=text(technique, first), snapshots=lively(2))
    assert main(["publish", str(path), "--release", "r1", "--quiet"]) == 0
    path.write_text(text(technique, second))
    capsys.readouterr()
    for command in ("validate", "publish"):
        assert main([command, str(path)]) == 1
        assert f"technique.balancing was {first} and is {second}" in capsys.readouterr().err
    assert not (path.parent / "published" / "clinic" / "r2").exists()
    path.write_text(text(technique, first))
    assert main(["publish", str(path)]) == 0
    told = "balancing: filled tells an adversary who knows the algorithm some people's values"
    assert (told in capsys.readouterr().err) == (first == "filled")
    assert balancing(path, "r2") == first
