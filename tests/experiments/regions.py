"""What `regions: sizes` gives and costs: boxes, query error and counterfeits at the last release.

    python tests/experiments/regions.py                      # two minutes
    python tests/experiments/regions.py --seeds 31 32 33 34 35 --out build/figures

The people are those of the synthetic census (data/census/SOURCE.md) and, where it lies beside the project, of Adult
(../shared/data/adult); a tenth of them leaves at each release, and as many come. docs/techniques/m-invariance.md has
the results.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import ends  # noqa: E402

import reanon_core as reanon  # noqa: E402

METRICS = ("query-error", "gcp", "counterfeits")


def measured(population: ends.Population, regions: Any, given: argparse.Namespace, seed: int) -> list[float]:
    """The metrics of the last release; counterfeits for each person."""
    series = reanon.Series(
        id="id",
        sensitive=population.sensitive,
        quasi_identifiers=population.columns(None),
        technique=reanon.MInvariance(m=population.m, not_eligible="blocks", regions=regions),
        unsafe_seed=seed,
    )
    rows = min(given.rows, len(population.people) // 2)
    chosen = ends.generate.t_series(len(population.people), rows, rows // 10, given.releases, 7 + seed)
    for number, present in enumerate(chosen):
        last = series.publish(population.people.iloc[present], name=f"r{number}")
    values = [series.measure(name)[last.name] for name in METRICS]
    return [*values[:2], values[2] / rows]


def main() -> int:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=15_000, help="people in a release, if there are twice as many")
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--seeds", type=int, nargs="+", default=[31, 32, 33, 34, 35])
    parser.add_argument(
        "--adult", type=Path, default=ends.ADULT, help="the folder of adult.csv; left out if it is not there"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "figures", help="folder for regions.json")
    given = parser.parse_args()
    census, adult = ends.census(given.rows), ends.adult(given.rows, given.adult)
    cases = [(census, 3), (census, 6), (census, 9), *([(adult, 3), (adult, 4), (adult, 5)] if adult else [])]
    found = []
    print(f"{'':16} {'m':>2} {'regions':>8} " + " ".join(f"{name:>12}" for name in METRICS) + "  worst query-error")
    for population, m in cases:
        name = population.name.split(",")[0]
        for regions in ("none", "sizes"):
            taken = np.array([measured(replace(population, m=m), regions, given, seed) for seed in given.seeds])
            found.append({"people": name, "m": m, "regions": regions, **dict(zip(METRICS, taken.mean(0), strict=True))})
            means = " ".join(f"{value:12.3f}" for value in taken.mean(axis=0))
            print(f"{name:16} {m:2} {regions:>8} {means}  {taken[:, 0].max():.3f}", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "regions.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
