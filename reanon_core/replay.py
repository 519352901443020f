"""Run a technique over many snapshots in memory, for experiments, tests and comparisons."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from reanon_core.model.ledger import Ledger
from reanon_core.model.plan import Plan
from reanon_core.model.publication import Publication
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import State, Technique
from reanon_core.publishing import publish

S = TypeVar("S", bound=State)
P = TypeVar("P", bound=Plan)


def publications(
    technique: Technique[S, P],
    snapshots: Iterable[Snapshot],
    rng: np.random.Generator,
    *,
    memory: bool = True,
) -> Iterator[tuple[Snapshot, Publication[S]]]:
    """Each snapshot with its publication, in order.

    Without memory every release starts from the initial state. This is the naive baseline: each release is safe by
    itself, and the series is not.
    """
    state = technique.initial_state()
    for snapshot in snapshots:
        publication = publish(technique, snapshot, state, rng)
        yield snapshot, publication
        if memory:
            state = publication.state


def replay(
    technique: Technique[S, P],
    snapshots: Iterable[Snapshot],
    rng: np.random.Generator,
    *,
    memory: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Ledger:
    """The ledger of a whole series; `progress` is called with the number of finished releases."""
    entries = []
    for snapshot, publication in publications(technique, snapshots, rng, memory=memory):
        entries.append(publication.entry(snapshot))
        if progress is not None:
            progress(len(entries))
    return Ledger(tuple(entries))
