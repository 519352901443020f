"""How often intervals hold the truth where people age and newcomers are young: the survey of the demo.

    python data/survey/generate.py --years 8                # the snapshots, if they are not there
    python tests/experiments/estimate_ageing.py             # a minute of CPU: prints, and writes estimate-ageing.json

docs/using-a-release.md quotes the result.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np

from reanon_core.estimate.ten_questions import Question, ask, true_answer
from reanon_core.model.ledger import Entry
from reanon_dagster.lab.compared_techniques import compared_techniques
from reanon_dagster.lab.comparison import compared_entries
from reanon_dagster.lab.comparison_questions import people_frame, release_estimates
from reanon_dagster.lab.snapshots_on_disk import snapshots_on_disk
from reanon_dagster.series.series_file import load_series

ROOT = Path(__file__).parents[2]
FORMS = ("m-invariance", "m-invariance-decoupled", "cor-split", "bpg", "naive")
FEWEST = 30
"""Only industries with so many people are asked for."""


def covered(entry: Entry, parameters: dict[str, object]) -> dict[str, float]:
    """The share of the industries whose mean age, and whose share of women, lies in the 90% interval.

    And how many years the worst mean age is off.
    """
    release, frame = release_estimates(entry, parameters), people_frame(entry.snapshot.answer())
    counts = frame["industry"].value_counts()
    asked = {
        "mean age": [Question("", "mean", {"industry": one}, column="age") for one in counts.index[counts >= FEWEST]],
        "share of women": [
            Question("", "share", {"industry": one}, {"sex": "female"}) for one in counts.index[counts >= FEWEST]
        ],
    }
    found = {
        name: [(ask(one, [release]), true_answer(one, [frame])) for one in questions]
        for name, questions in asked.items()
    }
    held = {name: float(np.mean([told.covers(truth) for told, truth in one])) for name, one in found.items()}
    return held | {"years off": max(abs(told.value - truth) for told, truth in found["mean age"])}


def table_line(form: str, found: Sequence[dict[str, float]]) -> str:
    """A line of the table in docs/using-a-release.md: both shares over all releases, and mean ages in the last one."""
    age, women = (100 * float(np.mean([one[name] for one in found])) for name in ("mean age", "share of women"))
    return f"| {form} | {age:.0f}% | {100 * found[-1]['mean age']:.0f}% | {found[-1]['years off']:.1f} | {women:.0f}% |"


def main() -> int:
    """Print every form, and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=Path, default=ROOT / "data" / "survey" / "series.yaml", help="the series file")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for estimate-ageing.json")
    given = parser.parse_args()
    series = load_series(given.series)
    disk = snapshots_on_disk(series, date.today())  # noqa: DTZ011  the years of the demo have passed
    if not disk.releases:
        print("the snapshots are not there: run data/survey/generate.py --years 8", file=sys.stderr)
        return 2
    snapshots, found = disk.read(whole_tables=False), {}
    for form in FORMS:
        one = compared_techniques(series, [form])[0]
        technique = None if one.is_baseline else one.built(series.background)
        entries = compared_entries(one, technique, snapshots, disk.releases)
        found[form] = [covered(entry, one.all_parameters) for entry in entries]
        print(table_line(form, found[form]), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    kept = {"releases": disk.releases, "forms": found}
    (given.out / "estimate-ageing.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
