"""BPG over the 22 years of the household survey: who is withheld and why, what helps, and what no algorithm can exceed.

    python tests/experiments/bpg_survival.py                       # about a minute of CPU
    python tests/experiments/bpg_survival.py --people 3000 --seeds 7 --part releases --out build/figures

`releases` prints what each release publishes, with the reasons and the stays of the people withheld. `bound` computes
the greatest share that any algorithm with `pool: alive` can publish if people leave and return at random
(reanon_core/techniques/bpg/PAPER.md has the argument). docs/techniques/bpg.md discusses the results.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations.survey import LEAVING, RETURNING, snapshots  # noqa: E402

from reanon_core.checks.atoms import Atoms  # noqa: E402
from reanon_core.compiled import compiled  # noqa: E402
from reanon_core.metrics.generalization import GlobalCertaintyPenalty  # noqa: E402
from reanon_core.model.arrays import Float64  # noqa: E402
from reanon_core.replay import publications  # noqa: E402
from reanon_core.techniques.bpg.technique import Bpg  # noqa: E402

OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "reserve: 40": {"reserve": 40},
    "pool: stored": {"pool": "stored"},
    "pool: stored, together: 0.4": {"pool": "stored", "together": 0.4},
    "pool: stored, together: 0.4, variant: union": {"pool": "stored", "together": 0.4, "variant": "union"},
    "pool: stored, together: 0.5, variant: union": {"pool": "stored", "together": 0.5, "variant": "union"},
}
GROUPS = (50, 100, 200)
WEIGHTS = (0.0, 0.05, 0.1, 0.15)
"""How fast the weights of later releases grow in the bound."""


def replayed(technique: Bpg, given: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """The numbers of each release; a stay is a row of years without a gap."""
    check, gcp = Atoms(k=technique.k, ell=technique.ell), GlobalCertaintyPenalty()
    memory, taken, stays, before = check.initial_memory(), [], {}, set[int]()
    waves = snapshots(given.years, seed, people=given.people, changing=given.changing)
    for snapshot, publication in publications(technique, waves, np.random.default_rng(seed)):
        entry, here = publication.entry(snapshot), set(snapshot.persons.tolist())
        verdict, memory = check.examine(entry, memory)
        for person in here - before:
            stays[person] = stays.get(person, 0) + 1
        before = here
        withheld = [min(3, stays[person]) for person in here - set(entry.trace.persons.tolist())]
        present = np.bincount([min(3, stays[person]) for person in here], minlength=4)[1:]
        taken.append({
            "people": snapshot.size,
            "published": 1 - entry.withheld / snapshot.size,
            "dirty": entry.dirty / snapshot.size,
            "groups": len(np.unique(entry.release.group)),
            "gcp": gcp.measure(entry, np.random.default_rng(0)),
            "violations": verdict.violations,
            "reasons": {sentence.split(":")[0]: count for sentence, count in publication.withheld.items()},
            "withheld in stay 1, 2, 3 or later": np.bincount(withheld, minlength=4)[1:].tolist(),
            "people in stay 1, 2, 3 or later": present.tolist(),
        })  # fmt: skip
    return taken


def releases(given: argparse.Namespace) -> dict[str, Any]:
    """What each release publishes, for each seed and all options."""
    runs: dict[str, Any] = {}
    for seed in given.seeds:
        for name, options in OPTIONS.items():
            run = replayed(Bpg(k=given.k, ell=given.ell, **options), given, seed)
            runs[f"seed {seed}, {name}"] = run
            print(f"\nseed {seed}, k = {given.k}, ell = {given.ell}, {name}")
            for number, release in enumerate(run, start=1):
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in release["reasons"].items())
                stays = " ".join(f"{count:5,}" for count in release["withheld in stay 1, 2, 3 or later"])
                print(
                    f"  {number:2} {release['published']:6.1%} published, {release['dirty']:5.1%} dirty, "
                    f"{release['groups']:5,} groups, GCP {release['gcp']:.2f}, {release['violations']} violations, "
                    f"withheld by stay {stays} ({reasons or 'no one'})"
                )
    return runs


def bound(given: argparse.Namespace) -> dict[str, float]:
    """The greatest weighted mean share that any algorithm publishes without people who left, by size of groups."""
    came, seen = [], set[int]()
    for snapshot in snapshots(given.years, given.seeds[0], people=given.people):
        here = set(snapshot.persons.tolist())
        came.append(len(here - seen))
        seen |= here
    stay = np.empty(given.years)  # the probability of being in the table so many releases after the first
    stay[0] = 1.0
    for year in range(1, given.years):
        stay[year] = stay[year - 1] * (1 - LEAVING) + (1 - stay[year - 1]) * RETURNING
    present = np.convolve(came, stay)[: given.years]
    least = dict.fromkeys(GROUPS, np.inf)
    moves = transitions(max(GROUPS))
    for growth in WEIGHTS:
        weights = np.exp(growth * np.arange(given.years))
        worth = _worth(weights / weights.sum() / present, moves, given.k)
        for size in GROUPS:
            least[size] = min(least[size], float(came @ _of_newcomers(worth[:, :size].max(axis=1))))
    for size, share in least.items():
        print(f"groups of at most {size} people: some release publishes at most {share:.1%}, whatever the algorithm")
    return {str(size): share for size, share in least.items()}


def _of_newcomers(worth: Float64) -> Float64:
    """The most that a person who comes is worth: they may be published for the first time whenever they are here."""
    here, away, found = 0.0, 0.0, np.empty(len(worth))
    for year in reversed(range(len(worth))):
        wait = (1 - LEAVING) * here + LEAVING * away
        away = RETURNING * here + (1 - RETURNING) * away
        here = found[year] = max(worth[year], wait)
    return found


def transitions(most: int) -> list[Float64]:
    """For each size of an atom, how likely so many members are here next time if so many are here now."""
    stay, come = np.zeros((2, most + 1, most + 1))
    stay[0, 0] = come[0, 0] = 1.0
    for kept, share in ((stay, 1 - LEAVING), (come, RETURNING)):
        for people in range(1, most + 1):
            kept[people] = (1 - share) * kept[people - 1]
            kept[people, 1:] += share * kept[people - 1, :-1]
    return [
        np.stack(
            [np.convolve(stay[here, : here + 1], come[size - here, : size - here + 1]) for here in range(size + 1)]
        )
        for size in range(most + 1)
    ]


def _worth(weights: Float64, moves: list[Float64], k: int) -> Float64:
    """What a person of a group that is first published in a year is worth by the best algorithm [years, sizes]."""
    most = len(moves) - 1
    value, found = np.zeros((most + 1, most + 1)), np.zeros((len(weights), most))
    for year in reversed(range(len(weights))):
        later = np.zeros_like(value)
        for size in range(k, most + 1):
            later[size, : size + 1] = moves[size] @ value[size, : size + 1]
        value = best_worth(later, weights[year], k)
        whole = weights[year] * np.arange(1, most + 1) + np.diag(later)[1:]
        found[year] = np.where(np.arange(1, most + 1) >= k, whole / np.arange(1, most + 1), 0.0)
    return found


@compiled
def best_worth(later: Float64, weight: float, k: int) -> Float64:
    """The worth of each atom, by size and people here: publish none of it, or any number that leaves k or no one."""
    best = np.zeros_like(later)
    for size in range(k, len(later)):
        for here in range(size + 1):
            best[size, here] = later[size, here]
            for shown in range(k, here + 1):
                rest = size - shown
                if rest == 0 or rest >= k:
                    worth = weight * shown + later[shown, shown] + later[rest, here - shown]
                    best[size, here] = max(best[size, here], worth)
    return best


def main() -> None:
    """Run the parts that the command line names."""
    parser = argparse.ArgumentParser(description="BPG over the 22 years of the household survey.")
    parser.add_argument("--part", choices=["releases", "bound", "all"], default="all")
    parser.add_argument("--years", type=int, default=22)
    parser.add_argument("--people", type=int, default=7062)
    parser.add_argument("--seeds", type=int, nargs="+", default=[7, 8, 9])
    parser.add_argument("--changing", type=float, default=0.0, help="share of the people whose industry changes a year")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--ell", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write all numbers to bpg-survival.json in this folder")
    given = parser.parse_args()
    parts = {"releases": releases, "bound": bound}
    found = {name: part(given) for name, part in parts.items() if given.part in (name, "all")}
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "bpg-survival.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
