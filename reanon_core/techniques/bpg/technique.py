"""The BPG technique: any release of Mondrian, corrected so that it is safe together with all before it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.kernels.uniform_order import uniform_order
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import TABLE, Snapshot
from reanon_core.protocols import Declaration, Promise
from reanon_core.recoding.lengths import grown_extent, length_scales
from reanon_core.recoding.mondrian import Diversity, Heuristic, Principle
from reanon_core.techniques.bpg import piece_correction
from reanon_core.techniques.bpg.atom_update import remembered
from reanon_core.techniques.bpg.initial_classes import LEFT_OUT, Partitioner, classes_of, partitioned
from reanon_core.techniques.bpg.listing_1 import BY_ATOM, BY_CLASS, settle
from reanon_core.techniques.bpg.record_pool import Drawn, published_only, table_alone, with_those_who_left
from reanon_core.techniques.bpg.split_tally import Rows, Rules
from reanon_core.techniques.bpg.state import BpgState
from reanon_core.techniques.bpg.withheld_reasons import about_ghosts, attention, refusal, withheld_by_reason

Over = Literal["mondrian"]
Cuts = Literal["strict", "relaxed"]
Variant = Literal["union", "middle", "nodirty", "ghost"]
Pool = Literal["alive", "stored"]
Reject = Literal["atom", "class"]
Groups = Literal["atoms", "classes"]
Auto = Literal["auto"]
MOST_RESERVE = 20
"""The greatest reserve that is chosen by itself; docs/techniques/bpg.md has the curves."""
VARIANTS = {
    "union": piece_correction.UNION,
    "middle": piece_correction.MIDDLE,
    "nodirty": piece_correction.NODIRTY,
    "ghost": piece_correction.GHOST,
}
OPTIONS = {"heuristic": Heuristic, "cuts": Cuts, "variant": Variant, "pool": Pool, "reject": Reject, "groups": Groups}


@dataclass(frozen=True, eq=False, kw_only=True)
class BpgPlan(Plan):
    """A plan that also knows each row's piece and place in the state, for the state that follows."""

    piece: Int32  # [n] -1 for withheld rows
    entry: Int32  # [n] -1 for whoever was never published
    extent: Int64  # [2, d]
    met: int
    """Which walls the series has met, with this release."""
    reserve: int


