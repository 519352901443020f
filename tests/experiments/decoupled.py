"""The decoupled form over releases: query error, k over the history, and rows that can be followed.

    python tests/experiments/decoupled.py                # a minute of CPU
    python tests/experiments/decoupled.py --rows 2000 --releases 3 --out build/figures

The people are those of the synthetic census (data/census/SOURCE.md) and, where it lies beside the project, of Adult
(../shared/data/adult). A tenth of the people leave at each release; as many come, and a fifth of these have been there
before. *ageing*: everyone is a year older at each release, or a quarter of the people are. *few*: the share of people
whose boxes over all releases hold fewer than k people of the latest table. *anew*: the same with boxes that are cut
anew for each release. *one*: the share of rows with at most one successor, a row of the next release with the same
signature and an overlapping box.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import ends  # noqa: E402

from reanon_core.catalog import build_technique  # noqa: E402
from reanon_core.checks.k_over_history import KOverHistory  # noqa: E402
from reanon_core.inference.view.linkage import successors  # noqa: E402
from reanon_core.judgement import history_verdicts  # noqa: E402
from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.model.ledger import Ledger  # noqa: E402
from reanon_core.model.schema import Ends, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import replay  # noqa: E402
from reanon_core.techniques.decoupled import decouple  # noqa: E402

FEW = "people whose boxes hold fewer together"
COLUMNS = ("boxes", "first", "last", "worst", "few", "anew", "one", "median")


def present(people: int, rows: int, releases: int, seed: int) -> Iterator[np.ndarray[Any, Any]]:
    """Who is in each release."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(people)
    here, pool, gone = order[:rows].copy(), list(order[rows:]), list[int]()
    for _ in range(releases):
        yield np.sort(here)
        leaving = rng.choice(rows, rows // 10, replace=False)
        back = min(len(leaving) // 5, len(gone))
        coming = [gone.pop(int(rng.integers(len(gone)))) for _ in range(back)]
        coming += [pool.pop() for _ in range(len(leaving) - back)]
        gone += here[leaving].tolist()
        here[leaving] = coming


def coded(population: ends.Population) -> tuple[Schema, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The schema, the codes of the quasi-identifiers and those of the sensitive value."""
    columns = tuple(column.described(name) for name, column in population.columns(None).items())
    labels = population.people[population.sensitive].astype(str)
    schema = Schema(
        quasi_identifiers=columns,
        sensitive=Sensitive(name=population.sensitive, values=tuple(sorted(labels.unique()))),
    ).with_ends(Ends.GRID)
    codes = []
    for column in columns:
        shown = population.people[column.name]
        if column.taxonomy is None:
            codes.append(shown.to_numpy())
        else:
            place = {leaf: at for at, leaf in enumerate(column.taxonomy.leaves)}
            codes.append(shown.astype(str).map(place).to_numpy())
    value = {label: at for at, label in enumerate(schema.sensitive.values)}
    return schema, np.array(codes, np.int32), labels.map(value).to_numpy(np.int32)


def snapshots(population: ends.Population, ageing: str, given: argparse.Namespace, seed: int) -> Iterator[Snapshot]:
    """The releases of the series; the first column is the age."""
    schema, qi, sensitive = coded(population)
    rows = min(given.rows, qi.shape[1] // 2)
    for time, who in enumerate(present(qi.shape[1], rows, given.releases, seed)):
        codes = qi[:, who].copy()
        if ageing:
            older = time if ageing == "yearly" else (time + who % 4) // 4
            codes[0] = np.minimum(codes[0] + older, population.ages[1])
        yield Snapshot(schema, who.astype(np.int64), codes, sensitive[who])


def share_with_few(ledger: Ledger, k: int) -> float:
    """The share of people whose boxes hold fewer than k people, after the last release."""
    *_, verdict = history_verdicts(KOverHistory(k=k), ledger.entries)
    return verdict.observed[FEW] / max(1.0, verdict.observed["people"])


def measured(population: ends.Population, m: int, ageing: str, given: argparse.Namespace) -> dict[str, float]:
    """Each column of the table, the mean over the seeds; the worst release is the worst of all."""
    taken: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for seed in given.seeds:
        technique = build_technique("m-invariance", {"m": m})
        series = list(snapshots(population, ageing, given, seed))
        apart = decouple(technique, given.k)
        forms = {
            name: replay(one, series, np.random.default_rng(seed))
            for name, one in (("boxes", technique), ("own", apart))
        }
        errors = {
            name: [CountingQueryError().measure(entry, np.random.default_rng(seed)) for entry in ledger.entries]
            for name, ledger in forms.items()
        }
        followed = np.concatenate([successors(a.release, b.release) for a, b in pairwise(forms["own"].entries)])
        taken["boxes"].append(errors["boxes"][-1])
        taken["first"].append(errors["own"][0])
        taken["last"].append(errors["own"][-1])
        taken["worst"].append(max(errors["own"]))
        taken["few"].append(share_with_few(forms["own"], given.k))
        taken["anew"].append(share_with_few(cut_anew(forms["own"], apart, given.seeds[0]), given.k))
        taken["one"].append(float(np.mean(followed <= 1)))
        taken["median"].append(float(np.median(followed)))
    return {name: float(max(values) if name == "worst" else np.mean(values)) for name, values in taken.items()}


def cut_anew(ledger: Ledger, technique: Any, seed: int) -> Ledger:
    """The same tables, each published as if it were the first one."""
    series = [entry.snapshot for entry in ledger.entries]
    return replay(technique, series, np.random.default_rng(seed), memory=False)


def main() -> int:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000, help="people in a release, if there are twice as many")
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--adult", type=Path, default=ends.ADULT, help="the folder of adult.csv; left out if not there")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "figures", help="folder for decoupled.json")
    given = parser.parse_args()
    adult, census = ends.adult(given.rows, given.adult), ends.census(given.rows)
    cases = [(adult, 3, ""), (adult, 5, ""), (adult, 3, "yearly"), (census, 6, ""), (census, 6, "quarterly")]
    found = []
    print(f"{'':36}" + " ".join(f"{name:>8}" for name in COLUMNS))
    for population, m, ageing in cases:
        if population is None:
            continue
        values = measured(population, m, ageing, given)
        name = f"{population.name.partition(',')[0]}, m = {m}{', ageing ' * bool(ageing)}{ageing}"
        found.append({"population": name, **values})
        print(f"{name:36}" + " ".join(f"{value:8.4f}" for value in values.values()))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "decoupled.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
