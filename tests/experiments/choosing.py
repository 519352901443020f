"""The example of docs/choosing.md: Adult over six years, and what `reanon advise` and `reanon rehearse` say about it.

    python tests/experiments/choosing.py --adult ../shared/data/adult --out build/choosing

The same seed gives the same snapshots. The numbers of the techniques vary a little from run to run, because `advise`
stops when its time is over.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from reanon_dagster.cli import main

FIRST_YEAR, YEARS = 2018, 6
PEOPLE, REPLACED = 15_000, 1_500
RETURNING = 0.1
OLDEST = 95
TREES = ("sex", "education", "marital-status", "race")
SERIES = """\
series: adult
title: Adult, yearly
source: {{path: "snapshots/{{release}}.csv", id: person}}
releases: {{cadence: yearly, first: {year}}}
quasi_identifiers:
  age: {{kind: numeric, domain: [17, {oldest}]}}
{trees}
sensitive: occupation
technique: {{name: m-invariance, m: {m}}}
"""


def write_adult_series(adult: Path, folder: Path, *, m: int, seed: int = 3) -> Path:
    """Adult as a yearly table in which people leave, return, join and age; gives the path of series.yaml."""
    rng = np.random.default_rng(seed)
    everyone = pd.read_csv(adult / "adult.csv", sep=";").sample(frac=1, random_state=seed).reset_index(drop=True)
    everyone.insert(0, "person", [f"P{number:05d}" for number in range(len(everyone))])
    for name in ("snapshots", "taxonomies"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    here, away, fresh = set(range(PEOPLE)), set[int](), PEOPLE
    for year in range(YEARS):
        frame = everyone.loc[sorted(here)].copy()
        frame["age"] = (frame["age"] + year).clip(upper=OLDEST)
        frame.to_csv(folder / "snapshots" / f"{FIRST_YEAR + year}.csv", index=False)
        gone = set(rng.choice(sorted(here), REPLACED, replace=False).tolist())
        back = {person for person in sorted(away) if rng.random() < RETURNING}
        here = (here - gone) | back | set(range(fresh, fresh + REPLACED))
        away, fresh = (away - back) | gone, fresh + REPLACED
    for name in TREES:
        tree = (adult / f"adult_hierarchy_{name}.csv").read_text().replace(";", ",")
        (folder / "taxonomies" / f"{name}.csv").write_text(tree)
    trees = "\n".join(f"  {name}: {{kind: categorical, taxonomy: taxonomies/{name}.csv}}" for name in TREES)
    path = folder / "series.yaml"
    path.write_text(SERIES.format(year=FIRST_YEAR, oldest=OLDEST, trees=trees, m=m))
    return path


def run() -> int:
    """Write the series, rehearse it as it is, and ask for advice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True, help="the folder of adult.csv and its hierarchies")
    parser.add_argument("--out", type=Path, default=Path("build/choosing"))
    parser.add_argument("--m", type=int, default=7)
    options = parser.parse_args()
    path = write_adult_series(options.adult, options.out, m=options.m)
    main(["rehearse", str(path), "--seed", "1", "--json", str(options.out / "rehearsal.json")])
    return main(["advise", str(path), "--seed", "1", "--json", str(options.out / "advice.json")])


if __name__ == "__main__":
    raise SystemExit(run())
