"""`over: module:function`: BPG with a partitioner of your own, named in the series file."""

import json
from pathlib import Path

import pytest
from builders.series import SERIES, lively, write_series

from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series

ODD = '''
def by_parity(snapshot, rng):
    """Old and young people, odd ages and even ones: neither boxes nor large enough."""
    age = snapshot.qi[0]
    return age // 10 * 2 + age % 2


def broken(snapshot, rng):
    raise ValueError(f"cannot divide {snapshot.persons[0]}")


def short(snapshot, rng):
    return [0, 1]


LIMIT = 3
'''
EXPLODING = 'raise RuntimeError("no")\n'


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "odd_partitioners.py").write_text(ODD)
    (installed / "exploding_partitioners.py").write_text(EXPLODING)
    monkeypatch.syspath_prepend(str(installed))

    def written(over: str) -> Path:
        technique = f'{{name: bpg, over: "{over}", k: 3, ell: 2}}'
        text = SERIES.replace("{name: m-invariance, m: 3}", technique) + "max_withheld: null\n"
        return write_series(tmp_path / "series", text=text, snapshots=lively())

    return written


def test_a_function_of_an_installed_module_partitions_and_bpg_makes_it_safe(series, tmp_path: Path) -> None:
    path = series("odd_partitioners:by_parity")
    assert main(["backfill", str(path), "--quiet"]) == 0
    audit = tmp_path / "audit.json"
    assert main(["audit", str(path), "--attack", "intersection,subsets", "--json", str(audit), "--quiet"]) == 0
    document = json.loads(audit.read_text())
    assert all(check["holds"] for check in document["checks"])
    assert all(attack["exposed"] == 0 for attack in document["attacks"])
    manifest = json.loads((path.parent / "published" / "clinic" / "r5" / "manifest.json").read_text())
    assert manifest["technique"]["over"] == "odd_partitioners:by_parity"
    assert load_series(path).fingerprint()["technique.over"] == "odd_partitioners:by_parity"


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("nowhere:f", "over (nowhere:f) must name a function that can be imported; install its package"),
        ("odd_partitioners:nothing", "must name a function of the module odd_partitioners"),
        ("odd_partitioners:LIMIT", "must name a function of the module odd_partitioners"),
        ("exploding_partitioners:f", "importing exploding_partitioners raises RuntimeError"),
        ("k-means", "over (k-means) must be mondrian, or a partitioner (in series.yaml as module:function)"),
        ("odd_partitioners:broken", "over: broken (ValueError) must divide the table into classes without an error"),
        ("odd_partitioners:short", "must return one whole number for each of the 240 rows"),
    ],
)
def test_a_partitioner_that_cannot_be_had_or_fails_is_a_sentence(
    over: str, said: str, series, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", str(series(over))]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert "cannot divide" not in error  # its own text may hold a datum


def test_a_module_in_the_series_folder_is_not_imported(series, capsys: pytest.CaptureFixture[str]) -> None:
    path = series("beside:f")
    (path.parent / "beside.py").write_text("raise SystemExit('it ran')\n")
    assert main(["validate", str(path)]) == 2
    assert "modules in the series' folder are not imported" in capsys.readouterr().err
