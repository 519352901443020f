"""The measurements behind the lines of `make bench` about sequential releases."""

import time

import numpy as np
from populations import panel
from scipy.optimize import linear_sum_assignment

from reanon_core.kernels import matching
from reanon_core.kernels.matching import Components, LossTables, MatchingLimits, RowsAndPeople
from reanon_core.metrics.generalization import LossMetric
from reanon_core.publishing import publish
from reanon_core.techniques.sequential import generalization
from reanon_core.techniques.sequential.technique import Sequential

PEOPLE = 100_000


def warm() -> None:
    """Compile and load the kernels."""
    snapshot = panel.snapshot(2000, panel.columns_of((1, 2)), seed=3)
    publish(Sequential(ell=5), snapshot, Sequential(ell=5).initial_state(), np.random.default_rng(0))


def ten_releases(
    people: int = PEOPLE, ell: int = 5, approach: str = "sequential", buckets: str = "least-loss"
) -> tuple[float, list[float]]:
    """Seconds of CPU of preprocessing and the ten releases of Section 6.2, and the loss of each.

    The targets were set for mondrian buckets, those of the paper.
    """
    technique, rng = Sequential(ell=ell, approach=approach, buckets=buckets), np.random.default_rng(0)
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
    """Our CPU for the matching of the largest component over that of scipy's linear_sum_assignment, on equal terms.

    Release 5, the hardest, at the first world that is matched. Ours begins at the orders of rows and people; scipy is
    given the finished table of costs. Both must find the same least cost.
    """
    components, table, tables, limits = _first_matching(people, ell)
    components, table = _largest_alone(components, table)
    began = time.process_time()
    partner = matching.match_components(components, table, tables, limits)
    ours = time.process_time() - began
    cost = _costs(table, tables)
    began = time.process_time()
    left, right = linear_sum_assignment(cost)
    scipy = time.process_time() - began
    assert cost[np.arange(len(partner)), partner].sum() == cost[left, right].sum()
    return ours / scipy


Matching = tuple[Components, RowsAndPeople, LossTables, MatchingLimits]


def _first_matching(people: int, ell: int) -> Matching:
    """What the kernel is given for the first world of release 5, before it widens any row."""
    given: list[Matching] = []
    kernel = generalization.match_components

    def record(*arguments: object) -> np.ndarray:
        components, table, tables, limits = arguments
        if not given:
            copied = RowsAndPeople(*(one.copy() for one in table))  # type: ignore[attr-defined]
            given.append((components, copied, tables, limits))  # type: ignore[arg-type]
        return kernel(components, table, tables, limits)  # type: ignore[arg-type]

    generalization.match_components = record  # type: ignore[assignment]
    try:
        technique = Sequential(ell=ell, buckets="least-loss")
        snapshot = panel.snapshot(people, panel.columns_of(panel.RELEASES[4]))
        publish(technique, snapshot, technique.initial_state(), np.random.default_rng(0))
    finally:
        generalization.match_components = kernel
    return given[0]


def _largest_alone(components: Components, table: RowsAndPeople) -> tuple[Components, RowsAndPeople]:
    """The largest component by itself, its rows and people numbered from 0."""
    largest = int(np.argmax(np.diff(components.start)))
    span = slice(components.start[largest], components.start[largest + 1])
    rows, people = components.row_order[span], components.person_order[span]
    order = np.arange(len(rows), dtype=np.int32)
    start = np.array([0, len(rows)], dtype=np.int64)
    alone = Components(start, order, components.row_key[rows], order, components.person_key[people])
    low, high, places = table.low[:, rows], table.high[:, rows], table.places[:, people]
    return alone, RowsAndPeople(*(np.ascontiguousarray(one) for one in (low, high, places)))


def _costs(table: RowsAndPeople, tables: LossTables) -> np.ndarray:
    """The cost of each row for each person, one by one, without merging equal values."""
    total = np.zeros((table.low.shape[1], table.places.shape[1]), dtype=np.int64)
    for attribute, (nodes, places) in enumerate(zip(table.low, table.places, strict=True)):
        width = int(tables.width[attribute])
        join = tables.join[tables.join_at[attribute] :][: (nodes.max() + 1) * width].reshape(-1, width)
        losses = tables.loss[tables.loss_at[attribute] :]
        total += losses[join[nodes][:, places]] - losses[nodes][:, None]
    return total
