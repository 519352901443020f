"""What `make demo` shows, on a small survey: the naive way exposes people, both forms of reanon expose no one."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from reanon_core.model.ledger import Ledger
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series

DATA = Path(__file__).parents[2] / "data"


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"survey_{name}", DATA / "survey" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def backfilled(demo: ModuleType, folder: Path) -> dict[str, Ledger]:
    """Both forms of the survey whose snapshots are in the folder."""
    shutil.copytree(DATA / "survey" / "taxonomies", folder / "survey" / "taxonomies")
    ledgers = {}
    for form, path in demo.FORMS.items():
        copy = folder / path.parent.name / "series.yaml"
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
        assert main(["backfill", str(copy), "--seed", "1", "--quiet"]) == 0
        ledgers[form] = demo.ledger_of(load_series(copy))
    return ledgers


def test_the_naive_way_exposes_people_and_both_forms_expose_no_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate, demo = module("generate"), module("demo")
    generate.write(generate.waves(3, people=900), tmp_path / "survey" / "snapshots")
    ledgers = backfilled(demo, tmp_path)
    ledgers = {"naive": demo.naive(ledgers["boxes"], 3), **ledgers}
    exposed, error = demo.exposures(ledgers), demo.errors(ledgers)
    places = demo.located({form: ledgers[form] for form in demo.FORMS})
    assert exposed["boxes"] == exposed["decoupled"] == [0, 0, 0]
    assert exposed["naive"][0] == 0
    assert exposed["naive"][2] > exposed["naive"][1] > 10
    assert places["decoupled"][-1] < places["boxes"][-1]
    assert places["decoupled"][-1] < places["replayed"][-1] < 1
    told = demo.stronger_adversaries({form: ledgers[form] for form in demo.FORMS})
    assert sum("200 people were tried, each alone: the worst makes" in note for note in told) == 2
    assert sum("after a replay, one place is left for" in note for note in told) == 1
    assert all(0 < value < 2 for values in error.values() for value in values)
    capsys.readouterr()
    demo.show(ledgers, demo.YEARS[:3], (exposed, error, places), "small")
    out = capsys.readouterr().out
    assert out.count(" 900 ") == 1
    assert f"{exposed['naive'][2]:,}" in out
    demo.draw(demo.YEARS[:3], (exposed, error, places), tmp_path / "build" / "demo.png")
    assert (tmp_path / "build" / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_table_of_the_readme_is_that_of_the_demo(tmp_path: Path) -> None:
    """The naive way is not random; what is random stays near."""
    generate, demo = module("generate"), module("demo")
    lines = [line.split() for line in (DATA.parent / "README.md").read_text().splitlines()]
    told = {line[0]: line[1:] for line in lines if line and line[0] in demo.YEARS}
    generate.write(generate.waves(len(demo.YEARS)), tmp_path / "survey" / "snapshots")
    ledgers = backfilled(demo, tmp_path)
    ledgers = {"naive": demo.naive(ledgers["boxes"], 3), **ledgers}
    exposed, error = demo.exposures(ledgers), demo.errors(ledgers)
    places = demo.located({form: ledgers[form] for form in demo.FORMS})
    for at, year in enumerate(demo.YEARS):
        people, *shown = [float(cell.replace(",", "").rstrip("%")) for cell in told[year]]
        assert people == ledgers["boxes"].entries[at].snapshot.size
        assert shown[:3] == [exposed[way][at] for way in ledgers]
        assert shown[3:6] == pytest.approx([100 * error[way][at] for way in ledgers], rel=0.25)
        assert shown[6:] == pytest.approx([100 * values[at] for values in places.values()], rel=0.25, abs=1)
