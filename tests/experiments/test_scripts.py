"""The experiments and benchmarks start."""

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in (TESTS / "experiments").glob("[!t]*.py") if "argparse" in path.read_text())


ALL_HELP = """
import contextlib, io, json, runpy, sys
for script in json.loads(sys.argv[1]):
    said = io.StringIO()
    sys.argv = [script, "--help"]
    sys.path[0] = script.rpartition("/")[0]
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        runpy.run_path(script, run_name="__main__")
    assert "--out" in said.getvalue(), script
    print(script)
"""


def test_an_experiment_says_how_to_run_it() -> None:
    """In one process: importing what they need takes longer than all the rest."""
    listed = json.dumps([str(script) for script in SCRIPTS])
    said = subprocess.run([sys.executable, "-c", ALL_HELP, listed], capture_output=True, text=True, check=True).stdout
    assert said.split() == [str(script) for script in SCRIPTS]


def test_there_is_an_experiment_for_each_document_of_figures() -> None:
    assert {path.stem for path in SCRIPTS} == {
        "algorithm_cuts",
        "algorithm_sequential",
        "assignment",
        "blind",
        "bpg",
        "bpg_survival",
        "choosing",
        "column_weights",
        "cor_split",
        "decoupled",
        "default",
        "ends",
        "estimate_ageing",
        "estimate_coverage",
        "estimate_series",
        "insiders",
        "js_reduce",
        "relations",
        "survival",
    }


def test_all_benchmarks_of_make_bench_can_be_imported() -> None:
    subprocess.run(
        [sys.executable, "-c", "import bench, scale, technique_memory"], cwd=TESTS / "benchmarks", check=True
    )
