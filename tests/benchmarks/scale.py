"""`make bench-scale`: releases of one and ten million rows against DuckDB's own read, shuffle and write of the table.

    python tests/benchmarks/scale.py [--rows 1000000,10000000] [--releases 1] [--threads 0] [--folder DIR] [--json F]
        [--engine "{embedded: {memory_limit: 2GB}}"] [--technique "{name: mondrian, k: 6}"]

Every measurement is a process of its own: CPU seconds without the imports, wall seconds, and the peak of its memory
above what it held before it began. Pages of mapped files count too, although the system may take them back at any
time; "own memory" is without them. Ratios are those of one run.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "census")]

import generate  # noqa: E402

PART = 500_000
"""So many rows are generated at a time."""
COLUMNS = ("gender", "education", "birthplace")
RENEWED = 0.1
"""The share of people that is replaced from release to release."""
TECHNIQUE = "{name: m-invariance, m: 6}"
SERIES = """\
series: census
source: {{path: "snapshots/{{release}}.parquet", id: person}}
releases: {{names: [{names}]}}
quasi_identifiers:
  age: {{kind: numeric, domain: [17, 95]}}
  gender: {{kind: categorical, taxonomy: {taxonomies}/gender.csv}}
  education: {{kind: categorical, taxonomy: {taxonomies}/education.csv}}
  birthplace: {{kind: categorical, taxonomy: {taxonomies}/birthplace.csv}}
