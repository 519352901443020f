"""The m-invariance technique: division, balancing, assignment, split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.bucketing.assignment import Assignment
from reanon_core.bucketing.bucket_split import split_buckets
from reanon_core.bucketing.bucketed_plan import BucketedPlan, grouped, reasons
from reanon_core.bucketing.options import (
    CHOICES,
    NotEligibleRule,
    QiChange,
    SensitiveChange,
    choice_problems,
    least_m_problems,
    refuse_other_columns,
)
from reanon_core.bucketing.phases import BucketRules, arrange
from reanon_core.model.errors import InvalidParameter, require
from reanon_core.model.packing import Packable
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Promise
from reanon_core.recoding.lengths import grown_extent, length_scales
from reanon_core.techniques.m_invariance.state import MInvarianceState


@dataclass(frozen=True, kw_only=True)
class MInvariance:
    """Every person is always published in a group with the same m or more different sensitive values.

    Paper: [XT07] Definition 17; Section 4.
    """

    name: ClassVar[str] = "m-invariance"
    changeable: ClassVar[frozenset[str]] = frozenset({"assignment", "not_eligible"})
    """The parameters that may change between releases: they break nothing that was promised."""
    caution: ClassVar[str] = ""

    declaration: ClassVar[Declaration] = Declaration(weakest={"m": 2})

    m: int
    """The least number of values that everybody is hidden among."""
    assignment: Assignment = "deep"
    """How new rows find buckets: as in the paper; buckets that exist first (stable); or the deepest of them (deep)."""
    not_eligible: NotEligibleRule = "refuse"
    """What to do if a value is too frequent among the new rows: refuse, hold the surplus back, or add counterfeits."""
    on_sensitive_change: SensitiveChange = "refuse"
    """What to do if somebody's sensitive value changed: refuse, or begin an episode (same or disjoint signature)."""
    on_qi_change: QiChange = "allow"
    """Whether somebody's quasi-identifiers may change: people age and move."""

    def __post_init__(self) -> None:
        """Hold the ranges of the parameters."""
        require([*least_m_problems(self.m), *choice_problems(self, CHOICES)], InvalidParameter)

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
        """Refuse non-identifiers, which would tie a person's rows together across releases.

        Raises: InvalidSchema.
        """
        refuse_other_columns(schema, self.name)

    def initial_state(self) -> MInvarianceState:
        """Nobody was published yet."""
        return MInvarianceState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> MInvarianceState:
        """The state that was packed."""
        return MInvarianceState.restored(packed)

    def plan(self, snapshot: Snapshot, state: MInvarianceState, rng: np.random.Generator) -> BucketedPlan:
        """Arrange the rows in balanced buckets, and split the buckets.

        Paper: [XT07] Section 4.1.

        Raises: Unpublishable (NotEligible among others); nothing is changed.
        """
        rules = BucketRules(
            m=self.m,
            assignment=self.assignment,
            not_eligible=self.not_eligible,
            on_sensitive_change=self.on_sensitive_change,
            on_qi_change=self.on_qi_change,
        )
        arranged = arrange(snapshot, state, rules, rng)
        extent = grown_extent(snapshot, state.extent)
        scales = length_scales(extent[1] - extent[0], arranged.layout.deepest)
        entry_group = split_buckets(snapshot.qi, arranged.layout, arranged.signatures, extent[0], scales)
        found = grouped(snapshot.size, arranged.layout, entry_group, arranged.signatures)
        return BucketedPlan(
            group=found.group,
            groups=found.groups,
            counterfeits=found.counterfeits,
            withheld=reasons(arranged.withheld),
            division=arranged.division,
            signatures=arranged.signatures,
            signature=found.signature,
            extent=extent,
        )

    def advance(self, state: MInvarianceState, snapshot: Snapshot, plan: BucketedPlan) -> MInvarianceState:
        """Remember the signature of everybody who is published."""
        roster, qi = state.recorded(snapshot, plan, keep_qi=self.on_qi_change == "refuse")
        return MInvarianceState(state.time + 1, plan.signatures, roster, plan.extent, qi)
