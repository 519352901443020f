"""An audit of a series that goes on meanwhile."""

from pathlib import Path

import pytest
from builders.series import lively, write_series

from reanon_dagster.cli import main
from reanon_dagster.commands import audit
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.series.series import Series


def test_a_release_that_is_published_during_an_audit_is_left_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_series(tmp_path, snapshots=lively(2, 60))
    assert main(["publish", str(path), "--quiet"]) == 0
    read = audit.read_view

    def overtaken(series: Series) -> SeriesView:
        view = read(series)
        assert main(["publish", str(path), "--quiet"]) == 0
        return view

    monkeypatch.setattr(audit, "read_view", overtaken)
    assert main(["audit", str(path), "--quiet", "--attack", "intersection"]) == 0
    monkeypatch.setattr(audit, "read_view", read)
    assert main(["audit", str(path), "--quiet", "--attack", "intersection"]) == 0
