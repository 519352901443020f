"""The way of the data, once, for every technique."""

from typing import TypeVar

import numpy as np

from reanon_core.model.plan import Plan
from reanon_core.model.publication import Publication
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Publisher, State
from reanon_core.recoding.emit import emit

S = TypeVar("S", bound=State)
P = TypeVar("P", bound=Plan)


def publish(publisher: Publisher[S, P], snapshot: Snapshot, state: S, rng: np.random.Generator) -> Publication[S]:
    """A candidate for the next release: plan, emit, advance. Nothing is changed until the gate accepts it.

    Raises: Unpublishable if the technique's promise cannot be kept on this data.
    """
    plan = publisher.plan(snapshot, state, rng)
    release, auxiliary, trace = emit(plan.drawn or snapshot, plan, rng)
    state = publisher.advance(state, snapshot, plan)
    return Publication(release, auxiliary, trace, state, dict(plan.withheld), plan.notes, plan.drawn)
