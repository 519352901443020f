"""The sequential technique: worlds once for each batch of people, then releases as wide as all worlds need."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import WITHHELD, Counterfeits, Plan
from reanon_core.model.schema import Missing, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Fit, Promise
from reanon_core.techniques.sequential.admission import admit
from reanon_core.techniques.sequential.batches import batch_of, draw_worlds
from reanon_core.techniques.sequential.generalization import (
    GeneralizedRows,
    boxes_of,
    generalize,
    homogeneous,
    non_sequential,
)
from reanon_core.techniques.sequential.loss_measure import Loss
from reanon_core.techniques.sequential.shown_people import ShownPeople, shown_people
from reanon_core.techniques.sequential.state import WorldsState

FIT = Fit(
    promise="ell worlds, with ell different values for each person, explain every release; it bounds no probability",
    parameters=lambda among: {"ell": among},
    qi_change=None,
    people_leave={"on_delete": "defer"},
)
"""For which tables sequential is made."""
WorldKind = Literal["symmetric", "ring"]
Buckets = Literal["blind", "least-loss", "mondrian"]
Approach = Literal["sequential", "non-sequential", "homogeneous"]
BatchRule = Literal["refuse", "wait"]
DeleteRule = Literal["refuse", "defer"]
BareRule = Literal["refuse", "publish"]


@dataclass(frozen=True, eq=False, kw_only=True)
class WorldsPlan(Plan):
    """A plan that also carries the state after the release."""

    next_state: WorldsState


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """Every release is consistent with ell stored worlds that assign each person ell different sensitive values.

    This does not bound every inference: docs/guarantees.md says what is promised and what is not.

    Paper: [ST15] Section 4.
    """

    name: ClassVar[str] = "sequential"
    changeable: ClassVar[frozenset[str]] = frozenset({"loss", "on_batch", "on_delete", "on_bare"})
    caution: ClassVar[str] = (
        "sequential keeps ell worlds possible, which by itself does not bound any probability; docs/guarantees.md says "
        "what holds for symmetric and for ring worlds"
    )

    declaration: ClassVar[Declaration] = Declaration(
        weakest={"ell": 2},
        columns_vary=True,
        has_worlds=True,
        leave_together=True,
        row_memory=680,
        fit=FIT,
    )

    ell: int
    """The number of worlds, and so of the sensitive values that stay possible for each person."""
    worlds: WorldKind = "symmetric"
    """How worlds are built: so that all are equally likely (symmetric), or as in the paper (ring)."""
    loss: Loss = "lm"
    """The loss that a release minimizes: lm (the loss metric, in codes) or em (the entropy measure, in bits)."""
    buckets: Buckets = "blind"
    """How people are divided into buckets: by quasi-identifiers alone (blind), so that a reader of the source learns
    nothing from the cuts; or by cuts that sensitive values decide on too: the best ones (least-loss), or those of the
    paper (mondrian)."""
    bucket_size: int | None = None
    """blind: the least number of people in a bucket. Left out, it follows from how frequent values are, bucket by
    bucket. Larger buckets are refused less often."""
    approach: Approach = "sequential"
    """How releases are generalized: each by itself (sequential), or, for comparison, as projections of one table."""
    on_batch: BatchRule = "refuse"
    """What to do with new people who are not diverse: refuse, or withhold all of them until more people come."""
    on_delete: DeleteRule = "refuse"
    """What to do when people leave: refuse, or keep publishing them until their whole cell has left."""
    on_bare: BareRule = "refuse"
    """What to do with a release of quasi-identifiers alone, which would not be generalized: refuse, or publish."""

    def __post_init__(self) -> None:
        """Validate the parameters."""
        problems = []
        if isinstance(self.ell, bool) or not isinstance(self.ell, int) or self.ell < 2:
            problems.append(Problem("ell", "be a whole number of at least 2", str(self.ell)))
        size = self.bucket_size
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 2):
            problems.append(Problem("bucket_size", "be a whole number of at least 2", str(size)))
        if size is not None and self.buckets != "blind":
            problems.append(Problem("bucket_size", f"be left out if buckets is {self.buckets}", str(size)))
        for option, allowed in (
            ("worlds", WorldKind),
            ("loss", Loss),
            ("buckets", Buckets),
            ("approach", Approach),
            ("on_batch", BatchRule),
            ("on_delete", DeleteRule),
            ("on_bare", BareRule),
        ):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        require(problems, InvalidParameter)

    def promises(self) -> tuple[Promise, ...]:
        """Worlds with ell different values for each person."""
        return (Promise("possible-worlds", {"ell": self.ell}),)

    def accepts(self, schema: Schema) -> None:
        """Reject columns with missing values: worlds need every quasi-identifier of every person.

        Raises: InvalidSchema.
        """
        lacking = [column.name for column in schema.quasi_identifiers if column.missing is Missing.SEPARATE]
        if lacking:
            rule = "be refuse with sequential, because worlds need every value"
            help_ = "make the column categorical, with a value of its own for missing"
            raise InvalidSchema([Problem(f"{name}: missing", rule, "separate", help_) for name in lacking])

    def initial_state(self) -> WorldsState:
        """The state before the first release."""
        return WorldsState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> WorldsState:
        """The state that was packed."""
        return WorldsState.restored(packed)

    def plan(self, snapshot: Snapshot, state: WorldsState, rng: np.random.Generator) -> WorldsPlan:
        """Build worlds for new people, then generalize the release of all people.

        Paper: [ST15] Section 4: Algorithm 1, then Algorithm 2; Section 5.2 for later batches.

        Raises: Unpublishable, and then changes nothing.
        """
        admission = admit(snapshot, state, self)
        batch = batch_of(admission, self)
        public = admission.join(None if batch is None else draw_worlds(batch, self, rng))
        people = shown_people(public, self)
        rows = self._generalize(people, rng)
        boxes, witness = boxes_of(snapshot.schema, people.shown, rows, people.measure)
        group = np.full(public.table.size, WITHHELD, dtype=np.int32)
        group[people.published] = 0
        return WorldsPlan(
            group=group,
            groups=0,
            counterfeits=Counterfeits.none(),
            withheld=public.withheld,
            boxes=boxes,
            witness=witness,
            record_pool=public.table,
            next_state=public.state,
        )

    def advance(self, state: WorldsState, snapshot: Snapshot, plan: WorldsPlan) -> WorldsState:  # noqa: ARG002
        """The state after the release, which the plan carries."""
        return plan.next_state

    def _generalize(self, people: ShownPeople, rng: np.random.Generator) -> GeneralizedRows:
        places, images, measure = people.places, people.images, people.measure
        owner = images[-1]  # the true world, in which every person has their own suffix
        if self.approach == "homogeneous":
            return homogeneous(places, images, owner, people.bucket, measure)
        if self.approach == "non-sequential":
            return non_sequential(places, images, owner, measure)
        return generalize(places, people.suffix, images, measure, rng)
