"""How much each technique keeps of planted relations: Adult with diagnoses that depend on sex and age.

    python tests/experiments/relations.py --adult ../shared/data/adult --out build/relations

Twenty diagnoses, one of which a quarter of the people have; women and older people have D01 more often, men and younger
people D02. *kept* is the metric `relations`, *sex, D01* the odds ratio that a reader sees for women. Quasi-identifiers
are age, sex and education. Each number is the mean of three seeds.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import algorithm_cuts  # noqa: E402

from reanon_core.catalog import build_technique  # noqa: E402
from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.metrics.relations import RelationsKept  # noqa: E402
from reanon_core.model.schema import Ends, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import replay  # noqa: E402
from reanon_core.techniques.decoupled import decouple  # noqa: E402

COLUMNS = ("age", "sex", "education")
REGIONS = {"not_eligible": "partial-blocks", "balancing": "median", "regions": "sizes"}
WAYS: dict[str, tuple[str, dict[str, Any], int | None]] = {
    "Mondrian, k = 10": ("mondrian", {"k": 10}, None),
    "m-invariance, boxes": ("m-invariance", {"m": 3}, None),
    "m-invariance, decoupled": ("m-invariance", {"m": 3}, 10),
    "m-invariance with regions, boxes": ("m-invariance", {"m": 3, **REGIONS}, None),
    "m-invariance with regions, decoupled": ("m-invariance", {"m": 3, **REGIONS}, 10),
    "Cor-Split, n = 2, boxes": ("cor-split", {"m": 3, "n": 2}, None),
    "BPG, k = 10, ell = 3": ("bpg", {"k": 10, "ell": 3}, None),
    "JS-reduce, k = 10": ("js-reduce", {"k": 10, "t": 0.4, "j": 0.5}, None),
    "sequential, ell = 3": ("sequential", {"ell": 3}, None),
}
"""Technique, parameters, and k of the decoupled form."""


def planted(folder: Path, people: int, seed: int) -> Snapshot:
    """A sample of Adult with diagnoses in the place of occupations."""
    rng = np.random.default_rng(seed)
    whole = algorithm_cuts.adult(folder)
    here = np.sort(rng.permutation(whole.size)[:people])
    shown = [whole.schema.names.index(name) for name in COLUMNS]
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


def measured(way: str, snapshot: Snapshot, seed: int) -> dict[str, float]:
    """One release, and what a reader sees of it."""
    name, parameters, k = WAYS[way]
    technique = build_technique(name, parameters)
    technique = technique if k is None else decouple(technique, k)
    (entry,) = replay(technique, [replace(snapshot)], np.random.default_rng(seed)).entries
    pairs, rng = RelationsKept().pairs(entry), np.random.default_rng(0)
    (sex,) = np.flatnonzero((pairs.attribute == 1) & (pairs.value == 1))
    return {
        "kept": RelationsKept().measure(entry, rng),
        "off by": CountingQueryError().measure(entry, rng),
        "sex, D01": float(np.exp(abs(pairs.released[sex]) * np.sign(pairs.released[sex] * pairs.true[sex]))),
        "truth": float(np.exp(abs(pairs.true[sex]))),
    }


def run() -> int:
    """Print a line for each way, and write all numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared" / "data" / "adult")
    parser.add_argument("--people", type=int, default=14_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("build/relations"))
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for way in WAYS:
        runs = [measured(way, planted(given.adult, given.people, seed), seed) for seed in range(given.seeds)]
        found[way] = {name: float(np.mean([one[name] for one in runs])) for name in runs[0]}
        print(f"{way:40} " + "  ".join(f"{name} {value:.3f}" for name, value in found[way].items()), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "relations.json").write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(run())
