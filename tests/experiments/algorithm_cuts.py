"""What a reader of the source learns from the cuts of Mondrian and BPG, and the price of cuts that look at no value.

    python tests/experiments/algorithm_cuts.py                      # everything: a few minutes of CPU
    python tests/experiments/algorithm_cuts.py --part small --tables 20 --out build/figures

*small*: random tables of 30 people, all arrangements of every group by the attack `algorithm`. *large*: the synthetic
census, and Adult where ../shared/data is there: exchanges of two people in a sample of the groups, query error and
GCP. docs/techniques/mondrian.md and docs/techniques/bpg.md discuss the results.
"""

import argparse
import csv
import json
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations.census import snapshots  # noqa: E402

from reanon_core.adversary_knowledge import readings_of, with_algorithm  # noqa: E402
from reanon_core.attacks.algorithm import AlgorithmAttack  # noqa: E402
from reanon_core.metrics.generalization import GlobalCertaintyPenalty  # noqa: E402
from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.model.errors import Unpublishable  # noqa: E402
from reanon_core.model.ledger import Ledger  # noqa: E402
from reanon_core.model.schema import Kind, QuasiIdentifier, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.model.taxonomy import Taxonomy  # noqa: E402
from reanon_core.readers import bpg as bpg_reading  # noqa: E402
from reanon_core.readers import mondrian  # noqa: E402
from reanon_core.readers import mondrian as mondrian_release  # noqa: E402
from reanon_core.replay import publications  # noqa: E402
from reanon_core.techniques.bpg.technique import Bpg  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402
from reanon_core.techniques.mondrian.technique import Mondrian  # noqa: E402

BLIND, COUNTS = {"cuts_by": "quasi-identifiers"}, {"cuts_by": "counts"}
PEOPLE, PLACES, SHARES = 30, 40, (0.4, 0.25, 0.15, 0.1, 0.06, 0.04)
SMALL = Schema(
    quasi_identifiers=tuple(QuasiIdentifier(name=name, domain=(0, PLACES - 1)) for name in ("a", "b", "c")),
    sensitive=Sensitive(name="s", values=tuple("uvwxyz")),
)
QUERIES = CountingQueryError(queries=1000)
CERTAINTY = GlobalCertaintyPenalty()


