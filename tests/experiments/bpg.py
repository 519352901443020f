"""BPG over long series: what a reserve buys, what max_dirty costs, what adversaries find.

    python tests/experiments/bpg.py                         # the full run: several minutes of CPU
    python tests/experiments/bpg.py --rows 20000 --part reserve --out build/figures

Replays T-series of the synthetic census (data/census/SOURCE.md): at each release r of the rows leave, and as many
newcomers arrive. The check `atoms` judges every history as it grows, and its verdicts are stored with the numbers.
docs/techniques/bpg.md discusses the results; the figures of the paper are in docs/results/bpg.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations.census import snapshots  # noqa: E402

from reanon_core.attacks.difference import DifferenceAttack  # noqa: E402
from reanon_core.attacks.intersection import IntersectionAttack  # noqa: E402
from reanon_core.attacks.subsets import SubsetsAttack  # noqa: E402
from reanon_core.checks.atoms import Atoms  # noqa: E402
from reanon_core.metrics.entropy import FrequencyEntropy, VolumeEntropy  # noqa: E402
from reanon_core.metrics.generalization import GlobalCertaintyPenalty  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import publications, replay  # noqa: E402
from reanon_core.techniques.bpg.technique import Bpg  # noqa: E402
from reanon_core.techniques.mondrian.technique import Mondrian  # noqa: E402

K = 10
METRICS = {"fem": FrequencyEntropy(), "vem": VolumeEntropy(), "gcp": GlobalCertaintyPenalty()}
COLOURS = ("#7f7f7f", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
Run = dict[str, list[float]]


def series(given: argparse.Namespace, update: int) -> Iterator[Snapshot]:
    """The T-series that leaves and takes in `update` people of 200,000, or in proportion."""
    scaled = update * given.rows // 200_000
    return snapshots(
        given.sensitive, given.seed, people=3 * given.rows, rows=given.rows, update=scaled, releases=given.releases
    )


def asking_for_half(tables: Iterable[Snapshot], seed: int) -> Iterator[Snapshot]:
    """The first release selects all people, each later one a random half."""
    rng = np.random.default_rng(seed)
    for number, snapshot in enumerate(tables):
        yield replace(snapshot, selected=rng.random(snapshot.size) < 0.5) if number else snapshot


def asking_for_ages(tables: Iterable[Snapshot], seed: int) -> Iterator[Snapshot]:
    """The first release selects all people, each later one a range of ages with about half of them."""
    rng = np.random.default_rng(seed)
    for number, snapshot in enumerate(tables):
        age = snapshot.qi[0]
        begin = rng.uniform(0, 0.5)
        low, high = np.quantile(age, [begin, begin + 0.5])
        yield replace(snapshot, selected=(age >= low) & (age <= high)) if number else snapshot


def measured(technique: Any, tables: Iterable[Snapshot], seed: int, *, judged: bool = True) -> Run:
    """The numbers of each release, and how many atoms of the history break the principle after it."""
    names = ("published", "withheld", "dirty", "counterfeits", "rows", "seconds", "violations", *METRICS)
    taken: Run = {name: [] for name in names}
    check = Atoms(k=K, ell=K)
    memory, rng, begun = check.initial_memory(), np.random.default_rng(seed), time.process_time()
    for snapshot, publication in publications(technique, tables, np.random.default_rng(seed)):
        taken["seconds"].append(time.process_time() - begun)
        entry = publication.entry(snapshot)
        selected = int(np.count_nonzero(entry.snapshot.selection))
        taken["published"].append(1 - entry.withheld / selected)
        taken["withheld"].append(entry.withheld)
        taken["dirty"].append(entry.dirty)
        taken["counterfeits"].append(entry.auxiliary.total)
        taken["rows"].append(entry.release.size)
        for name, metric in METRICS.items():
            taken[name].append(metric.measure(entry, rng))
        if judged:
            verdict, memory = check.examine(entry, memory)
            taken["violations"].append(verdict.violations)
        begun = time.process_time()
    return taken


def panel_of(panel: Any, lines: dict[str, list[float]], title: str, *, percent: bool = False) -> None:
    """One line for each run."""
    for (name, values), colour in zip(lines.items(), COLOURS, strict=False):
        shown = [100 * value for value in values] if percent else values
        panel.plot(range(1, len(shown) + 1), shown, label=name, color=colour, linewidth=1.6, marker="o", markersize=3)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_ylim(bottom=0)
    panel.set_xlabel("release")
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def saved(figure: Any, title: str, given: argparse.Namespace, name: str) -> None:
    figure.suptitle(title, fontsize=9, color="#555555")
    figure.savefig(given.out / f"{name}.png", dpi=110)
    plt.close(figure)


def reserves(given: argparse.Namespace) -> dict[str, dict[str, Run]]:
    """What a reserve keeps published over the releases, and what it costs."""
    runs: dict[str, dict[str, Run]] = {}
    figure, panels = plt.subplots(2, 3, figsize=(11.5, 6.4), layout="constrained")
    for row, update in zip(panels, (40_000, 5_000), strict=True):
        churn = f"{update / 2000:g}% leave"
        for reserve in (1, 2, 5, 10, 20, 40):
            run = measured(Bpg(k=K, ell=K, reserve=reserve), series(given, update), given.seed)
            runs.setdefault(churn, {})[f"reserve: {reserve}"] = run
            report(f"{churn}, reserve {reserve}", run)
        here = runs[churn]
        panel_of(row[0], {n: run["published"] for n, run in here.items()}, f"{churn}: published, %", percent=True)
        panel_of(row[1], {n: run["vem"] for n, run in here.items()}, f"{churn}: VEM, bits (withheld people count 0)")
        panel_of(row[2], {n: run["gcp"] for n, run in here.items()}, f"{churn}: GCP, mean length of an interval")
        row[0].set_ylim(0, 103)
    figure.legend(*panels[0][0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=6)
    title = f"{given.rows:,} rows, k = ell = {K}, pool: alive; the share that leaves at each release comes anew"
    saved(figure, title, given, "bpg-reserve")
    return runs


SCENES = {"a fifth leaves": "stored", "queries for a random half": "alive", "queries for a range of ages": "alive"}
"""What cuts through neighbourhoods, and the pool that is drawn on then."""


def dirt(given: argparse.Namespace) -> dict[str, dict[str, Run]]:
    """Dirty and withheld against max_dirty: where people leave, and where queries cut through neighbourhoods."""
    runs: dict[str, dict[str, Run]] = {scene: {} for scene in SCENES}
    for share in (0.0, 0.1, 0.25, 0.5, 1.0):
        tables = {
            "a fifth leaves": series(given, 40_000),
            "queries for a random half": asking_for_half(series(given, 0), given.seed),
            "queries for a range of ages": asking_for_ages(series(given, 0), given.seed),
        }
        for scene, pool in SCENES.items():
            technique = Bpg(k=K, ell=K, pool=pool, reserve=1 if pool == "stored" else 5, max_dirty=share)
            runs[scene][f"max_dirty: {share:g}"] = measured(technique, tables[scene], given.seed)
            report(f"{scene}, max_dirty {share}", runs[scene][f"max_dirty: {share:g}"])
    figure, panels = plt.subplots(len(SCENES), 2, figsize=(9.5, 8.6), layout="constrained")
    for row, (scene, pool) in zip(panels, SCENES.items(), strict=True):
        for panel, measure in zip(row, ("dirty", "withheld"), strict=True):
            lines = {name: run[measure] for name, run in runs[scene].items()}
            panel_of(panel, lines, f"{scene}, pool: {pool}: {measure}")
            panel.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k")
    figure.legend(*panels[0][0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=5)
    title = f"{given.rows:,} rows, k = ell = {K}, variant: middle; reserve: 1 in the first row, 5 in the others"
    saved(figure, title, given, "bpg-dirty")
    return runs


def attacks(given: argparse.Namespace) -> dict[str, dict[str, dict[str, float]]]:
    """What adversaries find in 21 releases of which 2% are replaced each time, and how long that takes them."""
    techniques = {"mondrian, k = 4, ell = 2": Mondrian(k=4, ell=2), "bpg, k = ell = 10": Bpg(k=K, ell=K)}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, technique in techniques.items():
        tables = snapshots(
            given.sensitive, 5, people=3 * given.rows, rows=given.rows, update=given.rows // 50, releases=21
        )
        ledger = replay(technique, tables, np.random.default_rng(1))
        for attack in (IntersectionAttack(), DifferenceAttack(), SubsetsAttack()):
            begun = time.process_time()
            findings = attack.run(ledger.history(), ledger.knowledge())
            seconds = time.process_time() - begun
            numbers = {"exposed": findings.exposed, "of": findings.of, "seconds": round(seconds, 1), **findings.extra}
            found.setdefault(name, {})[attack.name] = numbers
            print(f"{name:28} {attack.name:14} {numbers}", flush=True)
    return found


def report(name: str, run: Run) -> None:
    last = {key: round(values[-1], 3) for key, values in run.items() if values}
    wrong = int(sum(run["violations"])) if run["violations"] else "not judged"
    print(
        f"{name:45} published {[round(100 * v) for v in run['published']]} last {last}, atoms broken: {wrong}",
        flush=True,
    )


def rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [round(float(inner), 4) for inner in value]
    return value


PARTS = {"reserve": reserves, "dirty": dirt, "attacks": attacks}


def main() -> None:
    parser = argparse.ArgumentParser(description="BPG over long series.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--releases", type=int, default=11)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--sensitive", default="occupation", choices=["income", "occupation"])
    parser.add_argument("--part", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    settings = {key: value for key, value in vars(given).items() if key not in {"out", "part"}}
    for part in given.part:
        written = {"settings": settings, "runs": rounded(PARTS[part](given))}
        path = given.out / f"bpg-{part}.json"
        path.write_text(json.dumps(written, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
