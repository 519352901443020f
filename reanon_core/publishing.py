"""The way of the data, once, for every technique."""

from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from reanon_core.engine.engine import Engine
from reanon_core.model.codebook import Codebook
from reanon_core.model.plan import Plan
from reanon_core.model.publication import Publication
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Witness
from reanon_core.partitioned.partitioned_release import PartitionedRelease
from reanon_core.protocols import State, Technique
from reanon_core.recoding.attribute_scales import extremes
from reanon_core.recoding.bins import notes_on_bins
from reanon_core.recoding.emit import emit

S = TypeVar("S", bound=State)
P = TypeVar("P", bound=Plan)


@runtime_checkable
class PartitionedTechnique(Protocol[S]):
    """A technique that can compute a release in tasks over columns on disk."""

    def in_memory_only(self) -> str:
        """The parameters that are computed in memory only; empty if a release can be computed in parts."""
        ...

    def new_row_memory(self, attributes: int) -> int:
        """The bytes that a new person takes in memory before there are groups, if the rows are not all in tasks."""
        ...

    def release_in_parts(
        self, snapshot: Snapshot, state: S, rng: np.random.Generator, engine: Engine
    ) -> tuple[PartitionedRelease, S]:
        """The release, and the state after it."""
        ...


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
        notes=(*plan.notes, *notes_on_bins(extremes(snapshot.qi, snapshot.schema), snapshot.schema)),
        record_pool=plan.record_pool,
        witness=None if plan.witness is None else Witness(trace.rows[plan.witness]),
    )


def publish_in_parts(
    technique: PartitionedTechnique[S], snapshot: Snapshot, state: S, rng: np.random.Generator, engine: Engine
) -> Publication[S]:
    """The same candidate as `publish`, computed in tasks; the arrays of large tables are mapped from columns on disk.

    Raises: Unpublishable; InvalidSnapshot, as `publish`.
    """
    schema = snapshot.schema
    state.codebook.require_extended_by(schema)
    made, after = technique.release_in_parts(snapshot, state, rng, engine)
    return Publication(
        release=made.release,
        auxiliary=made.auxiliary,
        trace=made.trace,
        state=after.with_codebook(Codebook.of(schema)),
        withheld=made.withheld,
        notes=notes_on_bins(made.extremes, schema),
    )
