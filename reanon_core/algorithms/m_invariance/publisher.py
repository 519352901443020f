"""The m-invariance publisher: division, balancing, assignment, split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.algorithms.m_invariance.split import split_buckets
from reanon_core.algorithms.m_invariance.state import MInvarianceState
from reanon_core.bucketing.assignment import Assignment
from reanon_core.bucketing.division import NEW, Division, divide
from reanon_core.bucketing.eligibility import deferred, padding, require_eligible
from reanon_core.bucketing.episodes import resettle
from reanon_core.bucketing.moving import COUNTERFEIT, Layout, lay_out
from reanon_core.bucketing.planning import plan_buckets
from reanon_core.bucketing.signatures import Signatures
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, counted, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import WITHHELD, Counterfeits, Plan
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.lengths import grown_extent

NotEligibleRule = Literal["refuse", "defer", "pad"]
SensitiveChange = Literal["refuse", "episode"]
QiChange = Literal["allow", "refuse"]


@dataclass(frozen=True, eq=False, kw_only=True)
class MInvariancePlan(Plan):
    """A plan that also knows each row's signature, for the state that follows."""

    division: Division
    signatures: Signatures
    signature: Int32  # [n] -1 for withheld rows
    extent: Int64  # [2, d]


@dataclass(frozen=True, kw_only=True)
class MInvariance:
    """Every person is always published in a group with the same m or more different sensitive values.

    Paper: [XT07] Definition 17; Section 4.
    """

    name: ClassVar[str] = "m-invariance"
    changeable: ClassVar[frozenset[str]] = frozenset({"assignment", "not_eligible"})
    """The parameters that may change between releases: they break nothing that was promised."""
    caution: ClassVar[str] = ""

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
        problems = []
        if isinstance(self.m, bool) or not isinstance(self.m, int) or self.m < 2:
            problems.append(Problem("m", "be a whole number of at least 2", str(self.m)))
        for option, allowed in (
            ("assignment", Assignment),
            ("not_eligible", NotEligibleRule),
            ("on_sensitive_change", SensitiveChange),
            ("on_qi_change", QiChange),
        ):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        require(problems, InvalidParameter)

    def accepts(self, schema: Schema) -> None:
        """Refuse non-identifiers, which would tie a person's rows together across releases.

        Raises: InvalidSchema.
        """
        if schema.other:
            raise InvalidSchema(
                Problem(
                    "other",
                    "be empty with m-invariance: a value published as it is links a person's rows across releases",
                    ", ".join(schema.other),
                    "make it a quasi-identifier, or leave it out",
                )
            )

    def initial_state(self) -> MInvarianceState:
        """Nobody was published yet."""
        return MInvarianceState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> MInvarianceState:
        """The state that was packed."""
        return MInvarianceState.restored(packed)

    def plan(self, snapshot: Snapshot, state: MInvarianceState, rng: np.random.Generator) -> MInvariancePlan:
        """Divide, balance and assign over counts; then move the rows and split the buckets.

        Paper: [XT07] Section 4.1.

        Raises: Unpublishable (NotEligible among others); nothing is changed.
        """
        division = divide(snapshot, state.roster, state.signatures)
        self._refuse_changes(snapshot, state, division)
        pool = _counts(snapshot.sensitive[division.entry == NEW], snapshot.schema)
        signatures, signature = resettle(snapshot, division, state.roster, state.signatures, pool, self.m)
        old = division.entry >= 0
        signature[old] = state.roster.signature[division.entry[old]]
        withheld, pads = self._made_eligible(pool, snapshot.schema, rng)

        is_old = np.flatnonzero(signature >= 0)
        old_slot = np.full(snapshot.size, -1, dtype=np.int32)
        old_slot[is_old] = signatures.slots(signature[is_old], snapshot.sensitive[is_old])
        old_count = np.bincount(old_slot[is_old], minlength=len(signatures.values)).astype(np.int64)
        buckets = plan_buckets(signatures, old_count, pool - withheld + pads, self.m, self.assignment)

        layout = lay_out(
            signatures=buckets.signatures,
            old_slot=old_slot,
            sensitive=snapshot.sensitive,
            withheld=withheld,
            taken=buckets.taken,
            pads=pads,
            counterfeits=buckets.counterfeits,
            order=siphash_words(snapshot.persons, fresh_key(rng)),
            rng=rng,
        )
        extent = grown_extent(snapshot, state.extent)
        entry_group = split_buckets(snapshot.qi, layout, buckets.signatures, extent)
        return _as_plan(snapshot, layout, entry_group, buckets.signatures, division, withheld, extent)

    def advance(self, state: MInvarianceState, snapshot: Snapshot, plan: MInvariancePlan) -> MInvarianceState:
        """Remember the signature of everybody who is published."""
        published = plan.group >= 0
        entry = plan.division.entry[published]
        persons = snapshot.persons[published]
        roster = state.roster.recorded(entry, persons, plan.signature[published], snapshot.sensitive[published])
        qi = np.empty((0, 0), np.int32)
        if self.on_qi_change == "refuse":
            known = state.qi if state.time else np.empty((len(snapshot.qi), 0), np.int32)
            new = entry < 0
            at = state.roster.persons.searchsorted(persons[new], side="right")
            qi = np.insert(known, at, snapshot.qi[:, published][:, new], axis=1)
        return MInvarianceState(state.time + 1, plan.signatures, roster, plan.extent, qi)

    def _made_eligible(self, pool: Int64, schema: Schema, rng: np.random.Generator) -> tuple[Int64, Int64]:
        """How many new rows of each value are withheld, and how many counterfeits are added, as the option says."""
        none = np.zeros_like(pool)
        if self.not_eligible == "defer":
            return deferred(pool, self.m), none
        if self.not_eligible == "pad":
            return none, padding(pool, self.m, rng)
        require_eligible(pool, self.m, schema.sensitive.values)
        return none, none

    def _refuse_changes(self, snapshot: Snapshot, state: MInvarianceState, division: Division) -> None:
        changed = int(division.changed.sum())
        if changed and self.on_sensitive_change == "refuse":
            raise Unpublishable(
                f"{counted(changed, 'person has', 'people have')} another value of {snapshot.schema.sensitive.name} "
                f"than before, and on_sensitive_change is refuse; correct the snapshot, or leave them out "
                f"(a series whose values change needs on_sensitive_change: episode from its first release on)"
            )
        if self.on_qi_change == "refuse" and state.time:
            known = np.flatnonzero(division.entry >= 0)
            moved = (snapshot.qi[:, known] != state.qi[:, division.entry[known]]).any(axis=0).sum()
            if moved:
                raise Unpublishable(
                    f"{counted(int(moved), 'person has', 'people have')} other quasi-identifier values than when "
                    f"first published, and on_qi_change is refuse; correct the snapshot, or leave them out "
                    f"(a series whose people age and move needs on_qi_change: allow from its first release on)"
                )


