"""How good counts by value and logistic regressions are in the first and in the eighth release of a series.

    python tests/experiments/estimate_series.py              # four minutes: prints, writes estimate-series.json
    python tests/experiments/estimate_series.py --seeds 1 --people 3000 --out build/figures

The people and their twenty diagnoses are those of `relations.py`, if Adult lies beside the project; 8% leave at each
release, and as many come. All options but m = 3 are the defaults. *counts* are those of each diagnosis: how often the
90% interval holds the truth, and half its width. *coefficients* are those of the first seven diagnoses on sex, on young
and old age and on a degree whose true odds ratio is beyond 1.5: how many have the right sign and are within so much of
the truth, and how often the interval holds it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "experiments")]

import default  # noqa: E402
import relations  # noqa: E402

from reanon_core.estimate.questions import ReleaseEstimates  # noqa: E402
from reanon_core.model.ledger import Entry  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import publications  # noqa: E402
from reanon_core.tables.release_table import published_tables  # noqa: E402
from reanon_core.techniques.decoupled import decouple  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

RELEASES, ASKED = 8, 7
FORMS = {"boxes": None, "decoupled": 10}
WITHIN = {1: 0.25, RELEASES: 0.35}
"""How far a coefficient may be off, as a part of the truth."""
LEAST = np.log(1.5)


def read(entry: Entry, technique: Any) -> ReleaseEstimates:
    """The estimates that an analyst makes of the files of a release."""
    schema = entry.snapshot.schema
    stated = {one.name: getattr(technique, one.name) for one in fields(technique)}
    manifest = {"withheld": entry.withheld, "technique": {"name": technique.name, **stated}}
    orders = {one.name: one.taxonomy.leaves for one in schema.quasi_identifiers if one.taxonomy}
    tables = published_tables(entry.release, entry.auxiliary, schema)
    return ReleaseEstimates(**tables, manifest=manifest, orders=orders, sensitive=schema.sensitive.name)


def true_coefficients(snapshot: Snapshot, value: int) -> np.ndarray:
    """Private: the logistic regression on the conditions of `relations.py`."""
    columns = [
        np.isin(snapshot.qi[relations.COLUMNS.index(name.split(",")[0])], chosen(snapshot.schema))
        for name, (_, chosen) in relations.CONDITIONS.items()
    ]
    terms = np.column_stack([np.ones(snapshot.size), *columns])
    has, found = snapshot.sensitive == value, np.zeros(len(columns) + 1)
    for _ in range(20):
        chance = 1 / (1 + np.exp(-terms @ found))
        found = found + np.linalg.solve((terms.T * (chance * (1 - chance))) @ terms, terms.T @ (has - chance))
    return found[1:]


def answers(entry: Entry, technique: Any) -> dict[str, list[Any]]:
    """Of each diagnosis whether its count holds and half its width; of each coefficient sign, error, and whether."""
    release, snapshot = read(entry, technique), entry.snapshot
    values, counts, coefficients = snapshot.schema.sensitive.values, [], []
    on = {name: asked for name, (asked, _) in relations.CONDITIONS.items()}
    for value, label in enumerate(values):
        told, truth = release.count({"diagnosis": label}), int((snapshot.sensitive == value).sum())
        counts.append([told.covers(truth), (told.high - told.low) / 2 / max(truth, 1)])
        if value < ASKED:
            lines = release.logistic({"diagnosis": label}, on).itertuples()
            for line, true in zip(lines, true_coefficients(snapshot, value), strict=True):
                if abs(true) > LEAST:
                    error = abs(line.value - true) / abs(true)
                    coefficients.append([line.value * true > 0, error, line.low <= true <= line.high])
    return {"counts": counts, "coefficients": coefficients}


def measured(form: str, given: argparse.Namespace) -> dict[int, dict[str, float]]:
    """The numbers of the first and of the last release, over all draws of people."""
    found: dict[int, dict[str, list[Any]]] = {at: {"counts": [], "coefficients": []} for at in WITHIN}
    for seed in range(given.first, given.first + given.seeds):
        plain = MInvariance(m=3)
        technique = plain if FORMS[form] is None else decouple(plain, 10)
        people = relations.planted(given.adult, given.people * 12 // 7, seed)
        snapshots = default.churned(people, given.people, RELEASES, seed)
        for at, (snapshot, made) in enumerate(publications(technique, snapshots, np.random.default_rng(seed)), start=1):
            if at in WITHIN:
                for name, lines in answers(made.entry(snapshot), plain).items():
                    found[at][name] += lines
    return {at: summed(one, WITHIN[at]) for at, one in found.items()}


def summed(found: dict[str, list[Any]], within: float) -> dict[str, float]:
    """The lines as shares, medians and numbers."""
    held, reach = np.array(found["counts"], np.float64).T
    sign, error, covered = np.array(found["coefficients"], np.float64).reshape(-1, 3).T
    return {
        "held": round(float(held.mean()), 3),
        "half width": round(float(np.median(reach)), 4),
        "coefficients": len(error),
        "right sign": int(sign.sum()),
        "within": int((error <= within).sum()),
        "worst": round(float(error.max(initial=0)), 3),
        "covered": round(float(covered.mean()), 3) if len(covered) else 1.0,
    }


def table_line(form: str, release: int, found: dict[str, float]) -> str:
    """A line of the table in docs/using-a-release.md."""
    counts = f"{100 * found['held']:.0f}% | {100 * found['half width']:.1f}%"
    of = f"of {found['coefficients']}"
    fits = f"{found['right sign']} {of} | {found['within']} {of} | {100 * found['worst']:.0f}%"
    return f"| {form}, release {release} | {counts} | {fits} | {100 * found['covered']:.0f}% |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each form and release, and write all numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared" / "data" / "adult")
    parser.add_argument("--people", type=int, default=14_000)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=200, help="the first seed")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for estimate-series.json")
    given = parser.parse_args(arguments)
    found = {form: measured(form, given) for form in FORMS}
    for form, releases in found.items():
        for release, one in releases.items():
            print(table_line(form, release, one), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "estimate-series.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
