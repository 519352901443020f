"""Great Expectations is loaded without Spark, whose import ends a process that has no main file."""

import subprocess
import sys

import pytest

LOAD = """
import sys
{before}
from reanon_dagster.expectations.evaluation import load_great_expectations
load_great_expectations()
import great_expectations
print("alive", sorted(name for name in sys.modules if name in ("pyspark", "pyspark.sql.connect")))
"""


@pytest.mark.parametrize(
    ("before", "left"), [("", []), pytest.param("import pyspark.sql", ["pyspark"], marks=pytest.mark.slow)]
)
def test_a_process_without_a_main_file_survives(before: str, left: list[str]) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: it is the extra reanon[spark]")
    done = subprocess.run(
        [sys.executable, "-c", LOAD.format(before=before)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[-2] == f"alive {left}"
