"""Adult over six years, as in docs/choosing.md: from a dead end in the third year to a series without one."""

import json
import sys
from pathlib import Path

import pytest

from reanon_dagster.cli import main

ROOT = Path(__file__).parents[3]
ADULT = ROOT.parent / "shared" / "data" / "adult"


@pytest.mark.slow
@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not part of the repository")
def test_m_7_is_refused_in_the_third_year_and_the_advice_gets_through_all_six(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tests" / "experiments"), *sys.path])
    from choosing import write_adult_series

    path = write_adult_series(ADULT, tmp_path / "adult", m=7)
    technique = "technique: {name: m-invariance, m: 7, balancing: blind, not_eligible: refuse}"
    path.write_text(path.read_text().replace("technique: {name: m-invariance, m: 7}", technique))
    answer = tmp_path / "answer.json"
    assert main(["rehearse", str(path), "--quiet", "--seed", "1", "--json", str(answer)]) == 1
    releases = json.loads(answer.read_text())["releases"]
    assert [(one["release"], one["published"]) for one in releases] == [("2018", True), ("2019", True), ("2020", False)]
    assert main(["advise", str(path), "--quiet", "--seed", "1", "--seconds", "10", "--json", str(answer)]) == 0
    advice = json.loads(answer.read_text())
    assert advice["facts"]["largest_m"] == 6
    assert technique in path.read_text()
    path.write_text(path.read_text().replace(technique, advice["recommendation"]["yaml"]))
    assert main(["rehearse", str(path), "--quiet"]) == 0
    assert main(["backfill", str(path), "--quiet", "--to", "2023"]) == 0
