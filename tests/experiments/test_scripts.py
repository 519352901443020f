"""The experiments and benchmarks start."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in (TESTS / "experiments").glob("[!t]*.py") if "argparse" in path.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_experiment_says_how_to_run_it(script: Path) -> None:
    said = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--out" in said


def test_there_is_an_experiment_for_each_document_of_figures() -> None:
    assert {path.stem for path in SCRIPTS} == {
        "algorithm_cuts",
        "algorithm_sequential",
        "assignment",
        "blind",
        "bpg",
        "bpg_survival",
        "cor_split",
        "decoupled",
        "ends",
        "estimate_coverage",
        "js_reduce",
        "regions",
        "sequential",
        "survival",
    }


def test_all_benchmarks_of_make_bench_can_be_imported() -> None:
    subprocess.run([sys.executable, "-c", "import bench"], cwd=TESTS / "benchmarks", check=True)