def _counts(sensitive: Int32, schema: Schema) -> Int64:
    return np.bincount(sensitive, minlength=len(schema.sensitive.values)).astype(np.int64)


def _as_plan(
    snapshot: Snapshot,
    layout: Layout,
    entry_group: Int32,
    signatures: Signatures,
    division: Division,
    withheld: Int64,
    extent: Int64,
) -> MInvariancePlan:
    """The plan in terms of rows and counterfeits; a group of counterfeits alone protects nobody and is dropped."""
    groups = int(entry_group.max(initial=-1)) + 1
    real = np.flatnonzero(layout.row >= 0)
    populated = np.zeros(groups, dtype=np.bool_)
    populated[entry_group[real]] = True
    renumbered = np.cumsum(populated, dtype=np.int32) - 1
    real_group = renumbered[entry_group[real]]
    group = np.full(snapshot.size, WITHHELD, dtype=np.int32)
    group[layout.row[real]] = real_group
    fake = np.flatnonzero(layout.row == COUNTERFEIT)
    fake = fake[populated[entry_group[fake]]]
    signature_of_slot = np.repeat(np.arange(signatures.count, dtype=np.int32), np.diff(signatures.offsets))
    signature_of_group = np.empty(int(populated.sum()) + 1, dtype=np.int32)
    signature_of_group[real_group] = signature_of_slot[layout.slot[real]]
    signature_of_group[WITHHELD] = -1
    held_back = int(withheld.sum())
    return MInvariancePlan(
        group=group,
        groups=int(populated.sum()),
        counterfeits=Counterfeits(renumbered[entry_group[fake]], signatures.values[layout.slot[fake]]),
        withheld={"deferred: their value is too frequent among the new rows": held_back} if held_back else {},
        division=division,
        signatures=signatures,
        signature=signature_of_group[group],
        extent=extent,
    )
