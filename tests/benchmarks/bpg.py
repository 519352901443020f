"""The measurements behind the BPG lines of `make bench`.

    python tests/benchmarks/bpg.py

The *step* is what BPG does besides partitioning: correcting the pieces, drawing rows, updating the atoms.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations.census import QUASI_IDENTIFIERS, snapshots  # noqa: E402

from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.publishing import publish  # noqa: E402
from reanon_core.recoding.mondrian import Principle, Table, mondrian_classes  # noqa: E402
from reanon_core.techniques.bpg import technique as bpg  # noqa: E402

STEP = ("correct_classes", "published_records", "update_atoms")
ROWS, UPDATE, RELEASES, K = 200_000, 40_000, 11, 10


@contextmanager
def step_timed() -> Iterator[list[float]]:
    """The CPU seconds of the step, call by call, while the block runs."""
    plain = {name: getattr(bpg, name) for name in STEP}
    seconds: list[float] = []

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            begun = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                seconds.append(time.process_time() - begun)

        return call

    for name, function in plain.items():
        setattr(bpg, name, timed(function))
    try:
        yield seconds
    finally:
        for name, function in plain.items():
            setattr(bpg, name, function)


def tables(releases: int) -> list[Snapshot]:
    people = ROWS + UPDATE * (releases - 1)
    return list(snapshots("occupation", 41, people=people, rows=ROWS, update=UPDATE, releases=releases))


def mondrian_seconds(snapshot: Snapshot) -> float:
    """One Mondrian run over the whole table, k = ell = 10: the least of five."""
    extent = np.stack([snapshot.qi.min(axis=1), snapshot.qi.max(axis=1)]).astype(np.int64)
    taken = []
    for _ in range(5):
        begun = time.process_time()
        mondrian_classes(Table(snapshot.qi, snapshot.sensitive, snapshot.schema, extent), Principle(k=K, ell=K))
        taken.append(time.process_time() - begun)
    return min(taken)


def in_memory(**options: Any) -> tuple[float, float]:
    """The step's share of publish(), and a release over one Mondrian run: medians over releases 2 to 11."""
    technique, rng = bpg.Bpg(k=K, ell=K, **options), np.random.default_rng(1)
    state, shares, ratios = technique.initial_state(), [], []
    for number, snapshot in enumerate(tables(RELEASES)):
        one_run = mondrian_seconds(snapshot)
        with step_timed() as step:
            begun = time.process_time()
            state = publish(technique, snapshot, state, rng).state
            total = time.process_time() - begun
        if number:
            shares.append(sum(step) / total)
            ratios.append(total / one_run)
    return statistics.median(shares), statistics.median(ratios)


def end_to_end() -> float:
    """The step's share of a whole release as `reanon publish` makes it: read, publish, judge, store, bring out."""
    from reanon_dagster.releasing.release import publish_release
    from reanon_dagster.series.series_file import load_series

    with tempfile.TemporaryDirectory(prefix="reanon-bpg-") as name:
        folder = Path(name)
        listed = tables(3)
        columns = "\n".join(f"  {column}: {{kind: numeric}}" for column in QUASI_IDENTIFIERS)
        names = [f"r{number + 1}" for number in range(len(listed))]
        (folder / "series.yaml").write_text(
            f'series: census\nsource: {{path: "{{release}}.csv", id: id}}\nreleases: {{names: {json.dumps(names)}}}\n'
            f"quasi_identifiers:\n{columns}\nsensitive: occupation\ntechnique: {{name: bpg, k: {K}, ell: {K}}}\n"
        )
        for release, snapshot in zip(names, listed, strict=True):
            frame = pd.DataFrame({"id": snapshot.persons, **dict(zip(QUASI_IDENTIFIERS, snapshot.qi, strict=True))})
            frame["occupation"] = [f"o{code}" for code in snapshot.sensitive]
            frame.to_csv(folder / f"{release}.csv", index=False)
        series, shares = load_series(folder), []
        for release in names:
            with step_timed() as step:
                begun = time.process_time()
                publish_release(series, release, date(2030, 1, 1))
                shares.append(sum(step) / (time.process_time() - begun))
        return shares[-1]


def main() -> None:
    for options in ({}, {"reserve": 1}, {"pool": "stored"}):
        share, ratio = in_memory(**options)
        print(f"{options}: step / publish() {share:.2f}, a release / one Mondrian run {ratio:.2f}", flush=True)
    print(f"step / reanon publish {end_to_end():.3f}")


if __name__ == "__main__":
    main()