@dataclass(frozen=True, kw_only=True)
class Bpg:
    """Whoever compares any releases finds nobody among fewer than k people or ell values.

    Paper: [BPG] Definition 3; the post-processing algorithm, Listing 1, reconstructed.
    """

    name: ClassVar[str] = "bpg"
    changeable: ClassVar[frozenset[str]] = frozenset(
        {"over", "heuristic", "cuts", "variant", "pool", "reject", "max_dirty", "reserve", "groups"}
    )
    """The parameters that may change between releases: the paper asks only that the principle stays."""
    caution: ClassVar[str] = (
        "bpg withholds people where neighbours left the table, more with every release that has deletions; "
        "a larger reserve from the first release on withholds fewer"
    )

    declaration: ClassVar[Declaration] = Declaration(
        weakest={"k": 2, "ell": 2}, answers_queries=True, function_parameters=frozenset({"over"})
    )

    k: int
    """The least number of people whom all releases together leave alike."""
    ell: int = 1
    """The least number of sensitive values published of them in each release that shows them."""
    diversity: Diversity = "distinct"
    """How values are counted: distinct is the only form that stays true for every larger set."""
    t: float | None = None
    """t-closeness: not with bpg, because it is not monotonous."""
    over: Over | Partitioner = "mondrian"
    """The partitioner below: mondrian, or a function of yours as module:function."""
    heuristic: Heuristic = "width"
    """Which attribute the partitioner cuts first."""
    cuts: Cuts = "strict"
    """Whether people with the same value stay on one side of a cut (strict), or may be divided (relaxed)."""
    variant: Variant = "middle"
    """How a piece that fails is extended from its neighbourhood: by all (union), by as few as needed (middle), not at
    all (nodirty), or by as few as needed with invented rows for people who left (ghost)."""
    pool: Pool = "alive"
    """Whom a piece may be extended by: people in the table (alive), or also those who left, as last published (stored).
    The variant ghost invents the latter instead."""
    reject: Reject = "atom"
    """What a piece that cannot be corrected takes with it: its own people only (atom), or its whole class."""
    max_dirty: float = 0.5
    """The greatest share of a published piece that nobody asked for: dirty records and ghosts."""
    reserve: int | Auto = "auto"
    """How many times k people a group begins with, and keeps when it is divided, so that some may leave later. By
    default the cube root of people / k, at most 20: 3 for 400 people and k = 10, 20 from 80,000 on."""
    groups: Groups = "atoms"
    """What a published group is: one piece, or all pieces of a class under one wider box."""

    def __post_init__(self) -> None:
        """Hold the ranges of the parameters."""
        problems = [
            Problem(name, f"be a whole number of at least {least}", str(value))
            for name, value, least in (("k", self.k, 2), ("ell", self.ell, 1))
            if isinstance(value, bool) or not isinstance(value, int) or value < least
        ]
        for option, allowed in OPTIONS.items():
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        if self.reserve != "auto" and (type(self.reserve) is not int or self.reserve < 1):
            problems.append(Problem("reserve", "be auto, or a whole number of at least 1", str(self.reserve)))
        if not callable(self.over) and self.over not in get_args(Over):
            rule = f"be {', '.join(get_args(Over))}, or a partitioner (in series.yaml as module:function)"
            problems.append(Problem("over", rule, str(self.over)))
        if (
            isinstance(self.max_dirty, bool)
            or not isinstance(self.max_dirty, int | float)
            or not 0 <= self.max_dirty <= 1
        ):
            problems.append(Problem("max_dirty", "be a number between 0 and 1", str(self.max_dirty)))
        require([*problems, *self._not_monotonous()], InvalidParameter)

    def _not_monotonous(self) -> list[Problem]:
        """Principles that can hold for some people and fail for more: to add people to a piece need not help it.

        Paper: [BPG] Definition 3.
        """
        instead = "technique mondrian has it, and `checks:` can ask for it release by release"
        problems = []
        if self.diversity != "distinct":
            rule = "be distinct with bpg: who is added to a piece can make a value too frequent (it is not monotonous)"
            problems.append(Problem("diversity", rule, str(self.diversity), instead))
        if self.t is not None:
            rule = "be left out with bpg: who is added to a piece can make it less close (it is not monotonous)"
            problems.append(Problem("t", rule, str(self.t), instead))
        return problems

    def promises(self) -> tuple[Promise, ...]:
        """The principle for every group, and for every atom: people whom all releases together leave alike."""
        diversity = (Promise("l-diversity", {"ell": self.ell}),) if self.ell > 1 else ()
        return (
            Promise("k-anonymity", {"k": self.k}),
            *diversity,
            Promise("atoms", {"k": self.k, "ell": self.ell}),
        )

    def accepts(self, schema: Schema) -> None:
        """Refuse columns published as they are: a group's rows could be told apart by them.

        Raises: InvalidSchema.
        """
        if schema.other:
            shown = ", ".join(schema.other)
            rule = "be empty with bpg: a value published as it is tells the rows of a group apart"
            raise InvalidSchema(Problem("other", rule, shown, "make it a quasi-identifier, or leave it out"))

    def initial_state(self) -> BpgState:
        """Nobody was published yet."""
        return BpgState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> BpgState:
        """The state that was packed."""
        return BpgState.restored(packed)

    def plan(self, snapshot: Snapshot, state: BpgState, rng: np.random.Generator) -> BpgPlan:
        """Partition those who are asked for, then correct every piece of every class.

        Raises: Unpublishable if nobody can be published; nothing is changed.
        """
        extent, reserve = grown_extent(snapshot, state.extent), self._reserve(snapshot, state)
        drawn = table_alone(snapshot, state)
        class_of, classes = self._classes(drawn, state, extent, reserve, rng)
        if self.pool == "stored" or self.variant == "ghost":
            everybody = with_those_who_left(drawn, state, self.ell, rng, invent=self.variant == "ghost")
            class_of, drawn = _spread(class_of, drawn, everybody), everybody
        rules = Rules(
            k=self.k,
            ell=self.ell,
            reserve=self.k * reserve,
            variant=VARIANTS[self.variant],
            reject=BY_CLASS if self.reject == "class" else BY_ATOM,
            max_dirty=float(self.max_dirty),
            values=len(snapshot.schema.sensitive.values),
        )
        settled = settle(_rows(drawn, class_of, extent), classes, drawn.entry, state, rules)
        left_out = (class_of == LEFT_OUT) & (settled.piece < 0)  # a neighbour may have taken them in
        reason = np.where(left_out, piece_correction.LEFT_OUT, settled.reason)[drawn.snapshot.selection]
        withheld = withheld_by_reason(reason, k=self.k, ell=self.ell, max_dirty=self.max_dirty)
        if len(reason) and not len(settled.class_of_piece):
            raise Unpublishable(refusal(withheld, len(reason)))
        notes, met = attention(reason, withheld, state.met, k=self.k, max_dirty=self.max_dirty)
        drawn, piece = published_only(drawn, settled, state, rng)
        notes += about_ghosts(int(np.count_nonzero(drawn.snapshot.invented)))
        group, groups = _grouped(piece, settled.class_of_piece, by_class=self.groups == "classes")
        return BpgPlan(
            group=group,
            groups=groups,
            counterfeits=Counterfeits.none(),
            withheld=withheld,
            notes=notes,
            drawn=drawn.snapshot,
            piece=piece,
            entry=drawn.entry,
            extent=extent,
            met=met,
            reserve=reserve,
        )

    def advance(self, state: BpgState, snapshot: Snapshot, plan: BpgPlan) -> BpgState:
        """Every published piece is a neighbourhood of its own from now on."""
        drawn = Drawn(plan.drawn or snapshot, plan.entry)
        return remembered(state, drawn, plan.piece, extent=plan.extent, met=plan.met, reserve=plan.reserve)

    def _reserve(self, snapshot: Snapshot, state: BpgState) -> int:
        """The reserve of this release. The automatic one never shrinks: groups that were divided cannot be joined."""
        if self.reserve != "auto":
            return self.reserve
        people = int(np.count_nonzero(snapshot.selection))
        return max(1, state.reserve, min(MOST_RESERVE, round(math.cbrt(people / self.k))))

    def _classes(
        self, drawn: Drawn, state: BpgState, extent: Int64, reserve: int, rng: np.random.Generator
    ) -> tuple[Int32, int]:
        """The class of each row, LEFT_OUT for whoever is not asked for, and the number of classes."""
        snapshot = drawn.snapshot
        selected = np.flatnonzero(snapshot.selection)
        answer = Drawn(snapshot.answer(), drawn.entry[selected])
        if callable(self.over):
            found, classes = classes_of(self.over, _name_of(self.over), answer.snapshot, rng)
        else:
            found, classes = partitioned(
                answer,
                state,
                extent,
                # A relaxed cut divides people with the same value by their order, so the order must be a secret one.
                uniform_order(siphash_words(answer.snapshot.persons, fresh_key(rng))),
                Principle(k=self.k * reserve, ell=self.ell),
                heuristic=self.heuristic,
                strict=self.cuts == "strict",
            )
        if len(selected) == snapshot.size:
            return found, classes
        class_of = np.full(snapshot.size, LEFT_OUT, dtype=np.int32)
        class_of[selected] = found
        return class_of, classes


