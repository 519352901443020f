"""The JS-reduce technique: group people of whom the adversary will expect much the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, cast, get_args

import numpy as np

from reanon_core.inference.bayes.beliefs import Beliefs, Mode, Observation
from reanon_core.inference.bayes.posteriors import posteriors
from reanon_core.inference.bayes.transition_counts import TransitionCounts, automaton_of, needs_counting
from reanon_core.kernels.hilbert import Thresholds
from reanon_core.model.arrays import Float64, Int32, Int64, frozen
from reanon_core.model.background import Automaton, Background
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.schema import TELLS_APART, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Fit, Promise
from reanon_core.recoding.attribute_scales import grown_extent
from reanon_core.techniques.js_reduce.generalization import (
    CutRule,
    CutsBy,
    Distance,
    LeftoverRule,
    Leftovers,
    generalize,
)
from reanon_core.techniques.js_reduce.state import JsReduceState

FIT = Fit(
    promise="what an adversary expects of the members of a group differs by at most j bits; it bounds no "
    "one's certainty",
    parameters=lambda among: {"k": among, "ell": among, "t": 0.5, "j": 0.5},
    adversaries=frozenset({"presence", "transitions"}),
    rations_new_rows=False,
    values_change={},
)
"""For which tables JS-reduce is made."""
Engine = Literal["omega", "sum", "sinkhorn"]
LARGEST_EXPECTATIONS = 1 << 27
"""The most numbers in the table of people and values: 1 GiB, of which three are held at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JsReducePlan(Plan):
    """A plan that also carries the adversary's knowledge before the release, to revise the beliefs after it."""

    extent: Int64  # [2, d]
    row_class: Int32  # [n]
    expected: Float64  # [n, values]
    beliefs: Beliefs
    automaton: Automaton
    counts: TransitionCounts | None


