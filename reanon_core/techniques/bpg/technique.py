"""The BPG technique: a release of any partitioner, corrected so that it is safe together with all before it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.kernels.orders import uniform_order
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import WITHHELD, Counterfeits, Plan
from reanon_core.model.schema import TELLS_APART, Schema
from reanon_core.model.snapshot import TABLE, Snapshot
from reanon_core.protocols import Declaration, Fit, Promise
from reanon_core.recoding.attribute_scales import grown_extent, length_scales
from reanon_core.recoding.mondrian import CutOptions, CutsBy, Diversity, Heuristic, Principle
from reanon_core.techniques.bpg import listing_1
from reanon_core.techniques.bpg.atom_update import update_atoms
from reanon_core.techniques.bpg.initial_classes import (
    NO_CLASS,
    MondrianOptions,
    Partitioner,
    classes_by_function,
    mondrian_by_signature,
)
from reanon_core.techniques.bpg.listing_1 import NO_PIECE, REJECT_ATOM, REJECT_CLASS, correct_classes
from reanon_core.techniques.bpg.notes import (
    note_on_ghosts,
    note_on_survival,
    notes_on_withheld,
    refusal,
    withheld_by_reason,
)
from reanon_core.techniques.bpg.record_pool import RecordPool, pool_with_departed, published_records, table_pool
from reanon_core.techniques.bpg.split_tally import IN_TABLE, NOT_IN_TABLE, SELECTED, Rows, Rules
from reanon_core.techniques.bpg.state import BpgState

FIT = Fit(
    promise="no comparison of releases leaves fewer than k people or ell values; it bounds no probability",
    parameters=lambda among: {"k": among, "ell": among},
    rations_new_rows=False,
    values_change={},
)
"""For which tables BPG is made."""
NOT_MONOTONOUS = {
    "diversity": "be distinct with bpg: adding people can make a value too frequent (it is not monotonous)",
    "t": "be left out with bpg: adding people can increase the distance (it is not monotonous)",
}
INSTEAD = "use the technique mondrian, or list the check under `checks:` to judge each release by itself"
Over = Literal["mondrian"]
Cuts = Literal["strict", "relaxed"]
Variant = Literal["union", "middle", "nodirty", "ghost"]
Pool = Literal["alive", "stored"]
Reject = Literal["atom", "class"]
Groups = Literal["atoms", "classes"]
Auto = Literal["auto"]
MOST_RESERVE = 20
"""The greatest reserve that `auto` chooses; docs/techniques/bpg.md has the curves."""
VARIANTS = {
    "union": listing_1.UNION,
    "middle": listing_1.MIDDLE,
    "nodirty": listing_1.NODIRTY,
    "ghost": listing_1.GHOST,
}
OPTIONS = {
    "heuristic": Heuristic,
    "cuts": Cuts,
    "cuts_by": CutsBy,
    "variant": Variant,
    "pool": Pool,
    "reject": Reject,
    "groups": Groups,
}


def monotonicity_problems(*, diversity: str, t: float | None) -> list[Problem]:
    """One problem for each parameter that makes the principle not monotonous."""
    given = {"diversity": diversity, "t": str(t)}
    return [
        Problem(name, NOT_MONOTONOUS[name], given[name], INSTEAD) for name in not_monotonous(diversity=diversity, t=t)
    ]


def not_monotonous(*, diversity: str, t: float | None) -> tuple[str, ...]:
    """The parameters of a principle that can hold for some people and fail for more.

    A monotonous principle that holds for a set of people holds for every larger set. k people and ell distinct values
    are monotonous. A bound on the most frequent value and t-closeness are not, so adding people to a piece need not
    help it.

    Paper: [BPG] Definition 3.
    """
    return ("diversity",) * (diversity != "distinct") + ("t",) * (t is not None)


@dataclass(frozen=True, eq=False, kw_only=True)
class BpgPlan(Plan):
    """A plan that also has each row's piece and place in the state, for the state that follows."""

    piece: Int32  # [n] -1 for withheld rows
    state_row: Int32  # [n] -1 for a person who was never published
    extent: Int64  # [2, d]
    explained: int
    """The causes of withholding that have been explained, with this release."""
    reserve: int
    class_of: Int32  # [t] the class of each row of the table, before it is corrected
    by_order: Int64  # [b] people about whom the order of pseudonyms may have decided


def groups_of_pieces(piece: Int32, class_of_piece: Int32, *, by_class: bool) -> tuple[Int32, int]:
    """The group of each row: its piece, or its piece's class."""
    if not by_class:
        return piece, len(class_of_piece)
    first = np.diff(class_of_piece, prepend=-1) != 0
    number = np.append(np.cumsum(first) - 1, WITHHELD).astype(np.int32)  # the last one is for withheld rows
    return number[piece], int(first.sum())


