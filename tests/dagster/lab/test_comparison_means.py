"""The means of a comparison are those of releases that show people."""

import json
from pathlib import Path

from builders.series import SERIES, lively, write_series

from reanon_dagster.cli import main


def test_a_release_without_rows_is_in_no_mean(tmp_path: Path) -> None:
    frame = lively(1, 60)["r1"]
    for name, frames in (("full", {"r1": frame}), ("gap", {"r1": frame, "r2": frame.iloc[:0]})):
        text = SERIES.replace("[r1, r2, r3, r4, r5]", f"[{', '.join(frames)}]")
        path = write_series(tmp_path / name, text=text, snapshots=frames)
        options = ["--technique", "naive", "--attack", "intersection", "--json", str(tmp_path / f"{name}.json")]
        assert main(["compare", str(path), "--quiet", *options]) == 0
    full, gap = (json.loads((tmp_path / f"{name}.json").read_text())["metrics"] for name in ("full", "gap"))
    assert {one["metric"]: one["value"] for one in full} == {one["metric"]: one["value"] for one in gap}
