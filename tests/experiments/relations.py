"""How much each technique keeps of planted relations, and how well odds ratios are estimated from a release.

    python tests/experiments/relations.py                # two minutes of CPU: prints, and writes relations.json
    python tests/experiments/relations.py --seeds 2 --out build/figures

The people are 14,000 of Adult, with age, sex and education, if it lies beside the project. Twenty diagnoses, one of
which a quarter of the people have; women and older people have D01 more often, men and younger people D02. *kept* is
the metric `relations`, *odds ratio* what counting shows for women and D01. *estimated* is the slope of estimated on
true log odds ratios of D01 and D02 with sex, young and old people; *held* how often the 90% interval has the truth, for
these (related), and for the first six diagnoses with these and with a degree. Means over draws of people.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import algorithm_cuts  # noqa: E402

from reanon_core.catalog import build_technique  # noqa: E402
from reanon_core.estimate.questions import ReleaseEstimates  # noqa: E402
from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.metrics.relations import RelationsKept  # noqa: E402
from reanon_core.model.ledger import Entry  # noqa: E402
from reanon_core.model.schema import Ends, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import replay  # noqa: E402
from reanon_core.tables.release_table import published_tables  # noqa: E402
from reanon_core.techniques.decoupled import decouple  # noqa: E402
from reanon_dagster.releasing.query_error import percentage  # noqa: E402

COLUMNS = ("age", "sex", "education")
PLAIN = {"not_eligible": "partial-blocks", "regions": "none"}
WAYS: dict[str, tuple[str, dict[str, Any], int | None]] = {
    "Mondrian, k = 10": ("mondrian", {"k": 10}, None),
    "m-invariance without regions, boxes": ("m-invariance", {"m": 3, **PLAIN}, None),
    "m-invariance without regions, decoupled": ("m-invariance", {"m": 3, **PLAIN}, 10),
    "m-invariance, boxes": ("m-invariance", {"m": 3}, None),
    "m-invariance, decoupled": ("m-invariance", {"m": 3}, 10),
    "Cor-Split, n = 2, decoupled": ("cor-split", {"m": 3, "n": 2}, 10),
    "BPG, k = 10, ell = 3": ("bpg", {"k": 10, "ell": 3}, None),
    "JS-reduce, k = 10": ("js-reduce", {"k": 10, "t": 0.4, "j": 0.5}, None),
    "sequential, ell = 3": ("sequential", {"ell": 3}, None),
}
"""Technique, parameters, and k of the decoupled form."""
DEGREES = ("Bachelors", "Masters", "Doctorate")


def leaves(*labels: str) -> Callable[[Schema], list[int]]:
    """The codes of these values of a categorical column."""
    return lambda schema: [
        one.taxonomy.leaves.index(label)
        for one in schema.quasi_identifiers
        if one.taxonomy
        for label in labels
        if label in one.taxonomy.leaves
    ]


CONDITIONS: dict[str, tuple[dict[str, object], Callable[[Schema], list[int]]]] = {
    "sex": ({"sex": "Female"}, leaves("Female")),
    "age, young": ({"age": (17, 27)}, lambda _: list(range(17, 28))),
    "age, old": ({"age": (48, 90)}, lambda _: list(range(48, 91))),
    "education": ({"education": list(DEGREES)}, leaves(*DEGREES)),
}
"""What is asked of the first diagnoses, and the codes that meet it."""
ASKED = 6


def planted(folder: Path, people: int, seed: int, names: Sequence[str] = COLUMNS) -> Snapshot:
    """A sample of Adult with diagnoses in the place of occupations; age and sex are the first of the columns."""
    rng = np.random.default_rng(seed)
    whole = algorithm_cuts.adult(folder)
    here = np.sort(rng.permutation(whole.size)[:people])
    shown = [whole.schema.names.index(name) for name in names]
    columns = tuple(whole.schema.quasi_identifiers[at] for at in shown)
    qi = whole.qi[shown][:, here]
    sex = columns[1].taxonomy
    assert sex is not None
    woman, age = qi[1] == sex.leaves.index("Female"), qi[0] - 38.0
    likely = np.tile(np.log([0.25, *[0.75 / 19] * 19]), (people, 1))
    likely[:, 1] += woman + 0.03 * age
    likely[:, 2] -= 0.5 * woman + 0.02 * age
    share = np.exp(likely).cumsum(axis=1)
    value = (share / share[:, -1:] < rng.random((people, 1))).sum(axis=1)
    values = tuple(f"D{number:02d}" for number in range(20))
    schema = Schema(quasi_identifiers=columns, sensitive=Sensitive(name="diagnosis", values=values))
    return Snapshot(schema.with_ends(Ends.GRID), np.arange(people), qi, value.astype(np.int32))


def published(way: str, snapshot: Snapshot, seed: int) -> tuple[Entry, ReleaseEstimates]:
    """One release, and the estimates that an analyst makes of its files."""
    name, parameters, k = WAYS[way]
    plain = build_technique(name, parameters)
    technique = plain if k is None else decouple(plain, k)
    (entry,) = replay(technique, [snapshot], np.random.default_rng(seed)).entries
    tables = published_tables(entry.release, entry.auxiliary, snapshot.schema)
    orders = {one.name: one.taxonomy.leaves for one in snapshot.schema.quasi_identifiers if one.taxonomy}
    manifest = {"withheld": entry.withheld, "technique": {"regions": getattr(plain, "regions", "none")}}
    return entry, ReleaseEstimates(**tables, manifest=manifest, orders=orders, sensitive="diagnosis")


def measured(way: str, snapshot: Snapshot, seed: int) -> dict[str, float]:
    """What a reader sees of one release, and how good the estimates of odds ratios are."""
    entry, release = published(way, snapshot, seed)
    rng = np.random.default_rng(0)
    held, related, true, told = [], [], [], []
    for column, (asked, chosen) in CONDITIONS.items():
        inside = np.isin(snapshot.qi[COLUMNS.index(column.split(",")[0])], chosen(snapshot.schema))
        for value, label in enumerate(snapshot.schema.sensitive.values[:ASKED]):
            having = snapshot.sensitive == value
            truth = odds(inside[having].mean()) / odds(inside[~having].mean())
            answer = release.odds_ratio(asked, {"diagnosis": label})
            held.append(answer.covers(truth))
            if value in (1, 2) and not column.startswith("education"):
                related.append(held[-1])
                true.append(np.log(truth))
                told.append(np.log(answer.value))
    seen = RelationsKept(least_odds=1.01).pairs(entry)
    (sex,) = np.flatnonzero((seen.attribute == 1) & (seen.value == 1))
    return {
        "kept": RelationsKept().measure(entry, rng),
        "off by": CountingQueryError().measure(entry, rng),
        "odds ratio": float(np.exp(seen.released[sex] * np.sign(seen.true[sex]))),
        "truth": float(np.exp(abs(seen.true[sex]))),
        "estimated": float(np.dot(true, told) / np.dot(true, true)),
        "held": float(np.mean(held)),
        "held, related": float(np.mean(related)),
    }


def odds(share: float) -> float:
    """The odds of a share."""
    return share / (1 - share)


def table_line(way: str, found: dict[str, float]) -> str:
    """A line of the table in docs/using-a-release.md."""
    kept, ratio, error = found["kept"], found["odds ratio"], percentage(found["off by"])
    return f"| {way} | {100 * kept:.0f}% | {ratio:.2f} | {error} |"


def estimate_line(way: str, found: dict[str, float]) -> str:
    """A line of the table in docs/using-a-release.md."""
    kept, held, related = (f"{100 * found[name]:.0f}%" for name in ("kept", "held", "held, related"))
    return f"| {way} | {kept} | {100 * found['estimated']:.0f}% | {held} | {related} |"


def run() -> int:
    """Print a line for each way, and write all numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared" / "data" / "adult")
    parser.add_argument("--people", type=int, default=14_000)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for relations.json")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    found: dict[str, dict[str, float]] = {}
    for way in WAYS:
        runs = [measured(way, planted(given.adult, given.people, seed), seed) for seed in seeds]
        found[way] = {name: round(float(np.mean([one[name] for one in runs])), 4) for name in runs[0]}
        print(f"{way:40} " + "  ".join(f"{name} {value:.3f}" for name, value in found[way].items()), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "relations.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(run())
