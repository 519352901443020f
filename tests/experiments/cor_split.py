"""The experiments of the Cor-Split paper, and two of our own, on the synthetic census.

    python tests/experiments/cor_split.py                # everything: several minutes of CPU
    python tests/experiments/cor_split.py --only cascade --out build/figures

Figure 7: groups of m-invariance that are hc-unsafe. Figure 8: counterfeits of Cor-Split. Figure 9: query error of both.
Ours: how many people a few compromised people expose in the end (the cascade), and how the adversaries compare with
exact search on small random histories. docs/techniques/cor-split.md discusses the results.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from oracles.correlations import groups_of, possible, worlds  # noqa: E402
from oracles.histories import weak_ledger  # noqa: E402
from populations.census import snapshots  # noqa: E402

from reanon_core.attacks.compromised import CompromisedAttack  # noqa: E402
from reanon_core.attacks.linear import LinearAttack  # noqa: E402
from reanon_core.attacks.propagation import PropagationAttack  # noqa: E402
from reanon_core.checks.hc_safety import HcSafety  # noqa: E402
from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.model.ledger import Entry, Ledger  # noqa: E402
from reanon_core.protocols import Technique  # noqa: E402
from reanon_core.replay import publications, replay  # noqa: E402
from reanon_core.techniques.cor_split.n_choose import breach_probability  # noqa: E402
from reanon_core.techniques.cor_split.technique import CorSplit  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

M, N = 6, 3
SCENARIOS = {
    "10%": {"people": 600_000, "rows": 200_000, "update": 20_000, "releases": 21},
    "33%": {"people": 600_000, "rows": 60_000, "update": 20_000, "releases": 24},
}
"""The paper's two: the share of rows that is replaced at each release."""
TECHNIQUES: dict[str, Technique] = {
    "m-invariance": MInvariance(m=M),
    "Cor-Split, pairs": CorSplit(m=M, n=N, strict=False),
    "Cor-Split, strict": CorSplit(m=M, n=N),
    "Cor-Split, paper's partition": CorSplit(m=M, n=N, strict=False, partition="paper"),
}
COLOURS = dict(zip(TECHNIQUES, ("#7f7f7f", "#0072b2", "#d55e00", "#009e73"), strict=True))
SELECTIVITIES = (0.02, 0.04, 0.06, 0.08, 0.10)
WORLDS = 5_000
"""Small histories with more worlds are passed over."""
SHARES = (0.01, 0.04)
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 21)
CASCADE = {"people": 30_000, "rows": 10_000, "update": 1_000, "releases": 21}


def entries(technique: Technique, scenario: dict[str, int], seed: int) -> Iterator[Entry]:
    series = snapshots("income", seed, **scenario)
    for snapshot, publication in publications(technique, series, np.random.default_rng(seed)):
        yield Entry(snapshot, publication.release, publication.auxiliary, publication.trace)


def series_of(name: str, technique: Technique, scenario: dict[str, int], seed: int, queries: int) -> dict[str, object]:
    """Release by release: groups, unsafe groups, counterfeits; and the query errors of the last release."""
    check = HcSafety(n=N)
    memory = check.initial_memory()
    results: dict[str, list[float]] = {"groups": [], "hc-unsafe": [], "refused by Figure 6": [], "counterfeits": []}
    for entry in entries(technique, scenario, seed):
        verdict, memory = check.examine(entry, memory)
        results["groups"].append(verdict.observed["groups"])
        results["hc-unsafe"].append(verdict.violations)
        results["refused by Figure 6"].append(verdict.observed["groups that Figure 6 refuses"])
        results["counterfeits"].append(entry.auxiliary.total)
    errors = [
        CountingQueryError(queries=queries, theta=one).measure(entry, np.random.default_rng([seed, at]))
        for at, one in enumerate(SELECTIVITIES)
    ]
    refused, counterfeits = results["refused by Figure 6"][-1], results["counterfeits"][-1]
    print(f"  {name}: {refused:.0f} refused, {counterfeits:.0f} counterfeits, query error {errors[1]:.4f}", flush=True)
    return {**results, "query error": errors}


def figures_7_to_9(given: argparse.Namespace) -> dict[str, object]:
    measured: dict[str, dict[str, dict[str, list[float]]]] = given.before.get("figures", {})
    for scenario, sizes in SCENARIOS.items():
        print(f"{scenario} of {sizes['rows']:,} rows", flush=True)
        for name, technique in TECHNIQUES.items():
            if given.series in (None, f"{scenario}:{name}"):
                found = series_of(name, technique, sizes, given.seed, given.queries)
                measured.setdefault(scenario, {})[name] = found  # type: ignore[assignment]
    if any(name not in measured.get(scenario, {}) for scenario in SCENARIOS for name in TECHNIQUES):
        return measured  # type: ignore[return-value]  # single series so far: the figures need all of them
    draw(
        measured,
        "refused by Figure 6",
        ["m-invariance"],
        "groups refused by Figure 6, n = 3",
        given.out / "cor-split-figure-7.png",
    )
    draw(
        measured, "counterfeits", list(TECHNIQUES), "counterfeits in the release", given.out / "cor-split-figure-8.png"
    )
    draw(measured, "query error", list(TECHNIQUES), "median relative query error", given.out / "cor-split-figure-9.png")
    return measured  # type: ignore[return-value]


