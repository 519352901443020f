"""The measurements behind the JS-reduce lines of `make bench`: CPU of publishing a view of the synthetic exams."""

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations import exams  # noqa: E402

from reanon_core.model.background import Background  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.publishing import publish  # noqa: E402
from reanon_core.techniques.js_reduce.generalization import hilbert_order  # noqa: E402
from reanon_core.techniques.js_reduce.technique import JsReduce  # noqa: E402

VIEWS, ROWS = 24, 5000
EXTENT = np.array([[45, 0, 60], [74, 1, 89]])


def one_step() -> Background:
    """Transitions counted in the tables so far, one step back."""
    return Background(classes=exams.CLASSES)


def seconds_a_view(background: Background, snapshots: list[Snapshot], *, warm_up: bool = True) -> list[float]:
    """The CPU of planning, emitting and advancing each view, after a run that loads the kernels."""
    technique = JsReduce(k=10, t=0.4, j=0.5).informed(background)
    seconds: list[float] = []
    for _ in range(2 if warm_up else 1):
        state, rng, seconds = technique.initial_state(), np.random.default_rng(0), []
        for snapshot in snapshots:
            began = time.process_time()
            state = publish(technique, snapshot, state, rng).state
            seconds.append(time.process_time() - began)
    return seconds


def hilbert_seconds(snapshot: Snapshot, times: int = 50) -> float:
    """The CPU of one Hilbert sort of a view."""
    hilbert_order(snapshot.qi, EXTENT)
    began = time.process_time()
    for _ in range(times):
        hilbert_order(snapshot.qi, EXTENT)
    return (time.process_time() - began) / times


def against_hilbert() -> dict[str, tuple[float, float]]:
    """For 1-step and full history: mean milliseconds a view over the whole series, and as a multiple of one sort."""
    snapshots = list(exams.snapshots(1, views=VIEWS, rows=ROWS))
    sort = hilbert_seconds(snapshots[0])
    found = {}
    for name, known in (("1-step", one_step()), ("full history", exams.domain_knowledge())):
        mean = float(np.mean(seconds_a_view(known, snapshots)))
        found[name] = (1000 * mean, mean / sort)
    return found


def growth(large: int = 500_000, views: int = 4) -> float:
    """CPU a row in views of so many rows, against views of 5,000; the same number of views, the first left out."""
    a_row = []
    for rows in (ROWS, large):
        snapshots = list(exams.snapshots(1, views=views, rows=rows, pool=rows * 3 // 2))
        runs = [seconds_a_view(one_step(), snapshots, warm_up=False)[1:] for _ in range(15 if rows == ROWS else 4)]
        a_row.append(min(sum(run) for run in runs[1:]) / rows)
    return a_row[1] / a_row[0]


if __name__ == "__main__":
    print(against_hilbert())
    print("growth", growth())
