"""`make bench`: ratios inside one run; the results go to build/bench.json.

Where the plain C++ programs of ../shared/anchors are present they are compiled and measured too; otherwise their lines
are left out, with a message.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

import bpg  # noqa: E402
import cor_split  # noqa: E402
import js_reduce  # noqa: E402
import m_invariance as benchmarks  # noqa: E402
import mondrian  # noqa: E402
import sequential  # noqa: E402

from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

ANCHORS = ROOT.parent / "shared" / "anchors"
TECHNIQUES = {
    "filled": MInvariance(m=10, balancing="filled"),
    "blind": MInvariance(m=10),
    "regional": MInvariance(m=10, not_eligible="blocks", regions="sizes"),
}
MOST_OF_ANCHOR = {"filled": 0.33, "blind": 0.25, "regional": 0.35}


@dataclass(frozen=True)
class Line:
    """One ratio and its target."""

    name: str
    ratio: float
    target: float

    @property
    def holds(self) -> bool:
        return self.ratio <= self.target


def lines(folder: Path) -> Iterator[Line]:
    """Every benchmark, as soon as it is measured."""
    data = benchmarks.prepare(folder, ANCHORS if ANCHORS.is_dir() else None)
    for update in (5_000, 20_000, 40_000):
        for m, techniques in ((10, TECHNIQUES), (5, {"regional": TECHNIQUES["regional"]})):  # regions are cut at m = 5
            measured = {name: replace(technique, m=m) for name, technique in techniques.items()}
            for name, ratio in benchmarks.against_anchor(data, update, m, measured).items():
                what = f"publish / C++ anchor, CPU, 200k rows, m={m}, r={update // 1000}k"
                yield Line(f"m-invariance, {name}: {what}", ratio, MOST_OF_ANCHOR[name])
    ratio = mondrian.against_anchor(data.table, folder, ANCHORS if ANCHORS.is_dir() else None)
    if ratio is not None:
        yield Line("mondrian: partition / C++ anchor, CPU, 200k rows, k=l=10", ratio, 2)
    share, ratio = bpg.in_memory()
    yield Line("bpg: a release of the r=40k series / one Mondrian run, CPU, 200k rows, k=l=10", ratio, 12)
    yield Line("bpg: its step / a release as reanon publish makes it, CPU, 200k rows", bpg.end_to_end(), 0.4)
    yield Line("bpg: its step / publish() in memory, CPU, 200k rows, r=40k", share, 0.4)
    yield from sequential_lines()
    growth, memory = benchmarks.growth_and_memory(data)
    yield Line("m-invariance: publish 2M rows / 200k rows, CPU", growth, 13)
    yield Line("m-invariance: peak memory over the input at 2M rows, bytes a row", memory, 120)
    for name, ratio, target in cor_split.lines():
        yield Line(name, ratio, target)
    yield Line("reanon publish, 200k rows / pandas read_csv + to_parquet", benchmarks.end_to_end(data), 5)
    for name, (milliseconds, sorts) in js_reduce.against_hilbert().items():
        most = {"1-step": 10, "full history": 30}[name]
        yield Line(f"js-reduce: publish a view of 5,000 rows, {name}, milliseconds of CPU", milliseconds, most)
        yield Line(f"js-reduce: publish a view of 5,000 rows, {name} / one Hilbert sort of it", sorts, most / 0.4)
    yield Line("js-reduce: CPU a row, views of 500k rows / of 5k rows", js_reduce.growth(), 1.3)
    yield Line("imports of the plain command, seconds of CPU", benchmarks.import_seconds(), 2)
    yield Line("reanon --help, seconds of CPU", benchmarks.help_seconds(), 0.5)


def sequential_lines() -> Iterator[Line]:
    """Sequential releases: the ten releases of the paper on 100,000 synthetic people, ell = 5."""
    sequential.warm()
    seconds, losses = sequential.ten_releases()
    _, plain = sequential.ten_releases(approach="non-sequential")
    yield Line("sequential, mondrian buckets: worlds and ten releases, 100k people, ell=5, seconds of CPU", seconds, 15)
    blind, _ = sequential.ten_releases(buckets="blind")
    yield Line("sequential, blind buckets: the same", blind, 15)
    yield Line("sequential: mean LM / non-sequential, 100k people, ell=5", sum(losses) / sum(plain), 0.40)
    worst = max(ours / theirs for ours, theirs in zip(losses, plain, strict=True))
    yield Line("sequential: greatest LM / non-sequential of a release", worst, 1)
    yield Line("sequential: matching of the largest component / scipy, CPU", sequential.against_scipy(), 0.3)


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="reanon-bench-"))
    results = []
    try:
        if not ANCHORS.is_dir():
            print("../shared/anchors is missing: the ratios to C++ are left out")
        for line in lines(folder):
            results.append({**asdict(line), "holds": line.holds})
            print(
                f"{'ok ' if line.holds else 'NO '} {line.ratio:8.3f}  (target {line.target:g})  {line.name}", flush=True
            )
    finally:
        shutil.rmtree(folder)
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench.json").write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
