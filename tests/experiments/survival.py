"""How long a series lives: withheld people and counterfeits, release by release, for each way out of m-eligibility.

    python tests/experiments/survival.py                        # m = 5, 22 years, about a minute
    python tests/experiments/survival.py --m 3 4 5 6 --seeds 7 11 23 --out build/figures
    python tests/experiments/survival.py --m 3 --values 10 --changing 0.05    # values change: episodes

The people are those of the synthetic household survey (data/survey/SOURCE.md), whose newcomers are unlike the rest.
docs/techniques/m-invariance.md has the results.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations.survey import snapshots  # noqa: E402

from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.model.errors import Unpublishable  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import publications  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

WAYS: dict[str, dict[str, Any]] = {
    "refuse": {},
    "blocks": {"not_eligible": "blocks"},
    "partial-blocks": {"not_eligible": "partial-blocks"},
    "blocks, median": {"not_eligible": "blocks", "balancing": "median"},
    "partial-blocks, median": {"not_eligible": "partial-blocks", "balancing": "median"},
    "defer": {"not_eligible": "defer"},
    "pad": {"not_eligible": "pad"},
}


class Cost(NamedTuple):
    """What one release costs, in percent of the people in the table."""

    withheld: float
    counterfeits: float


def costs(technique: MInvariance, series: list[Snapshot], seed: int) -> tuple[list[Cost], float]:
    """The cost of each release until one is refused, and the query error of the last one in percent."""
    listed: list[Cost] = []
    entry = None
    try:
        for snapshot, made in publications(technique, series, np.random.default_rng(seed)):
            entry = made.entry(snapshot)
            counterfeits = int(entry.auxiliary.count.sum())
            listed.append(Cost(100 * entry.withheld / snapshot.size, 100 * counterfeits / snapshot.size))
    except Unpublishable:
        pass
    error = CountingQueryError().measure(entry, np.random.default_rng(seed)) if entry is not None else np.nan
    return listed, 100 * error


def main() -> None:
    """Print the table of each seed and m, as the command line says."""
    parser = argparse.ArgumentParser(description="Withheld people and counterfeits of a long series, year by year.")
    parser.add_argument("--m", type=int, nargs="+", default=[5])
    parser.add_argument("--seeds", type=int, nargs="+", default=[7])
    parser.add_argument("--years", type=int, default=22)
    parser.add_argument("--people", type=int, default=7062)
    parser.add_argument("--values", type=int, default=25)
    parser.add_argument("--changing", type=float, default=0.0, help="the share of people whose value changes in a year")
    parser.add_argument("--out", type=Path, help="also write survival.json to this folder")
    given = parser.parse_args()
    change = "episode" if given.changing else "refuse"
    found: dict[str, list[Cost]] = {}
    for seed in given.seeds:
        shape = {"people": given.people, "values": given.values, "changing": given.changing}
        series = list(snapshots(given.years, seed, **shape))
        for m in given.m:
            print(f"seed {seed}, m = {m}: withheld + counterfeits in % of the people")
            for way, options in WAYS.items():
                technique = MInvariance(m=m, on_sensitive_change=change, **options)
                cost, error = costs(technique, series, seed)
                found[f"{seed}, {m}, {way}"] = cost
                refused = f"  refused at {len(cost) + 1}" if len(cost) < len(series) else ""
                cells = " ".join(f"{one.withheld:.0f}+{one.counterfeits:.0f}" for one in cost)
                print(f"  {way:24}{cells}, query error {error:.0f}%{refused}", flush=True)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "survival.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
