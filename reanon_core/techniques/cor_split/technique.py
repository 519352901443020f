"""The Cor-Split technique: the buckets of m-invariance, partitioned so that no correlated set of people is small."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from reanon_core.bucketing.assignment import Assignment
from reanon_core.bucketing.balancing import Balancing
from reanon_core.bucketing.bucketed_plan import BucketedPlan, placed_signatures, row_groups, withheld_reasons
from reanon_core.bucketing.count_plan import assign_new_rows, balance_buckets
from reanon_core.bucketing.division import Division
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
    is_number,
    is_whole,
    least_m_problems,
)
from reanon_core.bucketing.phases import divide_rows, move_rows
from reanon_core.bucketing.regions import Regions
from reanon_core.inference.view.membership import Membership
from reanon_core.model.arrays import Bool, Int32
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, counted, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import WITHHELD
from reanon_core.model.schema import LINKS, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Fit, Form, Promise
from reanon_core.recoding.attribute_scales import grown_extent
from reanon_core.techniques.cor_split.bucket_partition import Buckets, Partition, partition_buckets
from reanon_core.techniques.cor_split.draft_groups import Safety
from reanon_core.techniques.cor_split.n_choose import usable_n
from reanon_core.techniques.cor_split.state import CorSplitState

FIT = Fit(
    promise="each person is always published among the same m or more values, a risk of at most 1 in m, "
    "and no two groups tie fewer than n people to as many others",
    parameters=lambda among: {"m": among, "n": min(3, among - 1)},
    adversaries=frozenset({"presence", "values"}),
    bounds_risk=True,
    least=3,
    goes_on=True,
    values_change={"on_sensitive_change": "episode"},
)
"""For which tables Cor-Split is made."""
OnLifespan = Literal["refuse", "withhold"]
LEAST_COMBINED, MOST_COMBINED = 4, 6
COMPROMISED = (
    "n bounds the sets of people whom releases correlate, not what compromised people exclude step by step: after "
    "some releases an adversary who knows groups and a few values may expose most people; "
    "docs/techniques/cor-split.md has the figures, and reanon audit --compromised 0.04 shows how far that goes"
)
LIFESPAN_REACHED = "published as often as max_lifespan allows"


@dataclass(frozen=True, eq=False, kw_only=True)
class CorSplitPlan(BucketedPlan):
    """A plan that also has the membership of all releases, for the next state."""

    number: Int32  # [n] the number of each row's person in the membership; -1 for people who were never published
    membership: Membership


@dataclass(frozen=True, kw_only=True)
class CorSplit:
    """Weak m-invariance, and sets of people whom releases correlate have at least n members.

    Paper: [RB09] Definition 8; [RB09] Figure 4.
    """

    name: ClassVar[str] = "cor-split"
    changeable: ClassVar[frozenset[str]] = frozenset({"assignment", "on_lifespan", "partition"})
    """The parameters that may change between releases: the proof covers every change."""

    declaration: ClassVar[Declaration] = Declaration(
        weakest={"m": 3, "n": 2},
        decouples=True,
        variants={"paper": {**PAPER, "partition": "paper", "strict": False}},
        followers=FOLLOWERS,
        row_memory=400,
        fit=FIT,
    )

    m: int
    """The least number of values among which each person is hidden."""
    n: int | None = None
    """The least number of people on either side of a correlation, below m; leave it out to derive it from p."""
    p: float | None = None
    """The probability that an adversary knows a given person's value; n is derived from it."""
    max_lifespan: int | None = None
    """The most releases that may show one person; required with p, otherwise unbounded by default."""
    threshold: float | None = None
    """The probability of a breach must stay below this; n is derived from it."""
    on_lifespan: OnLifespan = "refuse"
    """What to do with people who were published max_lifespan times: refuse the snapshot, or withhold them for ever."""
    strict: bool = True
    """Whether combinations of groups are protected too; the paper compares two groups at a time."""
    combine: int = 4
    """Strict: the most groups that are combined, 4 to 6. Small components are decided exactly."""
    partition: Partition = "repair"
    """How buckets become groups: split as in m-invariance with unsafe groups repaired (repair), or as in the paper."""
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
    """What to do if a person's sensitive value changed: refuse, or begin an episode (same or disjoint signature)."""
    on_qi_change: QiChange = "allow"
    """Whether a person's quasi-identifiers may change: people age and move."""

    def __post_init__(self) -> None:
        """Choose what was left out, and validate the parameters."""
        choose_defaults(self)
        problems = [*least_m_problems(self.m), *self._degree_problems(), *block_problems(self)]
        problems += choice_problems(self, {**CHOICES, "on_lifespan": OnLifespan, "partition": Partition})
        if not isinstance(self.strict, bool):
            problems.append(Problem("strict", "be true or false", str(self.strict)))
        if not is_whole(self.combine) or not LEAST_COMBINED <= self.combine <= MOST_COMBINED:
            rule = f"be a whole number from {LEAST_COMBINED} to {MOST_COMBINED}"
            problems.append(Problem("combine", rule, str(self.combine)))
        require(problems, InvalidParameter)
        if self.degree >= self.m:
            raise AssertionError("n is below m")

    @classmethod
    def paper(cls, *, m: int, **options: Any) -> "CorSplit":
        """The way of the paper, with its phases 1 to 3, its partition and its boxes.

        Paper: [RB09] Figure 4.
        """
        return cls(m=m, **{**PAPER, "partition": "paper", "strict": False, **options})

    @property
    def form(self) -> Form:
        """The form of the releases if the series names none."""
        return default_form(self)

    @property
    def caution(self) -> str:
        """What n does not bound, and what the paper's way of balancing tells somebody who knows the algorithm."""
        return "; ".join(filter(None, [COMPROMISED, bucket_caution(self)]))

    @cached_property
    def degree(self) -> int:
        """The n of (m, n)-historical safety: given, or chosen by n-Choose.

        Paper: [RB09] Definition 8; [RB09] Figure 3.
        """
        if self.n is not None:
            return self.n
        if self.p is None or self.max_lifespan is None or self.threshold is None:
            raise AssertionError("n is given or can be chosen")
        return usable_n(self.p, self.max_lifespan, self.m, self.threshold)

    def promises(self) -> tuple[Promise, ...]:
        """(m, n)-historical safety; with `strict` also against combinations of groups."""
        m, n = self.m, self.degree
        episodes = self.on_sensitive_change == "episode"
        safety = {"m": m, "n": n, "max_lifespan": self.max_lifespan, "episodes": episodes}
        strictness = {"strict": True, "combine": self.combine} if self.strict else {}
        return (
            Promise("k-anonymity", {"k": m}),
            Promise("l-diversity", {"ell": m, "form": "frequency"}),
            Promise("hc-safety", {**safety, **strictness}),
        )

    def accepts(self, schema: Schema) -> None:
        """Refuse non-identifiers, which would link a person's rows across releases.

        Raises: InvalidSchema.
        """
        require(schema.other_problems(self.name, LINKS), InvalidSchema)

    def initial_state(self) -> CorSplitState:
        """The state before the first release."""
        return CorSplitState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> CorSplitState:
        """The state that was packed."""
        return CorSplitState.restored(packed)

    def plan(self, snapshot: Snapshot, state: CorSplitState, rng: np.random.Generator) -> CorSplitPlan:
        """Plan a release: three phases of m-invariance, then Cor-Partition, so that every group is hc-safe.

        Paper: [RB09] Figure 4.

        Raises: Unpublishable (NotEligible among others); nothing is changed.
        """
        kept = self._within_lifespan(snapshot, state)
        here = snapshot if kept.all() else snapshot.rows(np.flatnonzero(kept), selected=None)
        divided = divide_rows(here, state, self, rng)  # phase 1: division
        balanced = balance_buckets(divided.counts, self.m, self.balancing)  # phase 2: balancing
        assigned = assign_new_rows(divided.counts, balanced, self.m, self.assignment)  # phase 3: assignment
        layout = move_rows(here, divided, assigned, self.balancing, rng)
        buckets = Buckets(
            layout=layout,
            signatures=assigned.signatures,
            number=state.numbers(divided.division, layout.row),
            extent=grown_extent(here, state.extent),
        )
        safe = partition_buckets(here, buckets, state, self._safety, self.partition, rng)  # phase 4: Cor-Partition
        found = row_groups(here.size, safe.layout, safe.entry_group, assigned.signatures)
        withheld = withheld_reasons(
            deferred=int(divided.withheld.sum()),
            surplus=int(assigned.surplus.sum()),
            stranded=divided.stranded,
            changed=divided.changed,
        )
        signature = placed_signatures(divided.old_slot, found.signature, assigned.signatures)
        expired = snapshot.size - here.size
        return CorSplitPlan(
            group=_for_all_rows(found.group, kept, WITHHELD),
            groups=found.groups,
            counterfeits=found.counterfeits,
            withheld={**withheld, LIFESPAN_REACHED: expired} if expired else withheld,
            division=Division(_for_all_rows(divided.division.entry, kept, -1), divided.division.changed),
            signatures=assigned.signatures,
            signature=_for_all_rows(signature, kept, -1),
            extent=buckets.extent,
            number=_for_all_rows(buckets.number, kept, -1),
            membership=safe.membership,
        )

    def advance(self, state: CorSplitState, snapshot: Snapshot, plan: CorSplitPlan) -> CorSplitState:
        """The state with the signatures of the people who are published, and the membership of this release."""
        roster, qi = state.recorded(snapshot, plan, keep_qi=self.on_qi_change == "refuse")
        published = plan.group >= 0
        placed = plan.signature >= 0
        number = state.grown_numbers(snapshot.persons[placed], plan.division.entry[placed], plan.number[placed])
        times = np.zeros(plan.membership.people, np.int32)
        times[: len(state.times)] = state.times
        times[plan.number[published]] += 1
        return CorSplitState(state.time + 1, plan.signatures, roster, plan.extent, qi, number, times, plan.membership)

    def _degree_problems(self) -> Iterator[Problem]:
        """What is wrong with n, or with the parameters that n is chosen from."""
        if self.max_lifespan is not None and (not is_whole(self.max_lifespan) or self.max_lifespan < 1):
            yield Problem("max_lifespan", "be a whole number of at least 1", str(self.max_lifespan))
            return
        if self.n is not None:
            if self.p is not None or self.threshold is not None:
                yield Problem("n", "be given alone, or left out for p and threshold to choose it", str(self.n))
            if not is_whole(self.n) or not 1 <= self.n < max(2, self.m if is_whole(self.m) else 2):
                yield Problem(
                    "n", f"be a whole number from 1 to m - 1 = {self.m - 1}", str(self.n), "choose a larger m"
                )
            return
        missing = [key for key in ("p", "max_lifespan", "threshold") if getattr(self, key) is None]
        if missing:
            yield Problem("n", f"be given, or all of p, max_lifespan and threshold; missing: {', '.join(missing)}")
            return
        shares = [
            Problem(key, f"be a number above 0 and {rule}", str(getattr(self, key)))
            for key, rule, most in (("p", "below 1", 1 - 1e-12), ("threshold", "at most 1", 1.0))
            if not is_number(getattr(self, key)) or not 0 < getattr(self, key) <= most
        ]
        yield from shares
        if not shares and is_whole(self.m) and self.m >= 2:
            try:
                _ = self.degree
            except InvalidParameter as error:
                yield from error.problems

    @property
    def _safety(self) -> Safety:
        """What makes a group safe: n, and how many groups are combined in strict mode."""
        return Safety(self.degree, self.combine if self.strict and self.degree > 1 else 0)

    def _within_lifespan(self, snapshot: Snapshot, state: CorSplitState) -> Bool:
        """Who may be published once more.

        Paper: [RB09] Section 3: L, the greatest lifespan.

        Raises: Unpublishable.
        """
        kept = np.ones(snapshot.size, np.bool_)
        if self.max_lifespan is None or not state.time:
            return kept
        times = np.zeros(len(state.roster.persons) + 1, np.int64)
        np.cumsum(np.append(state.times, 0)[state.number], out=times[1:])  # 0 times for a person without a number
        first, last = (state.roster.persons.searchsorted(snapshot.persons, side=s) for s in ("left", "right"))
        kept = times[last] - times[first] < self.max_lifespan
        over = int(np.count_nonzero(~kept))
        if over and self.on_lifespan == "refuse":
            raise Unpublishable(
                f"{counted(over, 'person was', 'people were')} published {self.max_lifespan} times, which is "
                f"max_lifespan; leave them out of the snapshot, or set on_lifespan: withhold",
                persons=snapshot.persons[~kept],
            )
        return kept


def _for_all_rows(values: Int32, kept: Bool, fill: int) -> Int32:
    """The values of the kept rows, and `fill` for the other rows."""
    if len(values) == len(kept):
        return values
    filled = np.full(len(kept), fill, np.int32)
    filled[kept] = values
    return filled
