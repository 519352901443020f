"""The experiments behind docs/techniques/js-reduce.md: what the JS test adds, and an evaluation on held-out seeds.

    python tests/experiments/js_reduce.py [--only frontier] [--seeds 101,102,103] [--out build/figures]
    python tests/experiments/js_reduce.py --plot            # draws what has been computed

Every scenario is a replay of the synthetic exams (data/exams/SOURCE.md) for several seeds; a seed whose numbers are in
js-reduce-<name>.json already is skipped. Settings were chosen on seeds 1 to 3 and are reported on others. The figures
of the paper are in docs/results/rpb12.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from experiments.results.rpb12.replays import (  # noqa: E402
    NO_J,
    PAPER,
    attack_views,
    js,
    population,
    published,
    utility,
)

from reanon_core.techniques.mondrian.technique import Mondrian  # noqa: E402


def frontier(seed: int) -> dict[str, object]:
    """Gain against information loss and withheld rows, for many settings and their controls."""
    people = population("exams")
    known, views, found = people.domain, people.seen(seed), {}
    for t in (0.25, 0.3, 0.35, 0.4, 0.45, 0.5):
        for j in (0.3, 0.5, 0.6, NO_J):
            ledger = published(js(known, t=t, j=j), views, seed)
            found[f"t={t:g} j={j:g}"] = {"last": asdict(attack_views(ledger, known)[-1]), **utility(ledger)}
    for t in (0.3, 0.4, 0.5, 0.8):
        ledger = published(Mondrian(k=10, t=t), views, seed)
        found[f"Mondrian t={t:g}"] = {"last": asdict(attack_views(ledger, known)[-1]), **utility(ledger)}
    return found


def heldout(seed: int) -> dict[str, object]:
    """The held-out evaluation: both pools, our setting and the paper's, their controls, and stronger adversaries."""
    found = {}
    for pool in (7500, 5000):
        people = population("exams", pool=pool)
        known, views = people.domain, people.seen(seed)
        makers: dict[str, object] = {
            "Mondrian l = 2": Mondrian(k=2, ell=2),
            "JS-reduce": js(known),
            "control without JS": js(known, j=NO_J),
            "JS-reduce, incremental": js(replace(people.incremental(1), prior=None)),
            "JS-reduce t = .5 j = .6": js(known, **PAPER),
            "JS-reduce t = .5 j = .6, suppress": js(known, **PAPER, leftovers="suppress"),
            "JS-reduce t = .5 j = .6, relax": js(known, **PAPER, leftovers="relax"),
            "JS-reduce t = .5 j = .6, literal": js(known, **PAPER, leftovers="suppress", max_run=0),
            "control t = .5 without JS": js(known, **{**PAPER, "j": NO_J}),
        }
        for name, technique in makers.items():
            ledger = published(technique, views, seed)
            if len(ledger.entries) < len(views):
                found[f"pool {pool}: {name}"] = {"refused at view": len(ledger.entries) + 1}
                continue
            last = asdict(attack_views(ledger, known)[-1])
            more = {}
            if name in {"Mondrian l = 2", "JS-reduce"}:
                more = {"gain, filter": attack_views(ledger, known, mode="filter")[-1].gain}
                more["gain, sum"] = attack_views(ledger, known, posterior="sum")[-1].gain
            found[f"pool {pool}: {name}"] = {"last": last, **utility(ledger), **more}
    return found


SCENARIOS = {one.__name__: one for one in (frontier, heldout)}


def chosen(text: str | None) -> Iterator[str]:
    yield from text.split(",") if text else SCENARIOS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="a list of " + ", ".join(SCENARIOS))
    parser.add_argument("--seeds", default="101,102,103")
    parser.add_argument("--plot", action="store_true", help="draw what has been computed")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.plot:
        from experiments.js_reduce_plots import draw

        draw(options.out, list(chosen(options.only)))
        return 0
    for name in chosen(options.only):
        target = options.out / f"js-reduce-{name}.json"
        found = json.loads(target.read_text()) if target.exists() else {}
        for seed in options.seeds.split(","):
            if seed in found:
                continue
            began = time.process_time()
            found[seed] = rounded(SCENARIOS[name](int(seed)))
            target.write_text(json.dumps(found, separators=(",", ":")) + "\n")
            print(f"{name}, seed {seed}: {time.process_time() - began:.0f} s", flush=True)
    return 0


def rounded(value: object) -> object:
    """The same with numbers of four decimals, which is enough for a plot."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