def _rows(drawn: Drawn, class_of: Int32, extent: Int64) -> Rows:
    """The rows as the kernels take them."""
    snapshot = drawn.snapshot
    rank = np.where(snapshot.selection, 0, 1).astype(np.int8)
    if snapshot.origin is not None:
        rank[snapshot.origin != TABLE] = 2
    scale = length_scales(extent[1] - extent[0], 1)
    return Rows(class_of, snapshot.sensitive, snapshot.qi, scale, rank)


def _spread(class_of: Int32, table: Drawn, everybody: Drawn) -> Int32:
    """The classes of the table's rows where there are more rows; those have no class."""
    spread = np.full(everybody.snapshot.size, LEFT_OUT, dtype=np.int32)
    spread[everybody.snapshot.persons.searchsorted(table.snapshot.persons)] = class_of
    return spread


def _grouped(piece: Int32, class_of_piece: Int32, *, by_class: bool) -> tuple[Int32, int]:
    """The group of each row: its piece, or its piece's class."""
    if not by_class:
        return piece, len(class_of_piece)
    first = np.diff(class_of_piece, prepend=-1) != 0
    number = np.append(np.cumsum(first) - 1, -1).astype(np.int32)  # the last one is for withheld rows
    return number[piece], int(first.sum())


def _name_of(partitioner: Partitioner) -> str:
    return getattr(partitioner, "__qualname__", type(partitioner).__name__)