def draw(measured: dict, measure: str, names: list[str], label: str, path: Path) -> None:
    """One panel for each scenario, one line for each technique."""
    figure, panels = plt.subplots(1, len(measured), figsize=(4.4 * len(measured), 3.4), layout="constrained")
    for panel, (scenario, by_name) in zip(panels, measured.items(), strict=True):
        for name in names:
            values = by_name[name][measure]
            at = np.array(SELECTIVITIES) * 100 if measure == "query error" else np.arange(1, len(values) + 1)
            panel.plot(at, values, color=COLOURS[name], label=name, linewidth=1.5, marker="o", markersize=3)
        sizes = SCENARIOS[scenario]
        panel.set_title(f"{sizes['rows']:,} rows, {scenario} replaced each time", fontsize=10, loc="left")
        panel.set_xlabel("expected selectivity, %" if measure == "query error" else "release")
        style(panel)
        if measure != "query error":
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0].set_ylabel(label)
    if len(names) > 1:
        panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def style(panel: plt.Axes) -> None:
    panel.set_ylim(bottom=0)
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def cascade(given: argparse.Namespace) -> dict[str, object]:
    """The share of the other people who are exposed in the end, by the number of releases."""
    results: dict[str, dict[str, list[float]]] = {}
    techniques: dict[str, Technique] = {"m-invariance, m = 6": MInvariance(m=6)}
    techniques |= {f"Cor-Split, m = {m}": CorSplit(m=m, n=N) for m in (6, 8, 10)}
    for name, technique in techniques.items():
        whole = replay(technique, snapshots("income", given.seed, **CASCADE), np.random.default_rng(given.seed))
        for share in SHARES:
            shares = []
            for length in LENGTHS:
                ledger = Ledger(whole.entries[:length])
                known = ledger.sampled(share, np.random.default_rng(given.seed))
                knowledge = ledger.knowledge(compromised=known, groups_known=True)
                found = CompromisedAttack().run(ledger.history(), knowledge)
                shares.append(found.exposed / found.of)
            results.setdefault(name, {})[str(share)] = shares
            print(f"  {name}, {share:.0%}: {', '.join(f'{one:.3f}' for one in shares)}", flush=True)
    draw_cascade(results, given.out / "cor-split-cascade.png")
    return {"releases": LENGTHS, "exposed": results}


def draw_cascade(results: dict[str, dict[str, list[float]]], path: Path) -> None:
    """One panel for each share of compromised people, one line for each technique."""
    figure, panels = plt.subplots(1, len(SHARES), figsize=(8.8, 3.4), layout="constrained", sharey=True)
    for panel, share in zip(panels, SHARES, strict=True):
        for (name, by_share), colour in zip(results.items(), ("#7f7f7f", "#d55e00", "#e69f00", "#009e73"), strict=True):
            panel.plot(LENGTHS, by_share[str(share)], color=colour, label=name, linewidth=1.5, marker="o", markersize=3)
        estimate = [breach_probability(share, length, M, N) for length in LENGTHS]
        panel.plot(LENGTHS, estimate, ":", color="black", label="p_pb of the paper, m = 6, n = 3", linewidth=1.5)
        panel.set_title(f"{share:.0%} of all people compromised", fontsize=10, loc="left")
        panel.set_xlabel("releases")
        style(panel)
        panel.set_ylim(-0.02, 1)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0].set_ylabel("share of the others who are exposed")
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def small_histories(given: argparse.Namespace) -> dict[str, object]:
    """How many people each adversary exposes over many small random histories, and how many are exposed in truth."""
    attacks = {
        "ct-pvr and hc-pvr": CompromisedAttack(),
        "GAC": PropagationAttack(shaving=False, correlations=False),
        "GAC and hc-pvr": PropagationAttack(shaving=False),
        "GAC, hc-pvr and sums of groups": LinearAttack(),
        "GAC, hc-pvr and shaving": PropagationAttack(),
    }
    counts = dict.fromkeys([*attacks, "exact"], 0)
    seed, done = 0, 0
    while done < given.histories:
        seed += 1
        random = Random(seed)
        m = random.choice([2, 3, 4])
        ledger = weak_ledger(random, m=m, people=random.randint(2 * m, 3 * m), releases=random.choice([2, 3, 4]))
        known = ledger.sampled(random.choice([0.1, 0.2, 0.3]), np.random.default_rng(seed))
        knowledge = ledger.knowledge(compromised=known, groups_known=True)
        compromised = dict(zip(known.persons.tolist(), known.values.tolist(), strict=True))
        try:
            left = possible(worlds(groups_of(ledger.entries), compromised, limit=WORLDS))
        except OverflowError:
            continue
        done += 1
        counts["exact"] += sum(len(values) == 1 for person, values in left.items() if person not in compromised)
        for name, attack in attacks.items():
            counts[name] += attack.run(ledger.history(), knowledge).exposed
    for name, count in counts.items():
        print(f"  {name}: {count:,}", flush=True)
    return {"histories": given.histories, "exposed": counts}


def main() -> None:
    parser = argparse.ArgumentParser(description="The experiments of the Cor-Split paper, and two of our own.")
    parser.add_argument("--only", choices=["figures", "cascade", "small"], help="one of the three")
    parser.add_argument("--series", help='figures: one series of all, such as "10%%:m-invariance"; others are kept')
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--histories", type=int, default=1_675)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "cor-split.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name, experiment in (("figures", figures_7_to_9), ("cascade", cascade), ("small", small_histories)):
        if given.only in (None, name):
            print(name, flush=True)
            given.before = results
            results[name] = experiment(given)
            path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
