"""The m-invariance technique: division, balancing, assignment, split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reanon_core.bucketing.assignment import Assignment
from reanon_core.bucketing.balancing import Balancing
from reanon_core.bucketing.bucket_split import split_buckets
from reanon_core.bucketing.bucketed_plan import BucketedPlan, placed_signatures, row_groups, withheld_reasons
from reanon_core.bucketing.count_plan import assign_new_rows, balance_buckets
from reanon_core.bucketing.options import (
    CHOICES,
    CHOSEN,
    FOLLOWERS,
    PAPER,
    NotEligibleRule,
    QiChange,
    SensitiveChange,
    block_problems,
    bucket_caution,
    choice_problems,
    choose_defaults,
    default_form,
    least_m_problems,
)
from reanon_core.bucketing.phases import divide_rows, move_rows
from reanon_core.bucketing.regions import Regions
from reanon_core.bucketing.state import BucketState
from reanon_core.engine.engine import Engine
from reanon_core.model.errors import InvalidParameter, InvalidSchema, require
from reanon_core.model.packing import Packable
from reanon_core.model.schema import LINKS, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.partitioned.bucketed_release import BucketedRelease, in_memory_only, release_in_parts
from reanon_core.partitioned.new_pools import new_row_memory
from reanon_core.protocols import Declaration, Fit, Form, Promise
from reanon_core.recoding.attribute_scales import grown_extent, length_scales

FIT = Fit(
    promise="each person is always published among the same m or more values: a risk of at most 1 in m",
    parameters=lambda among: {"m": among},
    bounds_risk=True,
    goes_on=True,
    values_change={"on_sensitive_change": "episode"},
)
"""For which tables m-invariance is made."""


@dataclass(frozen=True, eq=False)
class MInvarianceState(BucketState):
    """The signature of every person ever published, so that a person who returns keeps their signature.

    Paper: [XT07] Lemma 4 keeps the last release only; departure D1 says why that is not enough.
    """


@dataclass(frozen=True, kw_only=True)
class MInvariance:
    """Every person is always published in a group with the same m or more distinct sensitive values.

    Paper: [XT07] Definition 17; [XT07] Section 4.
    """

    name: ClassVar[str] = "m-invariance"
    changeable: ClassVar[frozenset[str]] = frozenset({"assignment"})
    """The parameters that may change between releases: the proof covers every change."""

    declaration: ClassVar[Declaration] = Declaration(
        weakest={"m": 2},
        decouples=True,
        variants={"paper": PAPER},
        followers=FOLLOWERS,
        row_memory=230,
        fit=FIT,
    )

    m: int
    """The least number of values among which each person is hidden."""
    balancing: Balancing = CHOSEN
    """How buckets are balanced: filled up with counterfeits (blind), filled up or withheld to their median (median), or
    filled with new rows first, as in the paper (filled)."""
    assignment: Assignment = "deep"
    """How new rows are assigned: as in the paper, to existing buckets first (stable), or to deep ones first (deep)."""
    not_eligible: NotEligibleRule = CHOSEN
    """If a value is too frequent among the new rows: refuse, form blocks of values for all or some of the rows, defer
    the surplus, or pad."""
    regions: Regions = CHOSEN
    """Whether new rows enter region by region, which keeps relations: none, or regions by place and size (sizes)."""
    on_sensitive_change: SensitiveChange = "refuse"
    """What to do if a person's sensitive value changed: refuse, withhold the person as long as it differs, or begin an
    episode (same or disjoint signature)."""
    on_qi_change: QiChange = "allow"
    """Whether a person's quasi-identifiers may change: people age and move."""

    def __post_init__(self) -> None:
        """Choose what was left out, and validate the parameters."""
        choose_defaults(self)
        require([*least_m_problems(self.m), *choice_problems(self, CHOICES), *block_problems(self)], InvalidParameter)

    @classmethod
    def paper(cls, *, m: int, **options: Any) -> "MInvariance":
        """The way of the paper, with its balancing, its assignment and its boxes.

        Paper: [XT07] Section 4.1.
        """
        return cls(m=m, **{**PAPER, **options})

    @property
    def form(self) -> Form:
        """The form of the releases if the series names none."""
        return default_form(self)

    @property
    def caution(self) -> str:
        """What the paper's way of balancing, and two ways out, tell somebody who knows the algorithm."""
        return bucket_caution(self)

    def promises(self) -> tuple[Promise, ...]:
        """Groups with m values each, all different, and for each person always the same values."""
        m = self.m
        return (
            Promise("k-anonymity", {"k": m}),
            Promise("l-diversity", {"ell": m, "form": "frequency"}),
            Promise("m-uniqueness", {"m": m}),
            Promise("m-invariance", {"m": m, "episodes": self.on_sensitive_change == "episode"}),
        )

    def accepts(self, schema: Schema) -> None:
        """Refuse non-identifiers, which would link a person's rows across releases.

        Raises: InvalidSchema.
        """
        require(schema.other_problems(self.name, LINKS), InvalidSchema)

    def initial_state(self) -> MInvarianceState:
        """The state before the first release."""
        return MInvarianceState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> MInvarianceState:
        """The state that was packed."""
        return MInvarianceState.restored(packed)

    def plan(self, snapshot: Snapshot, state: MInvarianceState, rng: np.random.Generator) -> BucketedPlan:
        """Plan a release in the four phases of the paper; phases 2 and 3 work on counts, and then the rows move.

        Paper: [XT07] Section 4.1.

        Raises: Unpublishable (NotEligible among others); nothing is changed.
        """
        divided = divide_rows(snapshot, state, self, rng)  # phase 1: division
        balanced = balance_buckets(divided.counts, self.m, self.balancing)  # phase 2: balancing
        assigned = assign_new_rows(divided.counts, balanced, self.m, self.assignment)  # phase 3: assignment
        layout = move_rows(snapshot, divided, assigned, self.balancing, rng)
        extent = grown_extent(snapshot, state.extent)
        scales = length_scales(extent[1] - extent[0], layout.deepest)
        split = split_buckets(snapshot.qi, layout, assigned.signatures, extent[0], scales)  # phase 4: split
        found = row_groups(snapshot.size, layout, split, assigned.signatures)
        return BucketedPlan(
            group=found.group,
            groups=found.groups,
            counterfeits=found.counterfeits,
            withheld=withheld_reasons(
                deferred=int(divided.withheld.sum()),
                surplus=int(assigned.surplus.sum()),
                stranded=divided.stranded,
                changed=divided.changed,
            ),
            division=divided.division,
            signatures=assigned.signatures,
            signature=placed_signatures(divided.old_slot, found.signature, assigned.signatures),
            extent=extent,
        )

    def in_memory_only(self) -> str:
        """The parameters that are computed in memory only; empty if a release can be computed in parts."""
        return in_memory_only(self)

    def new_row_memory(self, attributes: int) -> int:
        """The bytes that a new person takes in memory while regions are cut or partial blocks are made."""
        return new_row_memory(self, attributes)

    def release_in_parts(
        self, snapshot: Snapshot, state: MInvarianceState, rng: np.random.Generator, engine: Engine
    ) -> tuple[BucketedRelease, MInvarianceState]:
        """The release that `plan` leads to, computed in tasks over columns on disk, and the state after it.

        Raises: Unpublishable (NotEligible among others); nothing is changed.
        """
        made = release_in_parts(snapshot, state, self, rng, engine)
        return made, MInvarianceState(state.time + 1, made.signatures, made.roster, made.extent, made.codes)

    def advance(self, state: MInvarianceState, snapshot: Snapshot, plan: BucketedPlan) -> MInvarianceState:
        """The state with the signatures of the people in the buckets."""
        roster, qi = state.recorded(snapshot, plan, keep_qi=self.on_qi_change == "refuse")
        return MInvarianceState(state.time + 1, plan.signatures, roster, plan.extent, qi)
