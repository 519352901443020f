"""Fuzzed inputs: batches of damaged series files and snapshots, each batch in a process of its own."""

import importlib
import importlib.util
import shutil
import time
from collections import Counter

from trust.forked import each, scratch
from trust.result import Fault, Result

GENERATOR = "trust.fuzz_inputs"
BATCH = 250


def fuzz(*, count: int = 10_000, seed: int = 0, workers: int = 2, seconds: float = 300.0) -> Result:
    """Damage so many inputs; anything but a sentence and an exit code of 0, 1 or 2 is a fault."""
    result = Result(
        f"{count:,} fuzzed inputs", "series files, taxonomies and snapshots, changed at random", planned=count
    )
    if importlib.util.find_spec(GENERATOR) is None:
        result.skipped = "there is no generator of fuzzed inputs"
        return result
    codes: Counter[str] = Counter()
    batches = [(min(BATCH, count - begun), seed + begun) for begun in range(0, count, BATCH)]
    for size, escapes, ended in each(batches, fuzzed, workers=workers, until=time.monotonic() + seconds):
        result.add([], runs=size)
        for escape in escapes:  # each is a run of its own
            kind = "leak" if "an id is printed" in escape else "traceback"
            result.add([Fault(kind, " ".join(escape.split())[-300:])], runs=0)
        codes.update(ended)
    result.figures |= {f"commands that ended with {code}": number for code, number in sorted(codes.items())}
    return result


def fuzzed(batch: tuple[int, int]) -> tuple[int, list[str], dict[str, int]]:
    """One batch: its size, what escaped, and how often each exit code was returned."""
    size, seed = batch
    folder = scratch()
    runs = importlib.import_module(GENERATOR).fuzzed_runs(size, seed, folder)
    shutil.rmtree(folder, ignore_errors=True)
    return size, list(runs.escapes), {str(code): number for code, number in runs.codes.items()}