@dataclass(frozen=True, kw_only=True)
class JsReduce:
    """Every group has at least k rows, values close to the table's, and members of whom the adversary expects the same.

    Paper: [RPB12] Algorithm 1.
    """

    name: ClassVar[str] = "js-reduce"
    changeable: ClassVar[frozenset[str]] = frozenset({"max_run", "cuts_by", "run"})
    caution: ClassVar[str] = (
        "js-reduce limits what an adversary with the assumed background knowledge gains; "
        "it does not bound the posterior of any person's value (docs/guarantees.md)"
    )

    declaration: ClassVar[Declaration] = Declaration(
        weakest={"k": 2, "t": 0.9, "j": 2.0},
        needs_knowledge=True,
        row_memory=2700,
        fit=FIT,
    )

    k: int
    """The least number of rows in a group."""
    t: float
    """The greatest distance of a group's values from those of the whole table (t-closeness)."""
    j: float
    """The greatest Jensen-Shannon divergence, in bits, of the adversary's expectations about a group's members."""
    max_run: int = 200
    """How many rows along the curve are tried as one group before the first is skipped; 0: all, as in the paper."""
    leftovers: Leftovers = "merge"
    """Rows that fit into no group: withhold them, let them join a group nearby that stays fit, or relax t and j."""
    slack: float = 0.25
    """relax: by which share t and j are increased for the rows that are left over."""
    ell: int = 2
    """The least number of distinct sensitive values in a group; 1 is the paper."""
    distance: Distance = "equal"
    """How far values are from each other, for t: all equally far, by their declared order, or by their taxonomy."""
    posterior: Engine = "omega"
    """How the assumed adversary divides a group's values among its members."""
    mode: Mode = "product"
    """How the assumed adversary combines releases: as if independent (product), or only possible sequences (filter)."""
    cuts_by: CutsBy = "principle"
    """Where groups begin and end: as soon as the thresholds hold, as in the paper (principle), or after `run` rows
    along the curve, whatever their values (quasi-identifiers)."""
    run: int | None = None
    """quasi-identifiers: the least number of rows of a group; default 5 k. Longer runs are withheld less often."""
    background: Background | None = field(default=None, init=False, repr=False, compare=False)
    """The adversary's assumed knowledge; None: counted in the original tables. Set by `informed`."""

    def __post_init__(self) -> None:
        """Validate the parameters."""
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
        problems += self._run_problems()
        for option, allowed in (
            ("cuts_by", CutsBy),
            ("leftovers", Leftovers),
            ("distance", Distance),
            ("posterior", Engine),
            ("mode", Mode),
        ):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        require(problems, InvalidParameter)

    def _run_problems(self) -> list[Problem]:
        """What is wrong with the rule that cuts the curve."""
        run, blind = self.run, self.cuts_by == "quasi-identifiers"
        problems = []
        if run is not None and not blind:
            problems.append(Problem("run", "be left out unless cuts_by is quasi-identifiers", str(run)))
        elif run is not None and (isinstance(run, bool) or not isinstance(run, int) or run < self.k):
            problems.append(Problem("run", "be a whole number of at least k", str(run)))
        if blind and self.leftovers == "relax":
            problems.append(Problem("leftovers", "be suppress or merge if cuts_by is quasi-identifiers", "relax"))
        return problems

    def informed(self, background: Background | None) -> "JsReduce":
        """The same technique against an adversary with this knowledge."""
        technique = replace(self)
        object.__setattr__(technique, "background", background)
        return technique

    @property
    def assumed_knowledge(self) -> Background:
        """The adversary's assumed knowledge."""
        return Background() if self.background is None else self.background

    def thresholds(self) -> Thresholds:
        """What every group must satisfy."""
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
        """Reject columns that would be published as they are, and distances without their order or taxonomy.

        Raises: InvalidSchema.
        """
        problems = schema.other_problems(self.name, TELLS_APART)
        if self.distance == "ordered" and not schema.sensitive.closed:
            rule = "be declared in order for the distance `ordered`"
            problems.append(Problem("sensitive.values", rule, None, "list the values, or take the distance `equal`"))
        if self.distance == "hierarchical" and schema.sensitive.taxonomy is None:
            rule = "be declared for the distance `hierarchical`"
            problems.append(Problem("sensitive.taxonomy", rule, None, "name a csv file, or take the distance `equal`"))
        require(problems, InvalidSchema)

    def initial_state(self) -> JsReduceState:
        """The state before the first release."""
        known = self.assumed_knowledge
        counts = TransitionCounts.empty(known.classes.count, known.memory) if needs_counting(known) else None
        return JsReduceState(0, 0, np.empty((2, 0), np.int64), Beliefs.empty(), counts)

    def restored(self, packed: Mapping[str, Packable]) -> JsReduceState:
        """The state that was packed."""
        return JsReduceState.restored(packed)

    def plan(self, snapshot: Snapshot, state: JsReduceState, rng: np.random.Generator) -> JsReducePlan:  # noqa: ARG002
        """Form groups; nothing is left to chance.

        Raises: Unpublishable if no group satisfies the thresholds.
        """
        return self.decide(snapshot, state)

    def decide(self, snapshot: Snapshot, state: JsReduceState) -> JsReducePlan:
        """Compute what the adversary expects of each person (RBKsv), and form groups along the Hilbert curve.

        Paper: [RPB12] Algorithm 1, line 7.

        Raises: Unpublishable if no group satisfies the thresholds, or if people and values are too many.
        """
        known, values = self.assumed_knowledge, len(snapshot.schema.sensitive.values)
        _require_room(snapshot.size, values)
        row_class = known.classes.of(snapshot.qi)
        counts = state.counts
        if counts is not None:
            counts = counts.with_values(values).with_view(snapshot.persons, snapshot.sensitive, row_class)
        automaton = automaton_of(known, counts, values)
        beliefs = state.beliefs
        if known.counts_sequences:
            beliefs = beliefs.renumber(state.values, values, known.memory)
        expected = beliefs.expected(snapshot.persons, row_class, automaton)
        extent = grown_extent(snapshot, state.extent)
        grouping = generalize(
            snapshot,
            expected,
            extent,
            self.thresholds(),
            self.distance,
            LeftoverRule(how=self.leftovers, slack=float(self.slack)),
            CutRule(by=self.cuts_by, run=self.run or 5 * self.k),
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
            counts=counts,
        )

    def advance(self, state: JsReduceState, snapshot: Snapshot, plan: JsReducePlan) -> JsReduceState:
        """The adversary's beliefs after this release; a row that is withheld is not observed.

        Paper: [RPB12] Algorithm 1, lines 8 to 11.
        """
        # Usually no row is withheld, and then no table is copied. Arrays are read-only either way: loops compile once.
        shown = np.flatnonzero(plan.group >= 0) if plan.withheld else slice(None)
        persons = cast("Int64", frozen(snapshot.persons[shown], np.int64))
        group = cast("Int32", frozen(plan.group[shown], np.int32))
        expected, row_class = plan.expected[shown], plan.row_class[shown]
        width = plan.automaton.values
        pairs = group.astype(np.int64) * width + snapshot.sensitive[shown]
        values = np.bincount(pairs, minlength=plan.groups * width).reshape(plan.groups, width)
        posterior = posteriors(self.posterior, expected, group, values)
        observation = Observation(persons, row_class, expected, posterior)
        beliefs = plan.beliefs.revise(observation, plan.automaton, self.mode)
        return JsReduceState(state.time + 1, plan.automaton.values, plan.extent, beliefs, plan.counts)

    def _refusal(self, snapshot: Snapshot, withheld: Mapping[str, int]) -> str:
        reasons = ", ".join(f"{why}: {count:,}" for why, count in withheld.items())
        return (
            f"no group of {self.k} or more rows satisfies t = {self.t} and j = {self.j} in a table of "
            f"{snapshot.size:,} rows ({reasons}); raise t, j or max_run, or lower k"
        )


def _require_room(people: int, values: int) -> None:
    """Reject people and values that need more memory than most computers have, before it is taken.

    Raises: Unpublishable.
    """
    if people * values > LARGEST_EXPECTATIONS:
        raise Unpublishable(
            f"js-reduce computes what is expected of each person for each value: with {people:,} people and {values:,} "
            f"sensitive values {people * values:,} numbers, and at most {LARGEST_EXPECTATIONS:,} are allowed; "
            f"{LARGEST_EXPECTATIONS // people:,} values, such as groups of these, would work"
        )


def _between(value: object, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
