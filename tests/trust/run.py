"""`make trust`: attack the product in every way, write build/trust.json, and regenerate docs/trust.md from it.

PYTHONPATH=tests python -m trust.run [--size full|short|test] [--pace X] [--parts A,B [--keep]] [--json F] [--page F]
"""

import argparse
import importlib.metadata
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from trust import shim
from trust.corruption import corruption
from trust.file_faults import file_faults
from trust.forked import END, begin, ended_and_removed, warm
from trust.fuzz import fuzz
from trust.leaks import leak_scan
from trust.maintenance import maintenance
from trust.many_releases import many_releases, many_series
from trust.power_cut import power_cuts
from trust.races import clocks, races, swapped_snapshots
from trust.result import Result
from trust.small_series import BOXES, DECOUPLED, SEQUENTIAL, TECHNIQUES
from trust.soak import soak

ROOT = Path(__file__).parents[2]
Part = Callable[[], Result]
FAILED = "the part itself failed"
LIMIT = {"full": 90 * 60, "short": 75, "test": 300}
"""Seconds after which nothing new begins."""


def full(pace: float = 1.0) -> dict[str, Part]:
    """Everything: about an hour on two quiet cores, at most 90 minutes; `pace` stretches the time of each part."""
    return {
        "kills": lambda: file_faults((BOXES, DECOUPLED, SEQUENTIAL), (shim.KILL,), seconds=1500 * pace),
        "torn": lambda: file_faults((BOXES,), (shim.TORN,), seconds=300 * pace),
        "kills-dagster": lambda: file_faults((BOXES,), (shim.KILL,), by="asset", seconds=900 * pace),
        "errors": lambda: file_faults((BOXES,), shim.ERRORS, seconds=1200 * pace),
        "errors-dagster": lambda: file_faults((BOXES,), shim.ERRORS, by="asset", stride=7, seconds=300 * pace),
        "power": lambda: power_cuts((BOXES,), seconds=400 * pace),
        "corruption": lambda: corruption(seconds=400 * pace),
        "maintenance": lambda: maintenance(seconds=400 * pace),
        "races": lambda: races(rounds=12, seconds=200 * pace),
        "clock": clocks,
        "swapped": lambda: swapped_snapshots(rounds=20, seconds=100 * pace),
        "fuzz": lambda: fuzz(seconds=1200 * pace),
        "leaks": lambda: leak_scan(shapes=(*TECHNIQUES, DECOUPLED), seconds=300 * pace),
        "series": lambda: many_series(seconds=150 * pace),
        "releases": lambda: many_releases(seconds=1800 * pace),
        "soak": lambda: soak(minutes=1.5 * pace),
    }


def short(_: float = 1.0) -> dict[str, Part]:
    """A sample of everything, in at most 90 seconds."""
    return {
        "kills": lambda: file_faults((BOXES,), (shim.KILL,), stride=13, offset=today(), seconds=15),
        "kills-dagster": lambda: file_faults((BOXES,), (shim.KILL,), by="asset", stride=61, offset=today(), seconds=8),
        "errors": lambda: file_faults((BOXES,), shim.ERRORS, stride=41, offset=today(), seconds=10),
        "power": lambda: power_cuts((BOXES,), stride=11, seed=today(), seconds=8),
        "corruption": lambda: corruption(stride=13, seconds=12),
        "maintenance": lambda: maintenance(stride=37, seconds=8),
        "races": lambda: races(rounds=1, seconds=5),
        "clock": lambda: clocks(shifts=(-700,)),
        "swapped": lambda: swapped_snapshots(rounds=2, seconds=5),
        "fuzz": lambda: fuzz(count=100, seconds=8),
        "leaks": lambda: leak_scan(shapes=(BOXES,), seconds=15),
        "series": lambda: many_series(count=4, seconds=5),
        "releases": lambda: many_releases(count=20, seconds=8),
        "soak": lambda: soak(minutes=0.1, shapes=(BOXES,)),
    }


