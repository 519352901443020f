"""Who is located, and whom one person or one in a hundred exposes who tell their values: the survey, eight years.

    python tests/experiments/insiders.py                 # a minute of CPU
    python tests/experiments/insiders.py --seeds 1 --people 900 --out build/figures

The waves are those of the synthetic survey (data/survey/SOURCE.md); docs/limitations.md and docs/decoupled.md have the
results. *insider*: how many others the worst of 200 people makes certain, alone, and the median; *1%*: how many a
hundredth of all people make certain. All groups are known to these, and no one's value changes.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from populations.survey import snapshots  # noqa: E402

from reanon_core.attacks.location import FEW, LOCATED, NEIGHBOUR, PEOPLE, REPLAY  # noqa: E402
from reanon_core.catalog import build_attack, build_technique  # noqa: E402
from reanon_core.model.ledger import Ledger  # noqa: E402
from reanon_core.replay import replay  # noqa: E402
from reanon_core.techniques.decoupled import decouple  # noqa: E402

TECHNIQUES = {
    "m-invariance": build_technique("m-invariance", {"m": 3}),
    "m-invariance, decoupled": decouple(build_technique("m-invariance", {"m": 3}), 5),
    "cor-split": build_technique("cor-split", {"m": 3, "n": 2}),
}


def measured(ledger: Ledger, seed: int) -> dict[str, float]:
    """What the attacks find in a series."""
    history, known = ledger.history(), ledger.sampled(0.01, np.random.default_rng(seed))
    insider = build_attack("insider").run(history, ledger.knowledge())
    few = build_attack("compromised").run(history, ledger.knowledge(compromised=known))
    place = build_attack("location").run(history, ledger.knowledge(groups_known=False)).extra
    numbers = {
        "insider, worst": insider.extra["others made certain by the worst insider"],
        "insider, median": insider.extra["others made certain by the median insider"],
        "insider, share": insider.extra["share of insiders who make anyone certain"],
        "1%": float(few.exposed),
        "of": float(few.of),
    }
    shares = (f"{what}, {who}" for who in (NEIGHBOUR, REPLAY) for what in (LOCATED, FEW))
    return numbers | {name: place[name] / place[PEOPLE] for name in shares if name in place}


def main() -> None:
    """Measure each technique on each seed, and print it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--people", type=int, default=7062)
    options.add_argument("--years", type=int, default=8)
    options.add_argument("--out", type=Path)
    chosen = options.parse_args()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in TECHNIQUES}
    for seed in range(chosen.seeds):
        waves = list(snapshots(chosen.years, seed, people=chosen.people))
        for name, technique in TECHNIQUES.items():
            found[name].append(measured(replay(technique, waves, np.random.default_rng(seed)), seed))
            print(seed, name, {key: round(value, 4) for key, value in found[name][-1].items()}, flush=True)
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
        (chosen.out / "insiders.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