def small_series(rng: np.random.Generator, releases: int) -> list[Snapshot]:
    """Thirty people at random places, and for later releases a fifth of them anew each time."""
    everyone = PEOPLE + (releases - 1) * PEOPLE // 5
    qi = rng.integers(0, PLACES, (3, everyone)).astype(np.int32)
    value = rng.choice(len(SHARES), everyone, p=SHARES).astype(np.int32)
    here, found = np.arange(PEOPLE), []
    for number in range(releases):
        found.append(Snapshot(SMALL, here, qi[:, here], value[here]))
        first = PEOPLE + number * PEOPLE // 5
        here = np.concatenate([np.sort(rng.permutation(here)[PEOPLE // 5 :]), np.arange(first, first + PEOPLE // 5)])
    return found


def adult(folder: Path) -> Snapshot:
    """The people of Adult, five quasi-identifiers with their taxonomies, and occupation."""
    with (folder / "adult.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    columns, codes = [QuasiIdentifier(name="age", domain=(17, 90))], [[int(row["age"]) for row in rows]]
    for name in ("sex", "race", "marital-status", "education"):
        with (folder / f"adult_hierarchy_{name}.csv").open(encoding="utf-8") as file:
            tree = Taxonomy.from_lines([tuple(line) for line in csv.reader(file, delimiter=";")], name=name)
        columns.append(QuasiIdentifier(name=name, kind=Kind.CATEGORICAL, taxonomy=tree, hierarchical=True))
        codes.append([tree.leaves.index(row[name]) for row in rows])
    values = tuple(sorted({row["occupation"] for row in rows}))
    schema = Schema(quasi_identifiers=tuple(columns), sensitive=Sensitive(name="occupation", values=values))
    sensitive = np.array([values.index(row["occupation"]) for row in rows], np.int32)
    return Snapshot(schema, np.arange(len(rows)), np.array(codes, np.int32), sensitive)


def census(rows: int) -> Snapshot:
    """The first table of the synthetic census."""
    return next(iter(snapshots("occupation", 31, people=3 * rows, rows=rows, update=0, releases=1)))


def published(technique: Any, tables: list[Snapshot]) -> Ledger:
    """The releases that can be made, up to the first that is refused."""
    entries = []
    made = publications(technique, tables, np.random.default_rng(1))
    while True:
        try:
            snapshot, publication = next(made)
        except (StopIteration, Unpublishable):
            return Ledger(tuple(entries))
        entries.append(publication.entry(snapshot))


def attacked(technique: Any, ledger: Ledger) -> dict[str, float]:
    """What the attack finds, and how useful the last release is."""
    findings = AlgorithmAttack().run(ledger.history(), with_algorithm(technique, ledger, ledger.knowledge()))
    ruled_out = {"groups": 0, "groups with a ruled-out arrangement": 0, "groups not complete": 0}
    for one in readings_of(technique, ledger):
        ruled_out["groups"] += 1
        ruled_out["groups with a ruled-out arrangement"] += bool((one.log_likelihood == -np.inf).any())
        ruled_out["groups not complete"] += not one.complete
    return {
        "people": findings.of,
        **ruled_out,
        "certain": findings.exposed,
        "fewer values": findings.extra["people left with fewer values"],
    }


def useful(ledger: Ledger) -> dict[str, float]:
    """How useful the last release is."""
    entry, rng = ledger.entries[-1], np.random.default_rng(5)
    return {
        "withheld": entry.withheld,
        "published groups": entry.release.boxes.count,
        "query error": QUERIES.measure(entry, rng),
        "gcp": CERTAINTY.measure(entry, rng),
    }


SMALL_RUNS: dict[str, tuple[Any, int]] = {
    "mondrian, k = 3, ell = 3": (Mondrian(k=3, ell=3), 1),
    "mondrian, k = 3, ell = 3, blind, merge": (Mondrian(k=3, ell=3, **BLIND), 1),
    "mondrian, k = 3, ell = 3, blind, withhold": (Mondrian(k=3, ell=3, failing="withhold", **BLIND), 1),
    "mondrian, k = 3, ell = 3, counts": (Mondrian(k=3, ell=3, **COUNTS), 1),
    "mondrian, k = 3, ell = 3, counts, withhold": (Mondrian(k=3, ell=3, failing="withhold", **COUNTS), 1),
    "mondrian, k = 6, ell = 3": (Mondrian(k=6, ell=3), 1),
    "mondrian, k = 6, ell = 3, blind, merge": (Mondrian(k=6, ell=3, **BLIND), 1),
    "mondrian, k = 6, ell = 3, blind, withhold": (Mondrian(k=6, ell=3, failing="withhold", **BLIND), 1),
    "mondrian, k = 6, ell = 3, counts": (Mondrian(k=6, ell=3, **COUNTS), 1),
    "mondrian, k = 6, ell = 3, counts, withhold": (Mondrian(k=6, ell=3, failing="withhold", **COUNTS), 1),
    "mondrian, k = 3, ell = 2, frequency": (Mondrian(k=3, ell=2, diversity="frequency"), 1),
    "mondrian, k = 3, ell = 2, frequency, blind, merge": (Mondrian(k=3, ell=2, diversity="frequency", **BLIND), 1),
    "mondrian, k = 3, ell = 2, frequency, counts": (Mondrian(k=3, ell=2, diversity="frequency", **COUNTS), 1),
    "m-invariance, m = 2": (MInvariance(m=2), 1),
    "bpg, k = 3, ell = 2, reserve 1, one release": (Bpg(k=3, ell=2, reserve=1), 1),
    "bpg, k = 3, ell = 2, reserve 1, one release, blind": (Bpg(k=3, ell=2, reserve=1, **BLIND), 1),
    "bpg, k = 3, ell = 2, reserve 1, one release, counts": (Bpg(k=3, ell=2, reserve=1, **COUNTS), 1),
    "bpg, k = 3, ell = 2, reserve 1, three releases": (Bpg(k=3, ell=2, reserve=1), 3),
    "bpg, k = 3, ell = 2, reserve 1, three releases, blind": (Bpg(k=3, ell=2, reserve=1, **BLIND), 3),
    "bpg, k = 3, ell = 2, reserve 1, three releases, counts": (Bpg(k=3, ell=2, reserve=1, **COUNTS), 3),
    "bpg, k = 3, ell = 2, default reserve, three releases": (Bpg(k=3, ell=2), 3),
}


def small(given: argparse.Namespace) -> dict[str, dict[str, float]]:
    """All arrangements of every group of small tables: sums over the tables, means of the measures."""
    found = {}
    for name, (technique, releases) in SMALL_RUNS.items():
        rng, numbers, tables = np.random.default_rng(given.seed), Counter[str](), 0
        for _ in range(given.tables if releases == 1 else given.tables // 10):
            ledger = published(technique, small_series(rng, releases))
            if len(ledger.entries) == releases:
                tables += 1
                numbers.update({**attacked(technique, ledger), **useful(ledger)})
        for measure in ("query error", "gcp"):
            numbers[measure] = numbers[measure] / max(1, tables)
        found[name] = {"tables": tables, **numbers}
        print(f"{name:55} {shown(found[name])}", flush=True)
    return found


def large(given: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The price on real sizes, and how many groups of a sample rule out an exchange of two people's values."""
    tables = {"census": census(given.rows)}
    if given.adult.exists():
        tables["adult"] = adult(given.adult)
    found = {}
    for table, snapshot in tables.items():
        for name, technique in large_runs().items():
            ledger = published(technique, [snapshot])
            key = f"{table}, {name}"
            if not ledger.entries:
                print(f"{key:55} refused", flush=True)
                continue
            found[key] = {**exchanged(technique, ledger, given), **useful(ledger)}
            print(f"{key:55} {shown(found[key])}", flush=True)
    return found


def large_runs() -> dict[str, Any]:
    """Mondrian and BPG as in the paper and blind, with and without a margin between k and ell; and m-invariance."""
    runs: dict[str, Any] = {}
    for k, ell, diversity in ((10, 5, "distinct"), (25, 5, "distinct"), (10, 3, "frequency"), (25, 3, "frequency")):
        name, rest = f"k = {k}, ell = {ell}, {diversity}", {"k": k, "ell": ell, "diversity": diversity}
        runs[f"mondrian, {name}"] = Mondrian(**rest)
        runs[f"mondrian, {name}, blind, merge"] = Mondrian(**rest, **BLIND)
        runs[f"mondrian, {name}, counts"] = Mondrian(**rest, **COUNTS)
        runs[f"mondrian, {name}, counts, withhold"] = Mondrian(**rest, failing="withhold", **COUNTS)
        runs[f"mondrian, {name}, blind, withhold"] = Mondrian(**rest, failing="withhold", **BLIND)
    for blind, options in (("", {}), (", blind", BLIND), (", counts", COUNTS)):
        runs[f"bpg, k = 10, ell = 5, default reserve{blind}"] = Bpg(k=10, ell=5, **options)
        runs[f"bpg, k = 10, ell = 5, reserve 1{blind}"] = Bpg(k=10, ell=5, reserve=1, **options)
    return runs | {"m-invariance, m = 5": MInvariance(m=5), "m-invariance, m = 3": MInvariance(m=3)}


def exchanged(technique: Any, ledger: Ledger, given: argparse.Namespace) -> dict[str, float]:
    """Of the first groups that are read, how many rule out exchanges of two people's values, and how many of these."""
    if isinstance(technique, MInvariance):
        return {}
    groups = ruled_out = pairs = pairs_out = 0
    for one in islice(readings_of(technique, ledger), given.groups):
        out = int((one.log_likelihood == -np.inf).sum())
        groups, ruled_out, pairs, pairs_out = (
            groups + 1,
            ruled_out + bool(out),
            pairs + len(one.values) - 1,
            pairs_out + out,
        )
    return {
        "groups": groups,
        "groups with a ruled-out exchange": ruled_out,
        "share of exchanges ruled out": pairs_out / max(1, pairs),
    }


def shown(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" if value % 1 else f"{name} {int(value)}" for name, value in numbers.items())


PARTS = {"small": small, "large": large}


def main() -> None:
    parser = argparse.ArgumentParser(description="What cuts tell a reader of the source.")
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--groups", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared" / "data" / "adult")
    parser.add_argument("--part", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for part in given.part:
        if part == "large":  # no bound on the table, and exchanges only
            mondrian_release.MOST_ROWS = bpg_reading.MOST_ROWS_OF_FIRST = 10**9
            mondrian.MOST_ARRANGEMENTS = 0
        settings = {key: value for key, value in vars(given).items() if key not in {"adult", "out", "part"}}
        runs = {
            name: {key: round(value, 4) for key, value in numbers.items()}
            for name, numbers in PARTS[part](given).items()
        }
        written = {"settings": settings, "runs": runs}
        path = given.out / f"algorithm-cuts-{part}.json"
        path.write_text(json.dumps(written, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
