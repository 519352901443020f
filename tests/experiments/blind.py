"""What a reader of the source learns from releases with buckets, and what blind balancing costs.

    python tests/experiments/blind.py                    # all three parts, several minutes
    python tests/experiments/blind.py --parts leak --series 40 --out build/figures

*leak*: random small series, read by the attack `algorithm`: buckets in which the publication tells some relabelling of
the values from the truth, people left with fewer values than their signature has, people who are certain. *worlds*: all
worlds of tiny series, with the algorithm replayed in each: people whose values are not equally likely, and people who
are certain. *cost*: counterfeits, boxes and query error of both ways of balancing, on the synthetic census
(data/census/SOURCE.md) and, where it lies beside the project, on Adult. docs/blind-m-invariance.md has the results.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "experiments")]

import ends  # noqa: E402
from builders.random_series import published, small_series, tiny_ledgers  # noqa: E402
from oracles.algorithm import Likelihoods  # noqa: E402

import reanon_core as reanon  # noqa: E402
from reanon_core.adversary_knowledge import with_algorithm  # noqa: E402
from reanon_core.attacks.algorithm import AlgorithmAttack  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402

PARTS = ("leak", "worlds", "cost")
CONSTANT: dict[str, dict[str, Any]] = {
    "filled": {"balancing": "filled"},
    "blind": {},
    "blind, blocks": {"not_eligible": "blocks"},
    "blind, defer": {"not_eligible": "defer"},
    "blind, pad": {"not_eligible": "pad"},
}
CHANGING: dict[str, dict[str, Any]] = {
    "filled, episodes": {"balancing": "filled", "on_sensitive_change": "episode"},
    "blind, episodes": {"on_sensitive_change": "episode"},
}
NUMBERS = ("buckets", "buckets that tell", "people", "fewer values", "certain")


def with_changes(snapshots: list[Snapshot], rng: np.random.Generator) -> list[Snapshot]:
    """The same people; at each release one in twelve has another value than before, for good."""
    values = len(snapshots[0].schema.sensitive.values)
    added, listed = np.zeros(1000, np.int32), []
    for snapshot in snapshots:
        listed.append(replace(snapshot, sensitive=(snapshot.sensitive + added[snapshot.persons]) % values))
        added += np.where(rng.random(1000) < 1 / 12, rng.integers(1, values, 1000), 0).astype(np.int32)
    return listed


def leak(series: int) -> Iterator[tuple[str, dict[str, float]]]:
    """What the attack finds, for each way; series that a way refuses are left out."""
    for name, options in {**CONSTANT, **CHANGING}.items():
        found = dict.fromkeys(("series", *NUMBERS), 0.0)
        for seed in range(series):
            m, snapshots = small_series(seed)
            if name in CHANGING:
                snapshots = with_changes(snapshots, np.random.default_rng(seed))
            technique = reanon.MInvariance(m=m, **options)
            ledger = published(technique, snapshots, seed)
            if ledger is None:
                continue
            findings = AlgorithmAttack().run(ledger.history(), with_algorithm(technique, ledger, ledger.knowledge()))
            of = dict(zip(NUMBERS, _numbers(findings), strict=True))
            found = {key: found[key] + of.get(key, 1) for key in found}
        yield name, found


def _numbers(findings: Any) -> tuple[float, ...]:
    extra = findings.extra
    return (
        extra.get("readings", 0),
        extra.get("readings with unequal relabellings", 0),
        findings.of,
        extra["people left with fewer values"],
        findings.exposed,
    )


def worlds(series: int) -> Iterator[tuple[str, dict[str, float]]]:
    """People with uneven posteriors and people who are certain, over all worlds of tiny series, m = 2."""
    for name, options in list(CONSTANT.items())[:2]:
        for assignment in ("deep", "paper"):
            technique = reanon.MInvariance(m=2, assignment=assignment, **options)
            found = dict.fromkeys(("series", "people", "uneven", "certain"), 0.0)
            for ledger in tiny_ledgers(technique, series):
                shares = Likelihoods(technique, ledger).posteriors()
                found["series"] += 1
                found["people"] += len(shares)
                found["uneven"] += sum(len(set(of.values())) > 1 or len(of) < 2 for of in shares.values())
                found["certain"] += sum(Fraction(1) in of.values() for of in shares.values())
            yield f"{name}, {assignment}", found


def cost(rows: int, releases: int, seeds: list[int], adult: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """The last release of both ways: counterfeits among all rows, GCP, median query error; means over the seeds."""
    for population in filter(None, (ends.census(rows), ends.adult(rows, adult))):
        for balancing in ("filled", "blind"):
            taken: dict[str, list[float]] = {"counterfeits": [], "gcp": [], "query-error": []}
            for seed in seeds:
                series = reanon.Series(
                    id="id",
                    sensitive=population.sensitive,
                    quasi_identifiers=population.columns(None),
                    technique=reanon.MInvariance(m=population.m, balancing=balancing),
                    unsafe_seed=seed,
                )
                for number, frame in enumerate(ends.snapshots(population, rows, releases)):
                    last = series.publish(frame, name=f"r{number}", accept_drift="an experiment")
                for name, values in taken.items():
                    values.append(series.measure(name)[last.name] / (len(last.to_pandas()) if name[0] == "c" else 1))
            yield f"{population.name}, {balancing}", {name: float(np.mean(of)) for name, of in taken.items()}


def draw(found: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """How many people are certain, or keep fewer values, for each way; and what both ways of balancing cost."""
    figure, (told, price) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    ways = list(found["leak"])[::-1]
    for offset, number, shade in ((0.2, "fewer values", "0.7"), (-0.2, "certain", "0.2")):
        share = [100 * found["leak"][way][number] / found["leak"][way]["people"] for way in ways]
        bars = told.barh(np.arange(len(ways)) + offset, share, 0.38, label=number, color=shade)
        told.bar_label(bars, fmt="%.1f", padding=3)
    told.set(
        yticks=range(len(ways)), yticklabels=ways, xlabel="% of people", title="What a reader of the source learns"
    )
    told.margins(x=0.15)
    told.legend(frameon=False)
    for name, numbers in found["cost"].items():
        people, balancing = name.rsplit(", ", 1)
        at = 100 * numbers["counterfeits"], 100 * numbers["query-error"]
        price.plot(*at, "o" if balancing == "blind" else "s", color="0.2" if balancing == "blind" else "0.6")
        price.annotate(f"{people}\n{balancing}", at, xytext=(0, -26), textcoords="offset points", fontsize=9)
    price.set(xlabel="counterfeits, % of the rows", ylabel="median query error, %", title="What it costs")
    price.set(xlim=(-0.5, 10), ylim=(0, 60))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> int:
    """Print the tables, and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--series", type=int, default=250, help="random series of each way")
    parser.add_argument("--rows", type=int, default=15_000, help="people in a release, if there are twice as many")
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument(
        "--adult", type=Path, default=ends.ADULT, help="the folder of adult.csv; left out if it is not there"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "figures", help="folder for blind.json and blind.png"
    )
    given = parser.parse_args()
    parts = {
        "leak": lambda: leak(given.series),
        "worlds": lambda: worlds(given.series),
        "cost": lambda: cost(given.rows, given.releases, given.seeds, given.adult),
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for part in given.parts:
        found[part] = {}
        print(part)
        for name, numbers in parts[part]():
            found[part][name] = numbers
            print(f"  {name:28} " + "  ".join(f"{key} {value:.4g}" for key, value in numbers.items()), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "blind.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    if {"leak", "cost"} <= set(found):
        draw(found, given.out / "blind.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