@dataclass(frozen=True, kw_only=True)
class Bpg:
    """No comparison of releases leaves an adversary with fewer than k people or ell values for a person.

    Paper: [BPG] Listing 1, reconstructed: the post-processing algorithm.
    """

    name: ClassVar[str] = "bpg"
    changeable: ClassVar[frozenset[str]] = frozenset({"over", *OPTIONS, "max_dirty", "together", "reserve"})
    """The parameters that may change between releases: the paper only requires the same principle."""
    caution: ClassVar[str] = (
        "bpg withholds people when members of their atom leave the table, more with every release that has deletions; "
        "a larger reserve from the first release on withholds fewer"
    )
    declaration: ClassVar[Declaration] = Declaration(
        weakest={"k": 2, "ell": 2},
        answers_queries=True,
        function_parameters=frozenset({"over"}),
        row_memory=210,
        fit=FIT,
    )

    k: int
    """The least number of people in an atom: people whom all releases together do not tell apart."""
    ell: int = 1
    """The least number of sensitive values of an atom in each release that publishes it."""
    diversity: Diversity = "distinct"
    """How values are counted: only `distinct` is monotonous, so no other form is accepted."""
    t: float | None = None
    """t-closeness is not accepted, because it is not monotonous."""
    over: Over | Partitioner = "mondrian"
    """The partitioner whose classes are corrected: mondrian, or your own function as module:function."""
    heuristic: Heuristic = "width"
    """Which attribute the partitioner cuts first."""
    cuts: Cuts = "strict"
    """Whether people with the same value stay on one side of a cut (strict), or may be divided (relaxed)."""
    cuts_by: CutsBy = "principle"
    """What decides whether the partitioner cuts: the principle on both sides; quasi-identifiers and k times the reserve
    alone, where classes that fail are merged; or the counts of the values before the cut, where few classes fail."""
    variant: Variant = "middle"
    """How a piece that fails is extended by members of its atom: by all (union), by as few as needed (middle), not at
    all (nodirty), or by as few as needed with invented rows for people who left (ghost)."""
    pool: Pool = "alive"
    """Who may extend a piece: people in the table (alive), or also people who left, as last published (stored). The
    variant ghost invents rows for the latter instead."""
    reject: Reject = "atom"
    """What is withheld with a piece that cannot be corrected: its own people only (atom), or its whole class."""
    max_dirty: float = 0.5
    """The greatest share of a published piece that is not selected: dirty records and ghosts."""
    together: float = 0.0
    """Up to which share of dirty records an atom is published whole, though those of it who are not selected, or who
    left, could be separated. A long series with pool: stored keeps more people with 0.4."""
    reserve: int | Auto = "auto"
    """How many times k people a group starts with, and keeps when it is divided, so that some may leave later. The
    default is the cube root of people / k, at most 20: 3 for 400 people and k = 10, 20 from 80,000 people on."""
    groups: Groups = "atoms"
    """What a published group is: one piece (atoms), or all pieces of a class under one wider box (classes)."""

    def __post_init__(self) -> None:
        """Check the ranges of the parameters."""
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
        for option, share in (("max_dirty", self.max_dirty), ("together", self.together)):
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                problems.append(Problem(option, "be a number between 0 and 1", str(share)))
        require([*problems, *monotonicity_problems(diversity=self.diversity, t=self.t)], InvalidParameter)

    def promises(self) -> tuple[Promise, ...]:
        """The principle for every group, and for every atom: people whom all releases together leave alike."""
        diversity = (Promise("l-diversity", {"ell": self.ell}),) if self.ell > 1 else ()
        return (
            Promise("k-anonymity", {"k": self.k}),
            *diversity,
            Promise("atoms", {"k": self.k, "ell": self.ell}),
        )

    def accepts(self, schema: Schema) -> None:
        """Reject columns that are published as they are: they would tell the rows of a group apart.

        Raises: InvalidSchema.
        """
        require(schema.other_problems(self.name, TELLS_APART), InvalidSchema)

    def initial_state(self) -> BpgState:
        """The state before the first release."""
        return BpgState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> BpgState:
        """The state that was packed."""
        return BpgState.restored(packed)

    def plan(self, snapshot: Snapshot, state: BpgState, rng: np.random.Generator) -> BpgPlan:
        """The corrected pieces; with the first release comes a note on how long its groups will last.

        Raises: Unpublishable if no one can be published; nothing is changed.
        """
        plan = self.corrected_plan(snapshot, state, rng)
        if state.time or self.pool == "stored" or self.variant == "ghost":
            return plan
        people, pieces = int(np.count_nonzero(plan.piece != NO_PIECE)), int(plan.piece.max(initial=NO_PIECE)) + 1
        return replace(plan, notes=(*plan.notes, *note_on_survival(people, pieces, self.k)))

    def corrected_plan(self, snapshot: Snapshot, state: BpgState, rng: np.random.Generator) -> BpgPlan:
        """Partition the selected people, then correct every piece of every class.

        Raises: Unpublishable if no one can be published; nothing is changed.
        """
        extent, reserve = grown_extent(snapshot, state.extent), self.reserve_of(snapshot, state)
        pool = table_pool(snapshot, state)
        class_of, classes = self._classes(pool, state, extent, reserve, rng)
        class_in_table = class_of
        if self.pool == "stored" or self.variant == "ghost":
            larger = pool_with_departed(pool, state, self.ell, rng, invent=self.variant == "ghost")
            class_of, pool = _spread(class_of, pool, larger), larger
        rules = Rules(
            k=self.k,
            ell=self.ell,
            reserve=self.k * reserve,
            variant=VARIANTS[self.variant],
            reject=REJECT_CLASS if self.reject == "class" else REJECT_ATOM,
            max_dirty=float(self.max_dirty),
            together=float(self.together),
            values=len(snapshot.schema.sensitive.values),
        )
        pieces = correct_classes(_rows(pool, class_of, extent), classes, pool.state_row, state, rules)
        by_order = pool.snapshot.persons[pieces.by_order]
        left_out = (class_of == NO_CLASS) & (pieces.piece == NO_PIECE)  # a piece may have been extended by them
        outcome = np.where(left_out, listing_1.NO_CLASS, pieces.outcome)[pool.snapshot.selection]
        withheld = withheld_by_reason(outcome, k=self.k, ell=self.ell, max_dirty=self.max_dirty)
        if len(outcome) and not len(pieces.class_of_piece):
            raise Unpublishable(refusal(withheld, len(outcome)))
        notes, explained = notes_on_withheld(outcome, withheld, state.explained, k=self.k, max_dirty=self.max_dirty)
        pool, piece = published_records(pool, pieces, state, rng)
        notes += note_on_ghosts(int(np.count_nonzero(pool.snapshot.invented)))
        group, groups = groups_of_pieces(piece, pieces.class_of_piece, by_class=self.groups == "classes")
        return BpgPlan(
            group=group,
            groups=groups,
            counterfeits=Counterfeits.none(),
            withheld=withheld,
            notes=notes,
            record_pool=pool.snapshot,
            piece=piece,
            state_row=pool.state_row,
            extent=extent,
            explained=explained,
            reserve=reserve,
            class_of=class_in_table,
            by_order=by_order,
        )

    def advance(self, state: BpgState, snapshot: Snapshot, plan: BpgPlan) -> BpgState:
        """The state in which every published piece is an atom of its own."""
        pool = RecordPool(plan.record_pool or snapshot, plan.state_row)
        return update_atoms(state, pool, plan.piece, extent=plan.extent, explained=plan.explained, reserve=plan.reserve)

    def mondrian_options(self, extent: Int64, reserve: int) -> MondrianOptions:
        """How Mondrian cuts with this reserve."""
        failing: Literal["merge", "keep"] = "keep" if self.cuts_by == "counts" else "merge"  # Listing 1 corrects them
        strict = self.cuts == "strict"
        cuts = CutOptions(heuristic=self.heuristic, strict=strict, by=self.cuts_by, failing=failing)
        return MondrianOptions(extent, Principle(k=self.k * reserve, ell=self.ell), cuts)

    def reserve_of(self, snapshot: Snapshot, state: BpgState) -> int:
        """The reserve of this release. `auto` never lowers it, because atoms can be divided but never joined."""
        if self.reserve != "auto":
            return self.reserve
        people = int(np.count_nonzero(snapshot.selection))
        return max(1, state.reserve, min(MOST_RESERVE, round(math.cbrt(people / self.k))))

    def _classes(
        self, table: RecordPool, state: BpgState, extent: Int64, reserve: int, rng: np.random.Generator
    ) -> tuple[Int32, int]:
        """The class of each row, NO_CLASS for people who are not selected, and the number of classes."""
        snapshot = table.snapshot
        selected = np.flatnonzero(snapshot.selection)
        answer = RecordPool(snapshot.answer(), table.state_row[selected])
        if callable(self.over):
            found, classes = classes_by_function(self.over, _name_of(self.over), answer.snapshot, rng)
        else:
            # A relaxed cut divides people with the same value by their order, so the order must be a secret one.
            order = uniform_order(siphash_words(answer.snapshot.persons, fresh_key(rng)))
            found, classes = mondrian_by_signature(answer, state, order, self.mondrian_options(extent, reserve))
        if len(selected) == snapshot.size:
            return found, classes
        class_of = np.full(snapshot.size, NO_CLASS, dtype=np.int32)
        class_of[selected] = found
        return class_of, classes


def _rows(pool: RecordPool, class_of: Int32, extent: Int64) -> Rows:
    """The rows as the kernels take them."""
    snapshot = pool.snapshot
    rank = np.where(snapshot.selection, SELECTED, IN_TABLE).astype(np.int8)
    if snapshot.origin is not None:
        rank[snapshot.origin != TABLE] = NOT_IN_TABLE
    return Rows(class_of, snapshot.sensitive, snapshot.qi, length_scales(extent[1] - extent[0], 1), rank)


def _spread(class_of: Int32, table: RecordPool, larger: RecordPool) -> Int32:
    """The classes of the table's rows in a larger pool; the other rows have none."""
    spread = np.full(larger.snapshot.size, NO_CLASS, dtype=np.int32)
    spread[larger.snapshot.persons.searchsorted(table.snapshot.persons)] = class_of
    return spread


def _name_of(partitioner: Partitioner) -> str:
    return getattr(partitioner, "__qualname__", type(partitioner).__name__)
