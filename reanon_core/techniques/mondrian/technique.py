"""The Mondrian technique: every release is protected by itself, without regard to the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, cast, get_args

import numpy as np

from reanon_core.engine.engine import Engine
from reanon_core.kernels.mondrian_criterion import satisfies
from reanon_core.kernels.orders import uniform_order
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import Int64
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, ReanonError, Unpublishable, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import TELLS_APART, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.partitioned.mondrian_release import cut_in_parts, survey_rows
from reanon_core.partitioned.partitioned_release import PartitionedRelease
from reanon_core.protocols import Declaration, Fit, Promise
from reanon_core.recoding.attribute_scales import extent_of_extremes, grown_extent
from reanon_core.recoding.mondrian import (
    NO_CLASS,
    CutOptions,
    CutsBy,
    Diversity,
    Failing,
    Heuristic,
    Principle,
    Table,
    criterion_of_counts,
    mondrian_classes,
)

FIT = Fit(
    promise="each release by itself has groups of k rows and ell values",
    parameters=lambda among: {"k": among, "ell": among},
    over_series=False,
    rations_new_rows=False,
    values_change={},
)
"""For which tables Mondrian is made."""
VERSION = 1
Cuts = Literal["strict", "relaxed"]


@dataclass(frozen=True, eq=False)
class MondrianState(CodedState):
    """The number of releases, and the range of codes seen."""

    time: int
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release

    @staticmethod
    def initial() -> "MondrianState":
        """The state before the first release."""
        return MondrianState(0, np.empty((2, 0), np.int64))

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {"version": VERSION, "time": self.time, "extent": self.extent, **self.codebook.packed()}

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "MondrianState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"this Mondrian state has version {packed['version']}; only version {VERSION} can be read")
        extent = cast("Int64", packed["extent"])
        return MondrianState(cast("int", packed["time"]), extent, codebook=Codebook.restored(packed))


@dataclass(frozen=True, eq=False, kw_only=True)
class MondrianPlan(Plan):
    """A plan that also carries the range of codes, for the state that follows."""

    extent: Int64  # [2, d]


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Every group has at least k rows and ell sensitive values. Releases are not safe together.

    Paper: [LDR06] Section 4.
    """

    name: ClassVar[str] = "mondrian"
    changeable: ClassVar[frozenset[str]] = frozenset({"heuristic", "cuts", "cuts_by", "failing"})
    caution: ClassVar[str] = (
        "mondrian protects each release by itself; comparing two releases can expose people (docs/guarantees.md)"
    )

    declaration: ClassVar[Declaration] = Declaration(
        weakest={"k": 2, "ell": 2},
        row_memory=130,
        fit=FIT,
    )

    k: int
    """The least number of rows in a group."""
    ell: int = 1
    """The least number of sensitive values in a group, or the frequency bound one in ell."""
    diversity: Diversity = "distinct"
    """Whether ell counts distinct values, or bounds the most frequent one by 1/ell of the group."""
    t: float | None = None
    """The greatest distance of a group's values from those of the whole table (t-closeness, equal distance)."""
    heuristic: Heuristic = "width"
    """Which attribute is cut first: the widest, the one with the most values, or the one with the most even cut."""
    cuts: Cuts = "strict"
    """Whether people with the same value stay on one side of a cut (strict), or may be divided (relaxed)."""
    cuts_by: CutsBy = "principle"
    """What decides whether a cut is made: the principle on both sides, as in the paper; quasi-identifiers and k alone;
    or the counts of the values before the cut, which tells a reader of the source nothing."""
    failing: Failing = "merge"
    """What happens to a group that fails the principle: it is merged with its sibling (quasi-identifiers), made
    impossible (counts), or withheld; with counts and withhold, cuts are made where failing is unlikely."""

    def __post_init__(self) -> None:
        """Check the ranges of the parameters."""
        problems: list[Problem] = []
        if self.k == 1:
            problems.append(Problem("k", "be at least 2", "1"))
        try:
            self.principle()
        except ReanonError as error:
            problems += error.problems
        for option, allowed in (
            ("heuristic", Heuristic),
            ("cuts", Cuts),
            ("cuts_by", CutsBy),
            ("failing", Failing),
        ):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        if self.failing == "withhold" and self.cuts_by == "principle":
            rule = "be merge with cuts_by: principle, where no group fails"
            problems.append(Problem("failing", rule, self.failing, "set cuts_by: counts, or quasi-identifiers"))
        if self.cuts_by == "counts" and self.t is not None:
            rule = "not be counts with t: no counts keep both sides of a cut close to the whole in any arrangement"
            problems.append(Problem("cuts_by", rule, self.cuts_by))
        if self.failing == "withhold" and self.t is not None:
            rule = "be merge with t: withheld people change the distribution that groups are compared with"
            problems.append(Problem("failing", rule, self.failing))
        require(problems, InvalidParameter)

    def principle(self) -> Principle:
        """What every group satisfies."""
        return Principle(k=self.k, ell=self.ell, diversity=self.diversity, t=self.t)

    def cut_options(self) -> CutOptions:
        """How cuts are chosen."""
        return CutOptions(heuristic=self.heuristic, strict=self.cuts == "strict", by=self.cuts_by, failing=self.failing)

    def promises(self) -> tuple[Promise, ...]:
        """The principle that every group satisfies, release by release."""
        promises = [Promise("k-anonymity", {"k": self.k})]
        if self.ell > 1:
            promises.append(Promise("l-diversity", {"ell": self.ell, "form": self.diversity}))
        if self.t is not None:
            promises.append(Promise("t-closeness", {"t": self.t}))
        return tuple(promises)

    def accepts(self, schema: Schema) -> None:
        """Reject columns that are published as they are: they would tell the rows of a group apart.

        Raises: InvalidSchema.
        """
        require(schema.other_problems(self.name, TELLS_APART), InvalidSchema)

    def initial_state(self) -> MondrianState:
        """The state before the first release."""
        return MondrianState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> MondrianState:
        """The state that was packed."""
        return MondrianState.restored(packed)

    def plan(self, snapshot: Snapshot, state: MondrianState, rng: np.random.Generator) -> MondrianPlan:
        """Cut the table again and again, as long as both sides satisfy the principle.

        Raises: Unpublishable if the table as a whole does not satisfy it.
        """
        extent = grown_extent(snapshot, state.extent)
        group = np.full(snapshot.size, -1, dtype=np.int32)
        # A relaxed cut divides people with the same value by their order, so the order must be a secret one.
        order = uniform_order(siphash_words(snapshot.persons, fresh_key(rng)))
        table = Table(snapshot.qi[:, order], snapshot.sensitive[order], snapshot.schema, extent)
        group[order], groups = mondrian_classes(table, self.principle(), self.cut_options())
        if snapshot.size and not groups:
            raise Unpublishable(self._refusal(np.bincount(snapshot.sensitive)))
        failed = int(np.count_nonzero(group == NO_CLASS))
        reason = (
            f"failing: their group has fewer than ell = {self.ell} values ({self.diversity}); a larger k makes it rarer"
        )
        return MondrianPlan(
            group=group,
            groups=groups,
            counterfeits=Counterfeits.none(),
            withheld={reason: failed} if failed else {},
            extent=extent,
        )

    def in_memory_only(self) -> str:
        """The parameters that are computed in memory only; empty if a release can be computed in parts."""
        needs = {
            f"cuts: {self.cuts}": self.cuts != "strict",
            f"cuts_by: {self.cuts_by}": self.cuts_by == "quasi-identifiers",
            f"failing: {self.failing}": self.failing != "merge",
        }
        return " and ".join(option for option, applies in needs.items() if applies)

    def new_row_memory(self, attributes: int) -> int:  # noqa: ARG002  all rows are in tasks
        """The bytes that a new person takes in memory before there are groups: none."""
        return 0

    def release_in_parts(
        self, snapshot: Snapshot, state: MondrianState, rng: np.random.Generator, engine: Engine
    ) -> tuple[PartitionedRelease, MondrianState]:
        """The release that `plan` leads to, computed in tasks over columns on disk, and the state after it.

        Raises: Unpublishable if the table as a whole does not satisfy the principle.
        """
        fresh_key(rng)  # the order of rows matters for relaxed cuts alone, and the key is drawn nevertheless
        surveyed = survey_rows(snapshot, engine)
        criterion = criterion_of_counts(surveyed.values, self.principle())
        if snapshot.size and not satisfies(surveyed.values, snapshot.size, criterion):
            raise Unpublishable(self._refusal(surveyed.values))
        extent = extent_of_extremes(surveyed.extremes, snapshot.schema, state.extent)
        made = cut_in_parts(surveyed, criterion, self.cut_options(), extent, rng, engine)
        return made, MondrianState(state.time + 1, extent)

    def advance(self, state: MondrianState, snapshot: Snapshot, plan: MondrianPlan) -> MondrianState:  # noqa: ARG002
        """The state after one more release."""
        return MondrianState(state.time + 1, plan.extent)

    def _refusal(self, counts: Int64) -> str:
        """Why a table with so many rows of each value cannot be published."""
        return (
            f"the table as a whole fails k = {self.k} and ell = {self.ell} ({self.diversity}): it has "
            f"{int(counts.sum()):,} rows and {int((counts > 0).sum())} sensitive values, the most frequent "
            f"in {int(counts.max()):,} rows; a smaller k or ell would work"
        )
