"""What a reader of the source learns from JS-reduce and sequential releases, and what blind cuts cost.

    python tests/experiments/algorithm_sequential.py            # everything, a few minutes of CPU
    python tests/experiments/algorithm_sequential.py --part refusals --out build/figures

Each part prints its table and adds its numbers to algorithm-sequential.json. docs/techniques/sequential.md and
docs/techniques/js-reduce.md discuss them. Adult (../shared/data) is used where it is there.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations import adult_panel, exams, panel  # noqa: E402
from populations.adult import FOLDER as ADULT  # noqa: E402

from reanon_core.adversary_knowledge import readings_of  # noqa: E402
from reanon_core.catalog import METRICS  # noqa: E402
from reanon_core.model.background import Background  # noqa: E402
from reanon_core.model.errors import Unpublishable  # noqa: E402
from reanon_core.model.reading import Reading  # noqa: E402
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.publishing import publish  # noqa: E402
from reanon_core.replay import replay  # noqa: E402
from reanon_core.techniques.js_reduce.technique import JsReduce  # noqa: E402
from reanon_core.techniques.sequential.admission import admit  # noqa: E402
from reanon_core.techniques.sequential.batches import batch_of  # noqa: E402
from reanon_core.techniques.sequential.technique import Sequential  # noqa: E402

LINE = Schema(
    quasi_identifiers=(QuasiIdentifier(name="age", domain=(0, 31)), QuasiIdentifier(name="zip", domain=(0, 31))),
    sensitive=Sensitive(name="s", values=("a", "b", "c", "d"), closed=True),
)
Table = list[dict[str, object]]


def tiny_table(rng: np.random.Generator, people: int, values: int) -> Snapshot:
    """People anywhere, each value about as often."""
    qi = rng.integers(0, 32, (2, people)).astype(np.int32)
    return Snapshot(LINE, np.arange(people), qi, rng.permutation(np.arange(people) % values).astype(np.int32))


def shares(reading: Reading) -> np.ndarray:
    """The posterior of the likeliest value of each person."""
    weight = np.exp(reading.log_likelihood)
    return np.array([max(weight[column == one].sum() for one in set(column)) for column in reading.values.T]) / (
        weight.sum()
    )


def tiny_sequential(seeds: int) -> Table:
    """Tables of 5 or 6 people, ell = 2: whom a reader of the source knows, by buckets and worlds."""
    found = []
    for buckets in ("least-loss", "blind"):
        for worlds in ("ring", "symmetric"):
            technique = Sequential(ell=2, buckets=buckets, worlds=worlds)
            posterior: list[float] = []
            tables = undecided = 0
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                whole = tiny_table(rng, 5 + seed % 2, 3)
                ledger = replay(technique, [replace(whole, columns=("age", "s")), whole][: 1 + seed % 3 // 2], rng)
                for reading in readings_of(technique, ledger):
                    tables, undecided = tables + 1, undecided + (not reading.complete)
                    posterior += shares(reading).tolist() if reading.complete else []
            likely = np.array(posterior)
            found.append(
                {
                    "buckets": buckets,
                    "worlds": worlds,
                    "tables": tables,
                    "undecided": undecided,
                    "people": len(likely),
                    "above 1/ell": int((likely > 0.5 + 1e-9).sum()),
                    "certain": int((likely > 1 - 1e-9).sum()),
                    "greatest": float(likely.max()),
                }
            )
    return found


def adult_table(rng: np.random.Generator, people: int) -> Snapshot:
    """A sample of Adult with the occupation as the sensitive value."""
    whole = adult_panel.table(("age", "education", "sex", "workclass"))
    drawn = rng.permutation(whole.size)[:people]
    present, own = np.unique(whole.sensitive[drawn], return_inverse=True)
    values = tuple(whole.schema.sensitive.values[code] for code in present.tolist())
    schema = replace(whole.schema, sensitive=Sensitive(name="occupation", values=values))
    return Snapshot(schema, np.arange(len(drawn)), whole.qi[:, drawn], own.astype(np.int32))


def tables(people: int, seed: int) -> Iterator[tuple[str, Snapshot]]:
    """Tables of this many people: values that do not depend on quasi-identifiers, and values that do."""
    rng = np.random.default_rng(seed)
    for numbers in ((1, 2, 3), (2, 6, 7), (1, 2, 3, 4, 5, 6, 7)):
        whole = panel.snapshot(40_000, panel.columns_of(numbers))
        yield "panel", whole.rows(np.sort(rng.permutation(whole.size)[:people]), selected=None)
    columns = tuple(QuasiIdentifier(name=name, domain=(0, 99)) for name in ("x", "y", "z"))
    schema = Schema(quasi_identifiers=columns, sensitive=Sensitive(name="s", values=tuple("abcdefghijkl")))
    qi = rng.integers(0, 100, (3, people)).astype(np.int32)
    free = rng.choice(12, people, p=np.array([3] * 2 + [2] * 3 + [1] * 7) / 19).astype(np.int32)
    yield "independent", Snapshot(schema, np.arange(people), qi, free)
    bound = ((qi[0] // 10 + rng.integers(0, 5, people)) % 12).astype(np.int32)
    yield "dependent", Snapshot(schema, np.arange(people), qi, bound)
    if ADULT.exists():
        yield "adult", adult_table(rng, people)


def refusals(seeds: int) -> Table:
    """How often blind buckets are refused; others never are."""
    counted: dict[str, list[int]] = {}
    for people in (200, 1000, 5000, 20_000):
        for seed in range(seeds):
            for name, snapshot in tables(people, seed):
                for ell in (2, 3, 5, 8):
                    if np.bincount(snapshot.sensitive).max() * ell > people:
                        continue
                    technique = Sequential(ell=ell)
                    tried = counted.setdefault(name, [0, 0])
                    tried[0] += 1
                    try:
                        batch_of(admit(snapshot, technique.initial_state(), technique), technique)
                    except Unpublishable:
                        tried[1] += 1
    return [{"table": name, "tried": of, "refused": no} for name, (of, no) in counted.items()]


def losses(people: int) -> Table:
    """LM and query error of one release for each choice of buckets."""
    found = []
    lm, query = METRICS["lm"](), METRICS["query-error"]()
    samples = [("panel", next(iter(tables(people, 1)))[1])]
    samples += [("adult", adult_table(np.random.default_rng(1), people))] if ADULT.exists() else []
    for name, snapshot in samples:
        for ell in (2, 3, 5):
            row: dict[str, object] = {"table": name, "people": snapshot.size, "ell": ell}
            for buckets in ("mondrian", "least-loss", "blind"):
                try:
                    entry = replay(Sequential(ell=ell, buckets=buckets), [snapshot], np.random.default_rng(1)).entries[
                        0
                    ]
                except Unpublishable:
                    row |= {f"{buckets} lm": "refused", f"{buckets} query error": "refused"}
                    continue
                row[f"{buckets} lm"] = lm.measure(entry, np.random.default_rng(0))
                row[f"{buckets} query error"] = query.measure(entry, np.random.default_rng(0))
            found.append(row)
    return found


def stored_worlds(people: int) -> Table:
    """Large tables: would a stored world, in one bucket alone, have led to the same buckets? 60 buckets each."""
    found = []
    for name, snapshot in tables(people, 2):
        for ell in (2, 3):
            for buckets in ("least-loss", "blind"):
                technique = Sequential(ell=ell, buckets=buckets)
                try:
                    state = publish(technique, snapshot, technique.initial_state(), np.random.default_rng(2)).state
                except Unpublishable:
                    continue
                chosen = np.random.default_rng(3).permutation(int(state.bucket.max()) + 1)[:60]
                ruled_out = compared = 0
                for bucket in chosen.tolist():
                    members = state.bucket == bucket
                    for image in state.images:
                        value = np.where(members, state.sensitive[image], state.sensitive)
                        other = replace(snapshot, sensitive=value.astype(np.int32))
                        batch = batch_of(admit(other, technique.initial_state(), technique), technique)
                        compared += 1
                        ruled_out += batch is None or not np.array_equal(batch.bucket, state.bucket)
                found.append({"table": name, "ell": ell, "buckets": buckets, "compared": compared, "other": ruled_out})
    return found


def js_knowledge(data: str, kind: str) -> Background:
    """What the adversary is assumed to know: a declared model, or what the tables teach."""
    if data == "exams":
        known = exams.domain_knowledge(7500)
        return known if kind == "declared" else Background(classes=exams.CLASSES, prior=known.prior, memory=1)
    following = np.tile(np.arange(1, 5, dtype=np.int32), (5, 1))
    emission = np.vstack([np.zeros(4), np.full((4, 4), 0.1) + 0.6 * np.eye(4)])
    declared = Background(prior=np.full((1, 4), 0.25), following=following, emission=emission[None])
    return declared if kind == "declared" else Background()


JS_CUTS = {
    "principle": {},
    "quasi-identifiers, merge": {"cuts_by": "quasi-identifiers", "leftovers": "merge"},
    "quasi-identifiers, suppress": {"cuts_by": "quasi-identifiers", "leftovers": "suppress"},
}


def js_readings(seeds: int) -> Table:
    """Three views: 24 people with three values (k = 3), decided wholly, and 150 exams (k = 3), by exchanges of two."""
    found = []
    for data, thresholds in (("tiny", {"t": 0.4, "j": 0.8, "run": 6}), ("exams", {"t": 0.6, "j": 0.8, "run": 15})):
        for knowledge in ("declared", "counted"):
            for name, options in JS_CUTS.items():
                chosen = {**thresholds, **options} if options else {key: thresholds[key] for key in ("t", "j")}
                technique = JsReduce(k=3, **chosen).informed(js_knowledge(data, knowledge))
                row = {"data": data, "knowledge": knowledge, "cuts": name, "groups": 0, "told": 0, "people": 0}
                row |= {"uneven": 0, "certain": 0, "withheld": 0.0}
                for seed in range(seeds if data == "tiny" else 2):
                    ledger = replay(technique, js_views(data, seed), np.random.default_rng(seed))
                    row["withheld"] += sum(entry.withheld for entry in ledger.entries)
                    for reading in readings_of(technique, ledger):
                        uniform = shares(replace(reading, log_likelihood=np.zeros(len(reading.values))))
                        row["groups"] += 1
                        row["told"] += bool(np.isinf(reading.log_likelihood).any())
                        row["people"] += len(uniform) if reading.complete else 0
                        row["uneven"] += reading.complete * int((abs(shares(reading) - uniform) > 1e-9).sum())
                        row["certain"] += reading.complete * int((shares(reading) > 1 - 1e-9).sum())
                found.append(row)
    return found


def js_views(data: str, seed: int) -> list[Snapshot]:
    """Three views of few people whose values change."""
    if data == "exams":
        return [view.rows(np.arange(150), selected=None) for view in islice(exams.snapshots(seed), 3)]
    rng = np.random.default_rng(seed)
    whole = tiny_table(rng, 24, 3)
    return [replace(whole, sensitive=rng.permutation(whole.sensitive)) for _ in range(3)]


def js_price(seeds: int) -> Table:
    """Exams of 5,000 rows, eight views, k = 10, t = 0.4, j = 0.5: what cuts by quasi-identifiers cost."""
    found = []
    gcp, query = METRICS["gcp"](), METRICS["query-error"]()
    for name, options in JS_CUTS.items():
        for run in (None,) if name == "principle" else (30, 50, 100, 200):
            technique = JsReduce(k=10, t=0.4, j=0.5, run=run, **options).informed(js_knowledge("exams", "declared"))
            ledgers = []
            for seed in range(101, 101 + seeds):
                views = list(islice(exams.snapshots(seed, pool=7500), 8))
                ledgers.append(replay(technique, views, np.random.default_rng(seed)))
            entries = [entry for ledger in ledgers for entry in ledger.entries]
            rng = np.random.default_rng(0)
            found.append(
                {
                    "cuts": name,
                    "run": run,
                    "rows a group": float(np.mean([one.release.size / one.release.boxes.count for one in entries])),
                    "withheld": float(np.mean([one.withheld / one.snapshot.size for one in entries])),
                    "gcp": float(np.mean([gcp.measure(one, rng) for one in entries])),
                    "query error": float(np.mean([query.measure(ledger.entries[-1], rng) for ledger in ledgers])),
                }
            )
    return found


PARTS: dict[str, tuple[Callable[[int], Table], int]] = {
    "tiny": (tiny_sequential, 60),
    "refusals": (refusals, 3),
    "losses": (losses, 20_000),
    "stored worlds": (stored_worlds, 2_000),
    "js readings": (js_readings, 30),
    "js price": (js_price, 3),
}


def printed(table: Table) -> str:
    """The table with one line for each row."""
    texts = [[f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()] for row in table]
    lines = [list(table[0]), *texts]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="one part; default: all")
    parser.add_argument("--size", type=int, help="how many seeds or people, instead of the part's own number")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    target = given.out / "algorithm-sequential.json"
    for name in [given.part] if given.part else PARTS:
        run, size = PARTS[name]
        began = time.process_time()
        table = run(given.size or size)
        known = json.loads(target.read_text()) if target.exists() else {}
        target.write_text(json.dumps(known | {name: table}, indent=1) + "\n")
        print(f"{name}: {time.process_time() - began:.0f} s of CPU\n{printed(table)}\n", flush=True)


if __name__ == "__main__":
    main()
