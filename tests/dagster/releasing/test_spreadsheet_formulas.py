"""Text that a spreadsheet would run is published as it is, and the steward is told."""

from pathlib import Path

import pytest
from builders.series import people, write_series

from reanon_dagster.cli import main


def test_text_that_a_spreadsheet_would_run_is_told_by_its_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = people(60)
    frame["disease"] = frame["disease"].replace({"flu": "=HYPERLINK(1)", "cold": "-", "asthma": "-1.5"})
    path = write_series(tmp_path, snapshots={"r1": frame})
    for command in (["validate", str(path)], ["publish", str(path), "--quiet"]):
        assert main(command) == 0
        err = capsys.readouterr().err
        assert "text in disease begins with = + - or @" in err
        assert "HYPERLINK" not in err
    assert "=HYPERLINK(1)" in (tmp_path / "published" / "clinic" / "r1" / "table.csv").read_text()
    frame["disease"] = frame["disease"].replace({"=HYPERLINK(1)": "flu"})
    harmless = write_series(tmp_path / "harmless", snapshots={"r1": frame})
    assert main(["publish", str(harmless), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
