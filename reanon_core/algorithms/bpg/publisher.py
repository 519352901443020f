"""The BPG publisher: any release of Mondrian, corrected so that it is safe together with all before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.algorithms.bpg import correcting
from reanon_core.algorithms.bpg.partitioning import partitioned
from reanon_core.algorithms.bpg.remembering import remembered
from reanon_core.algorithms.bpg.settling import BY_ATOM, BY_CLASS, Settled, settle
from reanon_core.algorithms.bpg.state import BpgState
from reanon_core.algorithms.bpg.withholding import refusal, withheld_by_reason
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.kernels.uniform_order import uniform_order
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.lengths import grown_extent, length_scales
from reanon_core.recoding.mondrian import Diversity, Heuristic, Principle

Over = Literal["mondrian"]
Cuts = Literal["strict", "relaxed"]
Variant = Literal["union", "middle", "nodirty", "ghost"]
Pool = Literal["alive", "stored"]
Reject = Literal["atom", "class"]
Groups = Literal["atoms", "classes"]
VARIANTS = {"union": correcting.UNION, "middle": correcting.MIDDLE, "nodirty": correcting.NODIRTY}
OPTIONS = {"over": Over, "heuristic": Heuristic, "cuts": Cuts, "variant": Variant, "pool": Pool, "reject": Reject}


@dataclass(frozen=True, eq=False, kw_only=True)
class BpgPlan(Plan):
    """A plan that also knows each row's piece and place in the state, for the state that follows."""

    piece: Int32  # [n] -1 for withheld rows
    entry: Int32  # [n] -1 for whoever was never published
    extent: Int64  # [2, d]


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

    k: int
    """The least number of people whom all releases together leave alike."""
    ell: int = 1
    """The least number of sensitive values published of them in each release that shows them."""
    diversity: Diversity = "distinct"
    """How values are counted: distinct is the only form that stays true for every larger set."""
    over: Over = "mondrian"
    """The partitioner below."""
    heuristic: Heuristic = "width"
    """Which attribute the partitioner cuts first."""
    cuts: Cuts = "strict"
    """Whether people with the same value stay on one side of a cut (strict), or may be divided (relaxed)."""
    variant: Variant = "middle"
    """How a piece that fails is extended from its neighbourhood: by all, by as few as needed, or not (nodirty)."""
    pool: Pool = "alive"
    """Whom a piece may be extended by: people who are still in the table."""
    reject: Reject = "atom"
    """What a piece that cannot be corrected takes with it: its own people only (atom), or its whole class."""
    max_dirty: float = 0.5
    """The greatest share of a piece that was not asked for. A table is asked for whole, so this never binds yet."""
    reserve: int = 5
    """How many times k people a group begins with, and keeps when it is divided, so that some may leave later."""
    groups: Groups = "atoms"
    """What a published group is: one piece, or all pieces of a class under one wider box."""

    def __post_init__(self) -> None:
        """Hold the ranges of the parameters."""
        problems = [
            Problem(name, f"be a whole number of at least {least}", str(value))
            for name, value, least in (("k", self.k, 2), ("ell", self.ell, 1), ("reserve", self.reserve, 1))
            if isinstance(value, bool) or not isinstance(value, int) or value < least
        ]
        for option, allowed in {**OPTIONS, "groups": Groups}.items():
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        if not 0 <= self.max_dirty <= 1:
            problems.append(Problem("max_dirty", "be between 0 and 1", str(self.max_dirty)))
        require([*problems, *self._not_yet()], InvalidParameter)

    def _not_yet(self) -> list[Problem]:
        """What would break the promise, or needs rows that are not in the table."""
        problems = []
        if self.diversity != "distinct":
            rule = "be distinct with bpg: a larger set of people can have a more frequent value, so unions are not safe"
            problems.append(Problem("diversity", rule, str(self.diversity)))
        outside = "it publishes people who are not in the table, and comes with select:"
        if self.pool == "stored":
            problems.append(Problem("pool", "be alive", "stored", outside))
        if self.variant == "ghost":
            problems.append(Problem("variant", "be one of union, middle, nodirty", "ghost", outside))
        return problems

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
        """Partition the table inside each signature, then correct every piece of every class.

        Raises: Unpublishable if nobody can be published; nothing is changed.
        """
        extent = grown_extent(snapshot, state.extent)
        entry = _entries(snapshot, state)
        class_of, classes = partitioned(
            snapshot,
            entry,
            state,
            extent,
            # A relaxed cut divides people with the same value by their order, so the order must be a secret one.
            uniform_order(siphash_words(snapshot.persons, fresh_key(rng))),
            Principle(k=self.k * self.reserve, ell=self.ell),
            heuristic=self.heuristic,
            strict=self.cuts == "strict",
        )
        settled = settle(
            snapshot,
            entry,
            state,
            class_of,
            classes,
            length_scales(extent[1] - extent[0], 1),
            k=self.k,
            ell=self.ell,
            reserve=self.k * self.reserve,
            variant=VARIANTS[self.variant],
            reject=BY_CLASS if self.reject == "class" else BY_ATOM,
        )
        withheld = withheld_by_reason(settled.reason, k=self.k, ell=self.ell)
        if snapshot.size and not len(settled.class_of_piece):
            raise Unpublishable(refusal(withheld, snapshot.size))
        group, groups = _grouped(settled, by_class=self.groups == "classes")
        return BpgPlan(
            group=group,
            groups=groups,
            counterfeits=Counterfeits.none(),
            withheld=withheld,
            piece=settled.piece,
            entry=entry,
            extent=extent,
        )

    def advance(self, state: BpgState, snapshot: Snapshot, plan: BpgPlan) -> BpgState:
        """Every published piece is a neighbourhood of its own from now on."""
        return remembered(state, snapshot, plan.entry, plan.piece, plan.extent)


def _entries(snapshot: Snapshot, state: BpgState) -> Int32:
    """Where each person of the table stands in the state, -1 for whoever was never published."""
    place = state.persons.searchsorted(snapshot.persons)
    found = place < len(state.persons)
    found[found] = state.persons[place[found]] == snapshot.persons[found]
    return np.where(found, place, -1).astype(np.int32)


def _grouped(settled: Settled, *, by_class: bool) -> tuple[Int32, int]:
    """The group of each row: its piece, or its piece's class."""
    if not by_class:
        return settled.piece, len(settled.class_of_piece)
    first = np.diff(settled.class_of_piece, prepend=-1) != 0
    number = np.append(np.cumsum(first) - 1, -1).astype(np.int32)  # the last one is for withheld rows
    return number[settled.piece], int(first.sum())
