"""How much memory a release of each technique takes for a person: the table of docs/performance.md.

    python tests/benchmarks/technique_memory.py [--technique NAME] [--folder DIR]

Each size is published in a process of its own, two releases of it. What a person takes is the difference of the peaks
of two sizes, divided by the difference of the people, so that fixed costs cancel out.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from scale import ROOT, peak, write_series

WRITTEN = "{name: m-invariance, m: 6}"
"""The technique of the series that the benchmark writes."""
MILLIONS = (500_000, 2_000_000)
TECHNIQUES: dict[str, tuple[str, tuple[int, int]]] = {
    "m-invariance": (WRITTEN, MILLIONS),
    "m-invariance, decoupled": (WRITTEN, MILLIONS),
    "mondrian": ("{name: mondrian, k: 10, ell: 6}", MILLIONS),
    "cor-split": ("{name: cor-split, m: 6, n: 2}", MILLIONS),
    "bpg": ("{name: bpg, over: mondrian, k: 10, ell: 6}", (200_000, 800_000)),
    "js-reduce": ("{name: js-reduce, k: 10, t: 0.4, j: 0.5, leftovers: merge}", (100_000, 400_000)),
    "sequential": ("{name: sequential, ell: 4, on_delete: defer}", (25_000, 100_000)),
}
"""The parameters of each technique, and the two sizes."""


def peaks(name: str, people: int, folder: Path) -> list[float]:
    """The peak of this process after each of two releases, above what it held before, in bytes."""
    from reanon_dagster.releasing.release import publish_release
    from reanon_dagster.series.series_file import load_series

    write_series(folder, people, 2, 0)
    path = folder / "series.yaml"
    text = path.read_text().replace(WRITTEN, TECHNIQUES[name][0])
    path.write_text(text.replace("report: false", "report: false, form: decoupled") if "decoupled" in name else text)
    series, today = load_series(path), date(2030, 1, 1)
    before, found = peak(), []
    for release in series.calendar.due(today):
        publish_release(series, release, today)
        found.append(peak() - before)
    return found


def in_a_process(name: str, people: int, place: Path | None) -> list[float]:
    """The peaks of one size, in a process of its own."""
    folder = Path(tempfile.mkdtemp(prefix="reanon-memory-", dir=place))
    try:
        command = [sys.executable, str(Path(__file__)), "--technique", name, "--people", str(people)]
        ran = subprocess.run([*command, "--folder", str(folder / "series")], check=True, capture_output=True, cwd=ROOT)
        found: list[float] = json.loads(ran.stdout.splitlines()[-1])
        return found
    finally:
        shutil.rmtree(folder)


def main() -> int:
    """Measure the techniques, and print a line for each."""
    options = argparse.ArgumentParser()
    options.add_argument("--technique", choices=TECHNIQUES)
    options.add_argument("--folder", type=Path)
    options.add_argument("--people", type=int, help="for a process of its own: one size")
    chosen = options.parse_args()
    if chosen.people:
        print(json.dumps(peaks(chosen.technique, chosen.people, chosen.folder)))
        return 0
    for name in [chosen.technique] if chosen.technique else TECHNIQUES:
        few, many = TECHNIQUES[name][1]
        both = zip(in_a_process(name, few, chosen.folder), in_a_process(name, many, chosen.folder), strict=True)
        first, second = ((large - small) / (many - few) for small, large in both)
        print(f"{name}: {first:,.0f} bytes a person, second release {second:,.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
