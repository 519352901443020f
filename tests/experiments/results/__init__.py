"""The figures and tables of the papers on our data: docs/results/README.md."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]  # the folder of the tests, whose packages import each other by name
