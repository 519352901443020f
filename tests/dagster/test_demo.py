"""What `make demo` shows, on a small survey: the naive way exposes people, both forms of reanon expose no one."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

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


def test_the_naive_way_exposes_people_and_both_forms_expose_no_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate, demo = module("generate"), module("demo")
    generate.write(generate.waves(3, people=900), tmp_path / "survey" / "snapshots")
    shutil.copytree(DATA / "survey" / "taxonomies", tmp_path / "survey" / "taxonomies")
    ledgers = {}
    for form, path in demo.FORMS.items():
        copy = tmp_path / path.parent.name / "series.yaml"
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
        assert main(["backfill", str(copy), "--seed", "1", "--quiet"]) == 0
        ledgers[form] = demo.ledger_of(load_series(copy))
    ledgers = {"naive": demo.naive(ledgers["boxes"], 3), **ledgers}
    exposed, error, few = demo.exposures(ledgers), demo.errors(ledgers), demo.small_boxes(ledgers, 5)
    assert exposed["boxes"] == exposed["decoupled"] == [0, 0, 0]
    assert exposed["naive"][0] == 0
    assert exposed["naive"][2] > exposed["naive"][1] > 10
    assert few["decoupled"][-1] < few["boxes"][-1] < few["naive"][-1]
    assert all(0 < value < 2 for values in error.values() for value in values)
    capsys.readouterr()
    demo.show(ledgers, demo.YEARS[:3], (exposed, error, few), "small")
    out = capsys.readouterr().out
    assert out.count(" 900 ") == 1
    assert f"{exposed['naive'][2]:,}" in out
    demo.draw(demo.YEARS[:3], (exposed, error, few), tmp_path / "build" / "demo.png")
    assert (tmp_path / "build" / "demo.png").read_bytes().startswith(b"\x89PNG")