sensitive: {{column: occupation, values: [{values}]}}
technique: {technique}
publish: {{formats: [parquet], report: false}}
{threads}{engine}"""


def write_series(
    folder: Path, rows: int, releases: int, threads: int = 0, engine: str = "", technique: str = TECHNIQUE
) -> None:
    """The snapshots and the description of a series of so many people, of whom a tenth is replaced each time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "snapshots").mkdir(parents=True)
    labels = {name: pa.array(generate.labels[name]) for name in (*COLUMNS, "occupation")}
    for number in range(releases):
        first = int(number * RENEWED * rows)
        writer = None
        for part in range(first // PART, -(-(first + rows) // PART)):
            codes, start = generate.population(PART, part), part * PART
            here = slice(max(0, first - start), min(PART, first + rows - start))  # a person is always the same
            table = {
                "person": pa.array(np.arange(start, start + PART)[here]),
                "age": pa.array((codes["age"][here] + generate.YOUNGEST).astype(np.int32)),
            }
            for name, values in labels.items():
                table[name] = values.take(pa.array(codes[name][here]))
            people = pa.table(table)
            writer = writer or pq.ParquetWriter(folder / "snapshots" / f"r{number + 1}.parquet", people.schema)
            writer.write_table(people)
        if writer is not None:
            writer.close()
    text = SERIES.format(
        names=", ".join(f"r{number + 1}" for number in range(releases)),
        taxonomies=ROOT / "data" / "census" / "taxonomies",
        values=", ".join(json.dumps(value) for value in generate.labels["occupation"]),
        threads=f"threads: {threads}\n" if threads else "",
        engine=f"engine: {engine}\n" if engine else "",
        technique=technique,
    )
    (folder / "series.yaml").write_text(text)


@contextmanager
def measured(found: dict[str, float], name: str) -> Iterator[None]:
    """Add the CPU and wall seconds of a block to what was found."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    found[name] = found.get(name, 0.0) + time.process_time() - cpu
    found["wall"] = found.get("wall", 0.0) + time.perf_counter() - wall


def peak() -> float:
    """The most memory that this process has held, in bytes."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def watched_memory(found: dict[str, float], step: list[Any]) -> Iterator[None]:
    """The most memory that this process holds in each step, without the pages of files, looked at every 20 ms.

    And the CPU seconds of the processes that it begins, looked at twice a second: Spark's.
    """
    before, end = own_memory(), threading.Event()

    seen: dict[int, float] = {}

    def watch() -> None:
        looks = 0
        while not end.wait(0.02):
            name = f"own memory of {step[0]}"
            found[name] = max(found.get(name, 0.0), own_memory() - before)
            looks += 1
            if looks % 25 == 0:
                seen.update(descendants())
                found["cpu of other processes"] = sum(seen.values())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        end.set()
        watcher.join()


def descendants() -> dict[int, float]:
    """The CPU seconds so far of every process that this one has begun, and of theirs, by process id."""
    parents, cpu = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            parents[number] = int(fields[1])
            cpu[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return {number: cpu[number] for number in ours - {os.getpid()} if number in cpu}


def own_memory() -> float:
    """The memory of this process that no file is behind, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def baseline(folder: Path) -> dict[str, float]:
    """DuckDB reads the table, shuffles it without the ids, and writes it."""
    import duckdb

    found: dict[str, float] = {}
    table = duckdb.connect()
    with measured(found, "cpu"):
        table.execute(
            f"COPY (SELECT * EXCLUDE person FROM read_parquet('{folder}/snapshots/r1.parquet') "
            f"ORDER BY hash(person)) TO '{folder}/shuffled.parquet' (FORMAT parquet)"
        )
    return found


def published(folder: Path) -> dict[str, float]:
    """Publish every release of the series, with checks and gate; the CPU seconds of each step."""
    from datetime import date

    import duckdb  # noqa: F401
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    from reanon_core.precompile import FIRST, IN_PARTS, compile_part
    from reanon_dagster.releasing.release import publish_release
    from reanon_dagster.series.series_file import load_series

    compile_part(FIRST)
    compile_part(IN_PARTS)
    series = load_series(folder / "series.yaml")
    steps: dict[str, float] = {}
    last = ["looking", time.process_time()]

    def step(name: str) -> None:
        now = time.process_time()
        steps[f"step {last[0]}"] = steps.get(f"step {last[0]}", 0.0) + now - float(last[1])
        last[:] = [name, now]

    before: float = peak()
    found: dict[str, float] = {}
    with watched_memory(steps, last):
        for number, release in enumerate(series.calendar.due(date(2030, 1, 1)), start=1):
            last[1] = time.process_time()
            with measured(found, f"cpu of r{number}"):
                publish_release(series, release, date(2030, 1, 1), accept_drift="a measurement", progress=step)
                step("looking")
    found["cpu"] = found["cpu of r1"] + steps.get("cpu of other processes", 0.0) / number
    return found | steps | {"memory": peak() - before}


def in_a_process(what: str, folder: Path) -> dict[str, float]:
    """One measurement in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--measure", what, "--folder", str(folder)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found


def measure(rows: int, options: argparse.Namespace) -> dict[str, Any]:
    """Everything about one size."""
    folder = Path(tempfile.mkdtemp(prefix="reanon-scale-", dir=options.folder))
    try:
        write_series(folder, rows, options.releases, options.threads, options.engine, options.technique)
        theirs, ours = in_a_process("baseline", folder), in_a_process("published", folder)
        found = {name: round(number, 3) for name, number in ours.items()}
        return {"rows": rows, "DuckDB cpu": round(theirs["cpu"], 3), **found, "ratio": ours["cpu"] / theirs["cpu"]}
    finally:
        shutil.rmtree(folder)


def main() -> int:
    """Measure each size, and print it."""
    options = argparse.ArgumentParser()
    options.add_argument("--rows", default="1000000,10000000")
    options.add_argument("--releases", type=int, default=1)
    options.add_argument("--threads", type=int, default=0, help="0: as many as there are cores")
    options.add_argument("--engine", default="", help="the key `engine` of series.yaml")
    options.add_argument("--technique", default=TECHNIQUE, help="the key `technique`")
    options.add_argument("--folder", type=Path)
    options.add_argument("--json", type=Path)
    options.add_argument("--measure", choices=("baseline", "published"))
    chosen = options.parse_args()
    if chosen.measure:
        print(json.dumps({"baseline": baseline, "published": published}[chosen.measure](chosen.folder)))
        return 0
    results = []
    for rows in (int(number) for number in chosen.rows.split(",")):
        results.append(measure(rows, chosen))
        print(f"{rows:,} rows: {results[-1]['ratio']:.1f}x of DuckDB, {results[-1]['memory'] / rows:.0f} bytes a row")
        print(json.dumps(results[-1], indent=2))
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
