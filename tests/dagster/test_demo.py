"""What `make demo` shows, on a small survey: two ways expose people, and the default exposes no one."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from builders.series import begin

from reanon_core.model.ledger import Ledger
from reanon_dagster.cli import main
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series

DATA = Path(__file__).parents[2] / "data"


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"survey_{name}", DATA / "survey" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def backfilled(demo: ModuleType, folder: Path) -> tuple[dict[str, Ledger], dict[str, Series]]:
    """All three ways with the survey whose snapshots are in the folder, and the series of two of them."""
    shutil.copytree(DATA / "survey" / "taxonomies", folder / "survey" / "taxonomies")
    series = {}
    for way, path in demo.PUBLISHED.items():
        copy = folder / path.parent.name / "series.yaml"
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
        begin(copy)
        assert main(["backfill", str(copy), "--seed", "1", "--quiet"]) == 0
        series[way] = load_series(copy)
    ledgers = {way: demo.ledger_of(one) for way, one in series.items()}
    return {demo.NAIVE: demo.naive(ledgers[demo.REANON], 3), **ledgers}, series


def test_two_ways_expose_people_and_the_default_exposes_no_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate, demo = module("generate"), module("demo")
    generate.write(generate.waves(3, people=2400), tmp_path / "survey" / "snapshots")
    ledgers, series = backfilled(demo, tmp_path)
    numbers = exposed, kept, error = demo.exposures(ledgers, series), demo.relations(ledgers), demo.errors(ledgers)
    assert exposed["reanon"] == [0, 0, 0]
    assert exposed["naive"][0] == 0
    assert exposed["naive"][2] > exposed["naive"][1] > 10
    assert exposed["paper"][2] > exposed["paper"][0]
    assert kept["reanon"][0] > 1.2 * kept["paper"][0] > 0
    assert all(0 < value < 2 for values in error.values() for value in values)
    own = {way: ledgers[way] for way in demo.PUBLISHED}
    assert sum("200 people were tried, each alone" in line for line in demo.insiders(own)) == 2
    assert demo.cost(own).count(" and ") == 3
    capsys.readouterr()
    demo.show(demo.YEARS[:3], numbers, "small")
    out = capsys.readouterr().out
    assert f"{exposed['naive'][2]:,.0f}" in out
    assert max(map(len, [*out.splitlines(), *demo.WORDS])) <= 80
    demo.draw(demo.YEARS[:3], numbers, tmp_path / "build" / "demo.png")
    assert (tmp_path / "build" / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_table_of_the_readme_is_that_of_the_demo(tmp_path: Path) -> None:
    """All eight years at full size."""
    readme = (DATA.parent / "README.md").read_text(encoding="utf-8")
    lines = [line.split() for line in readme.splitlines()]
    told = {line[0]: line[1:] for line in lines if line and line[0] in module("demo").YEARS}
    generate, demo = module("generate"), module("demo")
    generate.write(generate.waves(len(demo.YEARS)), tmp_path / "survey" / "snapshots")
    ledgers, series = backfilled(demo, tmp_path)
    exposed, kept, error = demo.exposures(ledgers, series), demo.relations(ledgers), demo.errors(ledgers)
    for at, year in enumerate(demo.YEARS):
        shown = [float(cell.replace(",", "").rstrip("%")) for cell in told[year]]
        assert shown[:3] == pytest.approx([exposed[way][at] for way in ledgers], rel=0.25, abs=5)
        assert shown[3:6] == pytest.approx([100 * kept[way][at] for way in ledgers], rel=0.2)
        assert shown[6:9] == pytest.approx([100 * error[way][at] for way in ledgers], rel=0.25)