def in_tests(_: float = 1.0) -> dict[str, Part]:
    """What `make test` runs: the same sample every time."""
    return {
        "kills": lambda: file_faults((BOXES,), (shim.KILL,), stride=94, offset=13, workers=1),
        "errors": lambda: file_faults((BOXES,), (shim.FULL, shim.BROKEN), stride=166, offset=28, workers=1),
        "power": lambda: power_cuts((BOXES,), variants=("nothing",), stride=20, seed=4, workers=1),
        "corruption": lambda: corruption(stride=62, with_log=False, workers=1),
        "maintenance": lambda: maintenance(stride=120, workers=1),
        "races": lambda: races(rounds=1, processes=2),
        "leaks": lambda: leak_scan(shapes=(BOXES,), with_dagster=False, workers=1),
    }


SIZES: Mapping[str, Callable[[float], dict[str, Part]]] = {"full": full, "short": short, "test": in_tests}


def today() -> int:
    """A short run meets other calls every day."""
    return datetime.now(UTC).toordinal()


def versions() -> dict[str, str]:
    """What the figures were measured with."""
    packages = ("reanon", "duckdb", "pyarrow", "numba", "dagster")
    return {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "cores": str(os.cpu_count()),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def measured(name: str, part: Part) -> Result:
    """Run one part and say how it went."""
    began = time.monotonic()
    try:
        result = part() if began < END[0] else Result(name, "", skipped="time ran out")
    except Exception as error:  # the other parts go on, and the run fails
        result = Result(name, "", skipped=f"{FAILED}: {str(error).strip().splitlines()[-1][:300]}")
    result.seconds = round(time.monotonic() - began, 1)
    said = result.skipped or f"{result.runs:,} of {result.planned:,} runs, {result.found} found"
    sys.stderr.write(f"{name:<15} {said} ({result.seconds:.0f} s)\n")
    for note in result.notes[:3]:
        sys.stderr.write(f"                {note}\n")
    return result


def main() -> int:
    """Run the parts; the exit code says whether anything was found."""
    parser = argparse.ArgumentParser(description="Attack the product in every way, and write what was found.")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument(
        "--pace", type=float, default=1.0, help="more or less time for each part; 1 is at most 90 minutes"
    )
    parser.add_argument("--parts", help="only these parts, with commas")
    parser.add_argument("--keep", action="store_true", help="with --parts: take the other parts from the last results")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "trust.json")
    parser.add_argument("--page", type=Path, help="the page to regenerate; a full run regenerates docs/trust.md")
    options = parser.parse_args()
    shim.ensure_loaded()
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("the trust run took too long and was ended"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("the trust run was ended"))
    signal.alarm(int(2 * LIMIT[options.size] * options.pace))  # should anything hang
    parts = SIZES[options.size](options.pace)
    chosen = {name: parts[name] for name in (options.parts.split(",") if options.parts else parts)}
    try:
        warm(("decoupled form", "sequential") if options.size == "full" else (), dagster=options.size != "test")
        END[0] = time.monotonic() + LIMIT[options.size] * options.pace
        # The longest part needs one process only, so it runs beside the others.
        longest = chosen.pop("releases", None) if options.size == "full" and len(chosen) > 1 else None
        beside = begin(("releases", longest), _beside) if longest else None
        results = {name: measured(name, part) for name, part in chosen.items()}
        if beside is not None:
            results["releases"] = beside.wait()
    finally:
        ended_and_removed()
    content = {
        "size": options.size,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
        "parts": {name: asdict(result) for name, result in results.items()},
    }
    if options.keep:
        earlier = json.loads(options.json.read_text())
        if (earlier["size"], earlier["versions"]) != (content["size"], content["versions"]):
            sys.exit("the last results are of another size, or of other versions: run all parts")
        content["parts"] = {name: content["parts"].get(name, earlier["parts"].get(name)) for name in parts}
        content["again"] = sorted({*earlier.get("again", []), *chosen})
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(content, indent=2) + "\n")
    complete = options.size == "full" and (options.keep or not options.parts)
    page = options.page or (ROOT / "docs" / "trust.md" if complete else None)
    if page is not None:
        from trust.page import page_of

        page.write_text(page_of(content))
    failed = any((result.skipped or "").startswith(FAILED) for result in results.values())
    return 1 if failed or any(result.found for result in results.values()) else 0


def _beside(task: tuple[str, Part]) -> Result:
    return measured(*task)


if __name__ == "__main__":
    sys.exit(main())
