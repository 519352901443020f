"""What ends of intervals on the grid cost against exact ends, with m-invariance: boxes and query error.

    python tests/experiments/ends.py                     # half a minute of CPU
    python tests/experiments/ends.py --rows 2000 --releases 2 --out build/figures

The people are those of the synthetic census (data/census/SOURCE.md) and, where it lies beside the project, of Adult
(../shared/data/adult). docs/limitations.md has the results. *years* is the mean width of a person's interval of age,
both ends counted; *alone* is the share of people who share their group with counterfeits only.
"""

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "census")]

import generate  # noqa: E402

import reanon_core as reanon  # noqa: E402

ADULT = ROOT.parent / "shared" / "data" / "adult"
WIDTHS = (None, 5)
METRICS = ("gcp", "query-error")
MEASURES = ("years", "alone", *METRICS)


@dataclass(frozen=True)
class Population:
    """People with an age, categories and a sensitive value."""

    name: str
    people: pd.DataFrame
    sensitive: str
    categories: dict[str, list[list[str]]]
    ages: tuple[int, int]
    m: int

    def columns(self, min_width: int | None) -> dict[str, reanon.Numeric | reanon.Date | reanon.Categorical]:
        trees = {name: reanon.Categorical(taxonomy=lines) for name, lines in self.categories.items()}
        return {"age": reanon.Numeric(domain=self.ages, min_width=min_width), **trees}


def census(rows: int) -> Population:
    """The people of `make demo`, and four updates of a tenth more."""
    codes = generate.population(2 * rows, 7)
    people = {name: np.array(generate.labels[name])[codes[name]] for name in (*generate.labels,)}
    trees = {
        name: lines(generate.HERE / "taxonomies" / f"{name}.csv") for name in ("gender", "education", "birthplace")
    }
    frame = pd.DataFrame(people | {"age": people["age"].astype(int), "id": np.arange(2 * rows)})
    return Population("demo census, m = 6", frame, "occupation", trees, (17, 95), 6)


def adult(rows: int, folder: Path) -> Population | None:
    """Adult, if it is there."""
    if not folder.exists():
        return None
    frame = pd.read_csv(folder / "adult.csv", sep=";").head(2 * rows)
    names = ("sex", "race", "marital-status", "education")
    trees = {name: lines(folder / f"adult_hierarchy_{name}.csv", ";") for name in names}
    return Population("Adult, m = 3", frame.assign(id=np.arange(len(frame))), "occupation", trees, (17, 90), 3)


def lines(path: Path, separator: str = ",") -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [line for line in csv.reader(file, delimiter=separator) if line]


def snapshots(population: Population, rows: int, releases: int) -> Iterator[pd.DataFrame]:
    """A tenth of the people leave, and as many come."""
    rows = min(rows, len(population.people) // 2)
    for present in generate.t_series(len(population.people), rows, rows // 10, releases, 7):
        yield population.people.iloc[present]


def measured(population: Population, ends: str, min_width: int | None, given: argparse.Namespace) -> dict[str, float]:
    """Each measure at the last release, the mean over the seeds."""
    taken: dict[str, list[float]] = {name: [] for name in MEASURES}
    for seed in given.seeds:
        series = reanon.Series(
            id="id",
            sensitive=population.sensitive,
            quasi_identifiers=population.columns(min_width),
            technique=reanon.MInvariance(m=population.m),
            ends=ends,  # type: ignore[arg-type]
            unsafe_seed=seed,
        )
        for number, frame in enumerate(snapshots(population, given.rows, given.releases)):
            last = series.publish(frame, name=f"r{number}", accept_drift="an experiment")
        real = last.to_pandas().iloc[series.trace(last.name).to_pandas()["row"]]
        taken["years"].append(float((real["age_max"] - real["age_min"] + 1).mean()))
        taken["alone"].append(float((real.groupby("group_id")["age_min"].transform("size") == 1).mean()))
        for name in METRICS:
            taken[name].append(series.measure(name)[last.name])
    return {name: float(np.mean(values)) for name, values in taken.items()}


def main() -> int:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=15_000, help="people in a release, if there are twice as many")
    parser.add_argument("--releases", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument(
        "--adult", type=Path, default=ADULT, help="the folder of adult.csv; left out if it is not there"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "figures", help="folder for ends.json")
    given = parser.parse_args()
    found = []
    print(f"{'':20} {'age':>12} {'ends':>6} " + " ".join(f"{name:>12}" for name in MEASURES))
    for population in filter(None, (census(given.rows), adult(given.rows, given.adult))):
        for width in WIDTHS:
            for ends in ("exact", "grid"):
                values = measured(population, ends, width, given)
                found.append({"population": population.name, "min_width": width, "ends": ends, **values})
                named = "no min_width" if width is None else f"min_width {width}"
                print(f"{population.name:20} {named:>12} {ends:>6} " + " ".join(f"{v:12.4f}" for v in values.values()))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "ends.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
