"""The JS-reduce technique: see the releases as the adversary will, and group people who then look alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, cast, get_args

import numpy as np

from reanon_core.inference.bayes.beliefs import Beliefs, Mode
from reanon_core.inference.bayes.posteriors import posteriors
from reanon_core.inference.bayes.transition_counts import Counted, needs_counting, resolved
from reanon_core.model.arrays import Float64, Int32, Int64, frozen
from reanon_core.model.background import Automaton, Background
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Promise
from reanon_core.recoding.lengths import grown_extent
from reanon_core.techniques.js_reduce.generalization import Distance, Leftovers, Thresholds, generalize
from reanon_core.techniques.js_reduce.state import JsReduceState

Engine = Literal["omega", "sum", "sinkhorn"]


@dataclass(frozen=True, eq=False, kw_only=True)
class JsReducePlan(Plan):
    """A plan that also carries what the adversary expects, for the beliefs that follow."""

    extent: Int64  # [2, d]
    row_class: Int32  # [n]
    expected: Float64  # [n, values]
    beliefs: Beliefs
    automaton: Automaton
    counted: Counted | None


@dataclass(frozen=True, kw_only=True)
class JsReduce:
    """Every group has k rows or more, values as in the table, and members of whom an adversary expects much the same.

    Paper: [RPB12] Algorithm 1.
    """

    name: ClassVar[str] = "js-reduce"
    changeable: ClassVar[frozenset[str]] = frozenset({"max_run"})
    caution: ClassVar[str] = (
        "js-reduce limits what an adversary gains who expects values to follow each other as the knowledge says; "
        "it does not bound anybody's certainty (docs/guarantees.md)"
    )

    declaration: ClassVar[Declaration] = Declaration(weakest={"k": 2, "t": 0.9, "j": 2.0}, needs_knowledge=True)

    k: int
    """The least number of rows in a group."""
    t: float
    """The greatest distance of a group's values from those of the whole table (t-closeness)."""
    j: float
    """The greatest Jensen-Shannon divergence, in bits, of what is expected of a group's members before the release."""
    max_run: int = 200
    """How many rows along the curve are tried as one group before its first is given up; 0: all, as in the paper."""
    leftovers: Leftovers = "merge"
    """Rows that fit into no group: withhold them, let them join a group nearby that stays fit, or relax t and j."""
    slack: float = 0.25
    """relax: by which share t and j are widened for the rows that were left over."""
    ell: int = 2
    """The least number of different sensitive values in a group; 1 as in the paper."""
    distance: Distance = "equal"
    """How far values are from each other, for t: all the same, by their declared order, or by their taxonomy."""
    posterior: Engine = "omega"
    """How an adversary is taken to divide a group's values among its members."""
    mode: Mode = "product"
    """Whether what is known of a person's releases is combined as if they were independent (product), or coherently."""
    background: Background | None = field(default=None, init=False, repr=False, compare=False)
    """The knowledge the adversary is taken to have; None: counted in the original tables. Given by `informed`."""

    def __post_init__(self) -> None:
        """Hold the ranges of the parameters."""
        problems = [
            Problem(name, f"be a whole number of at least {least}", str(value))
            for name, value, least in (("k", self.k, 2), ("ell", self.ell, 1))
            if isinstance(value, bool) or not isinstance(value, int) or value < least
        ]
        if not _between(self.t, 1):
            problems.append(Problem("t", "be between 0 and 1", str(self.t)))
        if not _between(self.j, 64):
            problems.append(Problem("j", "be a number of bits, 0 or more", str(self.j)))
        if not _between(self.slack, 10):
            problems.append(Problem("slack", "be a share between 0 and 10", str(self.slack)))
        whole = isinstance(self.max_run, int) and not isinstance(self.max_run, bool)
        if not whole or (self.max_run != 0 and isinstance(self.k, int) and self.max_run < self.k):
            problems.append(Problem("max_run", "be a whole number of at least k, or 0", str(self.max_run)))
        for option, allowed in (
            ("leftovers", Leftovers),
            ("distance", Distance),
            ("posterior", Engine),
            ("mode", Mode),
        ):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        require(problems, InvalidParameter)

    def informed(self, background: Background | None) -> "JsReduce":
        """The same technique against an adversary with this knowledge."""
        technique = replace(self)
        object.__setattr__(technique, "background", background)
        return technique

    @property
    def assumed(self) -> Background:
        """The knowledge that the adversary is taken to have."""
        return Background() if self.background is None else self.background

    def thresholds(self) -> Thresholds:
        """What every group satisfies."""
        return Thresholds(k=self.k, ell=self.ell, t=float(self.t), j=float(self.j), max_run=self.max_run)

    def promises(self) -> tuple[Promise, ...]:
        """The thresholds of every group; where left-over rows relax them, the relaxed ones."""
        slack = self.slack if self.leftovers == "relax" else 0.0
        closeness = {"t": min(1.0, self.t * (1 + slack)), "distance": self.distance, "whole": "snapshot"}
        divergence = {"j": self.j, "slack": slack, "posterior": self.posterior, "mode": self.mode}
        diversity = (Promise("l-diversity", {"ell": self.ell}),) if self.ell > 1 else ()
        return (
            Promise("k-anonymity", {"k": self.k}),
            *diversity,
            Promise("t-closeness", closeness),
            Promise("js-divergence", divergence),
        )

    def accepts(self, schema: Schema) -> None:
        """Refuse columns published as they are, and distances that need an order or a tree which is not declared.

        Raises: InvalidSchema.
        """
        problems = []
        if schema.other:
            rule = "be empty with js-reduce: a value published as it is tells the rows of a group apart"
            advice = "make it a quasi-identifier, or leave it out"
            problems.append(Problem("other", rule, ", ".join(schema.other), advice))
        if self.distance == "ordered" and not schema.sensitive.closed:
            rule = "be declared in order for the distance `ordered`"
            problems.append(Problem("sensitive.values", rule, None, "list the values, or take the distance `equal`"))
        if self.distance == "hierarchical" and schema.sensitive.taxonomy is None:
            rule = "be declared for the distance `hierarchical`"
            problems.append(Problem("sensitive.taxonomy", rule, None, "name a csv file, or take the distance `equal`"))
        require(problems, InvalidSchema)

    def initial_state(self) -> JsReduceState:
        """Nothing was published yet."""
        assumed = self.assumed
        counted = Counted.nothing(assumed.classes.count, assumed.memory) if needs_counting(assumed) else None
        return JsReduceState(0, 0, np.empty((2, 0), np.int64), Beliefs.nobody(), counted)

    def restored(self, packed: Mapping[str, Packable]) -> JsReduceState:
        """The state that was packed."""
        return JsReduceState.restored(packed)

    def plan(self, snapshot: Snapshot, state: JsReduceState, rng: np.random.Generator) -> JsReducePlan:  # noqa: ARG002
        """Revise what is expected of everybody, and close groups along the Hilbert curve.

        Paper: [RPB12] Algorithm 1, line 7.

        Raises: Unpublishable if no group satisfies the thresholds.
        """
        assumed, values = self.assumed, len(snapshot.schema.sensitive.values)
        row_class = assumed.classes.of(snapshot.qi)
        counted = state.counted
        if counted is not None:
            counted = counted.widened(values).with_view(snapshot.persons, snapshot.sensitive, row_class)
        automaton = resolved(assumed, counted, values)
        beliefs = state.beliefs
        if assumed.counts_sequences:
            beliefs = beliefs.renumbered(state.values, values, assumed.memory)
        expected = beliefs.expected(snapshot.persons, row_class, automaton)
        extent = grown_extent(snapshot, state.extent)
        grouping = generalize(
            snapshot,
            expected,
            extent,
            self.thresholds(),
            self.distance,
            self.leftovers,
            float(self.slack),
        )
        if snapshot.size and not grouping.groups:
            raise Unpublishable(self._refusal(snapshot, grouping.withheld))
        return JsReducePlan(
            group=grouping.group,
            groups=grouping.groups,
            counterfeits=Counterfeits.none(),
            withheld=grouping.withheld,
            extent=extent,
            row_class=row_class,
            expected=expected,
            beliefs=beliefs,
            automaton=automaton,
            counted=counted,
        )

    def advance(self, state: JsReduceState, snapshot: Snapshot, plan: JsReducePlan) -> JsReduceState:
        """What the adversary knows after this release.

        Paper: [RPB12] Algorithm 1, lines 8 to 11. Of a row that is withheld nothing is observed.
        """
        # Usually nobody is withheld, and then no table is copied. Arrays are read-only either way: loops compile once.
        shown = np.flatnonzero(plan.group >= 0) if plan.withheld else slice(None)
        persons = cast("Int64", frozen(snapshot.persons[shown], np.int64))
        group = cast("Int32", frozen(plan.group[shown], np.int32))
        expected, row_class = plan.expected[shown], plan.row_class[shown]
        width = plan.automaton.values
        pairs = group.astype(np.int64) * width + snapshot.sensitive[shown]
        values = np.bincount(pairs, minlength=plan.groups * width).reshape(plan.groups, width)
        known = posteriors(self.posterior, expected, group, values)
        beliefs = plan.beliefs.revised(persons, row_class, expected, known, plan.automaton, self.mode)
        return JsReduceState(state.time + 1, plan.automaton.values, plan.extent, beliefs, plan.counted)

    def _refusal(self, snapshot: Snapshot, withheld: Mapping[str, int]) -> str:
        reasons = ", ".join(f"{why}: {count:,}" for why, count in withheld.items())
        return (
            f"no group of {self.k} rows or more keeps t = {self.t} and j = {self.j} in a table of {snapshot.size:,} "
            f"rows ({reasons}); greater thresholds or a greater max_run would help, or a smaller k"
        )


def _between(value: object, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
