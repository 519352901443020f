"""A series keeps the rules that it began with, also where the file is silent and a default has changed since."""

import json
from pathlib import Path

import pytest
from builders.series import SERIES, lively, write_series
from pins.cases import CASES
from pins.test_stores import unpacked

from reanon_dagster.cli import main
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.series.series_file import load_series


def manifest(path: Path, series: str, release: str) -> dict[str, object]:
    return json.loads((path.parent / "published" / series / release / "manifest.json").read_text())


@pytest.mark.parametrize("name", ["minv-deep", "minv-episode", "cor-strict"])
def test_a_series_begun_with_0_1_0_goes_on_under_its_own_rule(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = unpacked(CASES[name], tmp_path / "series")
    assert "balancing" not in path.read_text()
    assert load_series(path).technique.balancing == "blind"
    assert continued(load_series(path)).technique.balancing == "filled"
    last = CASES[name].releases[-1]
    assert main(["validate", str(path)]) == 0
    assert main(["publish", str(path)]) == 0
    assert manifest(path, name, last)["technique"]["balancing"] == "filled"
    assert "caution: " in (told := capsys.readouterr().err)
    assert "balancing: filled tells an adversary who knows the algorithm some people's values" in told


@pytest.mark.parametrize("name", ["minv-deep", "cor-strict"])
def test_it_cannot_change_to_blind_balancing(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = unpacked(CASES[name], tmp_path / "series")
    path.write_text(path.read_text().replace("technique: {", "technique: {balancing: blind, "))
    for command in ("validate", "publish"):
        assert main([command, str(path)]) == 1
        assert "technique.balancing was filled and is blind" in capsys.readouterr().err
    assert not (path.parent / "published" / name / CASES[name].releases[-1]).exists()


def test_a_new_series_is_blind_and_stays_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, snapshots=lively(2))
    assert main(["publish", str(path), "--release", "r1"]) == 0
    assert manifest(path, "clinic", "r1")["technique"]["balancing"] == "blind"
    path.write_text(SERIES.replace("m: 3", "m: 3, balancing: filled"))
    capsys.readouterr()
    assert main(["publish", str(path), "--release", "r2"]) == 1
    assert "technique.balancing was blind and is filled" in capsys.readouterr().err
    path.write_text(SERIES)
    assert main(["publish", str(path), "--release", "r2"]) == 0
    assert manifest(path, "clinic", "r2")["technique"]["balancing"] == "blind"
