"""The way of the data, once, for every technique."""

from typing import TypeVar

import numpy as np

from reanon_core.model.codebook import Codebook
from reanon_core.model.plan import Plan
from reanon_core.model.publication import Publication
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Witness
from reanon_core.protocols import State, Technique
from reanon_core.recoding.bins import notes_on_bins
from reanon_core.recoding.emit import emit

S = TypeVar("S", bound=State)
P = TypeVar("P", bound=Plan)


def publish(technique: Technique[S, P], snapshot: Snapshot, state: S, rng: np.random.Generator) -> Publication[S]:
    """A candidate for the next release: plan, emit, advance. Nothing is changed until the gate accepts it.

    Raises: Unpublishable if the technique's promise cannot be kept on this data; InvalidSnapshot if a code of the
    snapshot stands for another value than in the state.
    """
    state.codebook.require_extended_by(snapshot.schema)
    plan = technique.plan(snapshot, state, rng)
    table = snapshot if plan.record_pool is None else plan.record_pool
    release, auxiliary, trace = emit(table, plan, rng)
    return Publication(
        release=release,
        auxiliary=auxiliary,
        trace=trace,
        state=technique.advance(state, snapshot, plan).with_codebook(Codebook.of(snapshot.schema)),
        withheld=dict(plan.withheld),
        notes=(*plan.notes, *notes_on_bins(snapshot)),
        record_pool=plan.record_pool,
        witness=None if plan.witness is None else Witness(trace.rows[plan.witness]),
    )
