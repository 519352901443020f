"""The measurements behind the lines of `make bench` about sequential releases."""

import time

import numpy as np
from populations import panel
from scipy.optimize import linear_sum_assignment

from reanon_core.kernels import matching
from reanon_core.metrics.generalization import LossMetric
from reanon_core.publishing import publish
from reanon_core.techniques.sequential import generalization
from reanon_core.techniques.sequential.technique import Sequential

PEOPLE = 100_000


def warmed() -> None:
    """Compile and load everything once."""
    snapshot = panel.snapshot(2000, panel.columns_of((1, 2)), seed=3)
    publish(Sequential(ell=5), snapshot, Sequential(ell=5).initial_state(), np.random.default_rng(0))


def ten_releases(people: int = PEOPLE, ell: int = 5, approach: str = "sequential") -> tuple[float, list[float]]:
    """Seconds of CPU of preprocessing and the ten releases of Section 6.2, and the loss of each."""
    technique, rng = Sequential(ell=ell, approach=approach), np.random.default_rng(0)
    state, seconds, losses = technique.initial_state(), 0.0, []
    for numbers in panel.RELEASES:
        snapshot = panel.snapshot(people, panel.columns_of(numbers))
        began = time.process_time()
        publication = publish(technique, snapshot, state, rng)
        seconds += time.process_time() - began
        state = publication.state
        losses.append(LossMetric().measure(publication.entry(snapshot), rng))
    return seconds, losses


def against_scipy(people: int = PEOPLE, ell: int = 5) -> float:
    """Our time for the matching of the largest component over that of scipy's linear_sum_assignment, on equal terms.

    Release 5, the hardest, at the first world that is matched. Ours begins at the orders of rows and people; scipy is
    given the finished table of costs. Both must find the same least cost.
    """
    caught: list[tuple[object, ...]] = []
    kept = generalization.matched_people

    def catch(*given: object) -> np.ndarray:
        caught.append(tuple(one.copy() if isinstance(one, np.ndarray) else one for one in given) if not caught else ())
        return kept(*given)  # type: ignore[arg-type]

    generalization.matched_people = catch  # type: ignore[assignment]
    try:
        technique, snapshot = (
            Sequential(ell=ell),
            panel.snapshot(people, panel.columns_of(panel.RELEASES[4])),
        )
        publish(technique, snapshot, technique.initial_state(), np.random.default_rng(0))
    finally:
        generalization.matched_people = kept
    row_order, row_key, people_order, people_key, start, *rest = caught[0]
    largest = int(np.argmax(np.diff(start)))  # type: ignore[arg-type]
    span = slice(start[largest], start[largest + 1])  # type: ignore[index]
    rows, them = row_order[span], people_order[span]  # type: ignore[index]
    alone = np.array([0, len(rows)], dtype=np.int64)
    local = _numbered(rows, them, row_key, people_key, rest)
    began = time.process_time()
    partner = matching.matched_people(*local[:4], alone, *local[4:])
    ours = time.process_time() - began
    cost = _costs(local)
    began = time.process_time()
    left, right = linear_sum_assignment(cost)
    scipy = time.process_time() - began
    assert cost[np.arange(len(partner)), partner].sum() == cost[left, right].sum()
    return ours / scipy


def _numbered(
    rows: np.ndarray, them: np.ndarray, row_key: object, people_key: object, rest: list[object]
) -> list[object]:
    """The arguments of the kernel for one component alone: its rows and people counted from 0."""
    low, high, codes, *tables = rest
    order = np.arange(len(rows), dtype=np.int32)
    return [
        order,
        row_key[rows],  # type: ignore[index]
        order,
        people_key[them],  # type: ignore[index]
        np.ascontiguousarray(low[:, rows]),  # type: ignore[index]
        np.ascontiguousarray(high[:, rows]),  # type: ignore[index]
        np.ascontiguousarray(codes[:, them]),  # type: ignore[index]
        *tables,
    ]


def _costs(local: list[object]) -> np.ndarray:
    """The cost of each row for each person, one by one and without any collapse."""
    low, codes, join, join_at, width, loss, loss_at = (local[at] for at in (4, 6, 9, 10, 11, 12, 13))
    total = np.zeros((low.shape[1], codes.shape[1]), dtype=np.int64)  # type: ignore[attr-defined]
    for attribute in range(len(low)):  # type: ignore[arg-type]
        table = join[join_at[attribute] :][: (low[attribute].max() + 1) * width[attribute]]  # type: ignore[index]
        table = table.reshape(-1, width[attribute])  # type: ignore[index]
        losses = loss[loss_at[attribute] :]  # type: ignore[index]
        wide = losses[table[low[attribute]][:, codes[attribute]]]  # type: ignore[index]
        total += wide - losses[low[attribute]][:, None]  # type: ignore[index]
    return total
