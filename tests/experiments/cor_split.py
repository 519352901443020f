"""Two experiments beyond the Cor-Split paper, on the synthetic census.

    python tests/experiments/cor_split.py                # both: a few minutes of CPU
    python tests/experiments/cor_split.py --only cascade --out build/figures

How many people a few compromised people expose in the end (the cascade), with `balancing: filled`; and how the
adversaries compare with exact search on small random histories. docs/techniques/cor-split.md discusses the results.
The figures of the paper are in docs/results/rb09.md.
"""

import argparse
import json
import sys
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
from reanon_core.model.ledger import Ledger  # noqa: E402
from reanon_core.replay import replay  # noqa: E402
from reanon_core.techniques.cor_split.n_choose import breach_probability  # noqa: E402
from reanon_core.techniques.cor_split.technique import CorSplit  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

M, N = 6, 3
WORLDS = 5_000
"""Small histories with more worlds are passed over."""
SHARES = (0.01, 0.04)
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 21)
CASCADE = {"people": 30_000, "rows": 10_000, "update": 1_000, "releases": 21}


def style(panel: plt.Axes) -> None:
    panel.set_ylim(bottom=0)
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def cascade(given: argparse.Namespace) -> dict[str, object]:
    """The share of the other people who are exposed in the end, by the number of releases."""
    results: dict[str, dict[str, list[float]]] = {}
    techniques: dict[str, MInvariance | CorSplit] = {"m-invariance, m = 6": MInvariance(m=6, balancing="filled")}
    techniques |= {f"Cor-Split, m = {m}": CorSplit(m=m, n=N, balancing="filled") for m in (6, 8, 10)}
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
    parser = argparse.ArgumentParser(description="Two experiments beyond the Cor-Split paper.")
    parser.add_argument("--only", choices=["cascade", "small"], help="one of the two")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--histories", type=int, default=1_675)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "cor-split.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name, experiment in (("cascade", cascade), ("small", small_histories)):
        if given.only in (None, name):
            print(name, flush=True)
            results[name] = experiment(given)
            path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
