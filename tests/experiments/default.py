"""Which options a series should get that says nothing but m: every candidate, on tables of several kinds.

    python tests/experiments/default.py                   # five minutes of CPU: prints, and writes default.json
    python tests/experiments/default.py --tables adult --out build/figures

*kept* is the metric `relations` at the first and the last release, *off by* the query error of the last one, *cost* its
counterfeits and withheld people in % of the people, *lost* the greatest share of the people with one value, of those
that 50 have, who are withheld in any release. *located* is the share of people with one place left for a neighbour in
the last release, *insider* how many people the worst of 200 insiders makes certain. docs/techniques/m-invariance.md has
the table and the decision.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "experiments")]

import relations  # noqa: E402
from populations import census, survey  # noqa: E402

from reanon_core.brakes import FEWEST  # noqa: E402
from reanon_core.catalog import build_attack  # noqa: E402
from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.metrics.relations import RelationsKept  # noqa: E402
from reanon_core.model.errors import Unpublishable  # noqa: E402
from reanon_core.model.ledger import Entry, Ledger  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import publications  # noqa: E402
from reanon_core.techniques.decoupled import decouple  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {"balancing": "filled", "assignment": "paper"},
    **{
        f"{balancing}, {way}, {regions}": {"balancing": balancing, "not_eligible": way, "regions": regions}
        for balancing, way, regions in product(("blind", "median"), ("blocks", "partial-blocks"), ("none", "sizes"))
    },
}
FORMS = {"boxes": None, "decoupled": 10}
FIVE = (*relations.COLUMNS, "marital-status", "race")


def churned(people: Snapshot, rows: int, releases: int, seed: int) -> Iterator[Snapshot]:
    """So many of the people; 8% leave at each release, as many come, and a fifth of these have been here before."""
    rng = np.random.default_rng(seed)
    waiting = rng.permutation(people.size).tolist()
    here, left = [waiting.pop() for _ in range(rows)], []
    for _ in range(releases):
        yield people.rows(np.sort(np.array(here)), selected=None)
        going = set(rng.choice(here, rows * 8 // 100, replace=False).tolist())
        here, left = [one for one in here if one not in going], [*left, *going]
        back = [left.pop(0) for _ in range(min(len(left), len(going) // 5))]
        here += [*back, *(waiting.pop() for _ in range(len(going) - len(back)))]


def unrelated(series: Iterator[Snapshot], seed: int) -> Iterator[Snapshot]:
    """The same people and values, with quasi-identifiers of others: nothing goes together."""
    snapshots = list(series)
    known = np.zeros((len(snapshots[0].qi), 1 + max(int(one.persons.max()) for one in snapshots)), dtype=np.int32)
    for one in reversed(snapshots):
        known[:, one.persons] = one.qi
    shuffled = known[:, np.random.default_rng(seed).permutation(known.shape[1])]
    for one in snapshots:
        yield Snapshot(one.schema, one.persons, np.ascontiguousarray(shuffled[:, one.persons]), one.sensitive)


def tables(given: argparse.Namespace) -> dict[str, tuple[int, Callable[[int], Iterator[Snapshot]]]]:
    """The tables by name: m, and the snapshots of a seed."""

    def adult(rows: int, people: int, names: Sequence[str] = relations.COLUMNS) -> Callable[[int], Iterator[Snapshot]]:
        return lambda seed: churned(relations.planted(given.adult, people, seed, names), rows, 8, seed)

    years = given.years
    found: dict[str, tuple[int, Callable[[int], Iterator[Snapshot]]]] = {
        "adult, 14,000 people, m = 3": (3, adult(14_000, 24_000)),
        "adult, 14,000 people, five quasi-identifiers, m = 3": (3, adult(14_000, 24_000, FIVE)),
        "adult, 1,000 people, m = 3": (3, adult(1000, 3000)),
        "adult, 300 people, m = 3": (3, adult(300, 900)),
        "census, 20,000 people, m = 6": (
            6,
            lambda seed: census.snapshots("occupation", seed, people=60_000, rows=20_000, update=2000, releases=8),
        ),
        "survey, m = 3": (3, lambda seed: survey.snapshots(years, seed)),
        "survey, m = 5": (5, lambda seed: survey.snapshots(years, seed)),
        "unrelated survey, m = 5": (5, lambda seed: unrelated(survey.snapshots(years, seed), seed)),
    }
    return {name: one for name, one in found.items() if not given.tables or name.split(",")[0] in given.tables}


def lost(entry: Entry) -> float:
    """The greatest share of the people with one value who are withheld, of values that enough people have."""
    snapshot = entry.snapshot
    people = np.bincount(snapshot.sensitive)
    shown = np.bincount(snapshot.sensitive[snapshot.persons.searchsorted(entry.trace.persons)], minlength=len(people))
    large = people >= FEWEST
    return float(((people - shown)[large] / people[large]).max(initial=0))


def measured(options: dict[str, Any], k: int | None, m: int, series: Iterator[Snapshot], seed: int) -> dict[str, float]:
    """The numbers of a series; how many releases there were before one was refused."""
    technique: Any = MInvariance(m=m, **options)
    technique = technique if k is None else decouple(technique, k)
    entries: list[Entry] = []
    try:
        for snapshot, made in publications(technique, series, np.random.default_rng(seed)):
            entries.append(made.entry(snapshot))
    except Unpublishable:
        pass
    rng = np.random.default_rng(0)
    first, last, ledger = entries[0], entries[-1], Ledger(tuple(entries))
    location = build_attack("location").run(ledger.history(), ledger.knowledge(groups_known=False))
    insider = build_attack("insider").run(ledger.history(), ledger.knowledge())
    return {
        "releases": len(entries),
        "kept, first": RelationsKept().measure(first, rng),
        "kept": RelationsKept().measure(last, rng),
        "off by": CountingQueryError().measure(last, rng),
        "counterfeits": last.auxiliary.total / last.snapshot.size,
        "withheld": last.withheld / last.snapshot.size,
        "lost": max(map(lost, entries)),
        "located": location.extra["people with one place, to a neighbour"] / last.snapshot.size,
        "insider": float(insider.exposed),
    }


def line(name: str, found: dict[str, float]) -> str:
    """A line of the table in docs/techniques/m-invariance.md."""
    kept = " → ".join("–" if np.isnan(found[at]) else f"{100 * found[at]:.0f}%" for at in ("kept, first", "kept"))
    cost = f"{100 * found['counterfeits']:.1f}% + {100 * found['withheld']:.1f}%"
    off, gone, located = (f"{100 * found[one]:.0f}%" for one in ("off by", "lost", "located"))
    cells = (name, f"{found['releases']:.0f}", kept, off, cost, gone, located, f"{found['insider']:.0f}")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print a table for each kind of people, and write all numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared" / "data" / "adult")
    parser.add_argument("--tables", nargs="+", help="the first words of some tables, such as adult")
    parser.add_argument("--years", type=int, default=22)
    parser.add_argument("--seeds", type=int, nargs="+", default=[7, 11])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for default.json")
    given = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for table, (m, series) in tables(given).items():
        print(f"\n{table}\n", flush=True)
        found[table] = {}
        for (name, options), (form, k) in product(OPTIONS.items(), FORMS.items()):
            runs = [measured(options, k, m, series(seed), seed) for seed in given.seeds]
            means = {one: round(float(np.mean([run[one] for run in runs])), 4) for one in runs[0]}
            found[table][f"{name}, {form}"] = means
            print(line(f"{name}, {form}", means), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "default.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
