"""The four shapes that everything else plugs into: Technique, Check, Attack, Metric."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from reanon_core.model.arrays import Float64, Int64
from reanon_core.model.background import Background
from reanon_core.model.codebook import Codebook
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import Packable
from reanon_core.model.plan import Plan
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.verdict import Verdict

Memory = Mapping[str, Packable]
"""What a check remembers of the past: named arrays and scalars, so that any store can keep it."""


class State(Protocol):
    """What a technique must remember, and of which time. `model.codebook.CodedState` has what all of them share."""

    @property
    def time(self) -> int:
        """How many releases this state has seen."""
        ...

    @property
    def codebook(self) -> Codebook:
        """What the codes in this state stand for."""
        ...

    def with_codebook(self, codebook: Codebook) -> Self:
        """The same state, made with these codes."""
        ...

    def packed(self) -> Memory:
        """The state as named arrays and scalars, the codebook among them."""
        ...

    def without_values_of(self, person: int) -> Self:
        """The same state without what it knows of a person who is forgotten: no later release may show them again.

        What releases together reveal may depend on the person, and stays.
        """
        ...


S = TypeVar("S", bound=State)
P = TypeVar("P", bound=Plan)


Form = Literal["boxes", "decoupled"]
"""A box for each group, or a box for each person and the values of each group apart from them."""

AdversaryKind = Literal["presence", "values", "transitions"]
"""What an adversary knows beyond all releases: who is in each, with their quasi-identifiers (presence); some people's
sensitive values too (values); or how likely each value follows another (transitions)."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """For which tables and adversaries a technique is made: what `reanon advise` compares with the snapshots."""

    promise: str
    """What holds over all releases together, as a sentence without a full stop."""
    parameters: Callable[[int], Mapping[str, object]]
    """The parameters that hide each person among so many values."""
    adversaries: frozenset[AdversaryKind] = frozenset({"presence"})
    """The adversaries against whom the promise holds."""
    over_series: bool = True
    """Whether it promises anything over several releases."""
    bounds_risk: bool = False
    """Whether it bounds the probability with which an adversary infers a person's value."""
    least: int = 2
    """The least number of values for which the parameters make sense."""
    rations_new_rows: bool = True
    """Whether at most one in so many new people may share a value; otherwise each release needs so many values."""
    goes_on: bool = False
    """Whether a release withholds some new people where more of them share a value, and is not refused."""
    values_change: Mapping[str, object] | None = None
    """What to add to the parameters if people's sensitive values change; None if such people cannot be published."""
    qi_change: Mapping[str, object] | None = field(default_factory=dict)
    """The same for quasi-identifiers that change."""
    people_leave: Mapping[str, object] | None = field(default_factory=dict)
    """The same for people who leave the table."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the rest of reanon must know about a technique: no other code compares techniques by name."""

    weakest: Mapping[str, object]
    """The weakest parameters that it accepts, for the tests that every technique must pass."""
    answers_queries: bool = False
    """Whether a release with a selection gets the whole table and a mask; otherwise it gets the selected rows only."""
    columns_vary: bool = False
    """Whether releases may differ in the columns that they show."""
    needs_knowledge: bool = False
    """Whether it defends against an adversary with background knowledge: it then is an InformedTechnique."""
    has_worlds: bool = False
    """Whether its plans carry a witness: the row of each person in every possible world that it keeps."""
    leave_together: bool = False
    """Whether people can leave only together: if one of them is forgotten, the others are withheld for good."""
    decouples: bool = False
    """Whether the values of its groups may be published apart from people's boxes."""
    variants: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Parameters that go together, by the word that stands for them in `variant`."""
    followers: Mapping[str, frozenset[tuple[object, object]]] = field(default_factory=dict)
    """Of a parameter that is frozen otherwise: which value may follow which in the middle of a series."""
    function_parameters: frozenset[str] = frozenset()
    """The parameters that may be a function; series.yaml names one as module:function."""
    row_memory: int | None = None
    """About how many bytes of memory a release takes for each person, measured with four quasi-identifiers, with its
    checks and its files; None if that was not measured."""
    fit: Fit | None = None
    """For which tables it is made; None: `reanon advise` cannot say."""


@dataclass(frozen=True)
class Promise:
    """A property that every release of a technique has: the name of the check that tests it, and its parameters."""

    check: str
    parameters: Mapping[str, object] = field(default_factory=dict)


class Technique(Protocol[S, P]):
    """A technique: a frozen dataclass that is its parameters."""

    name: ClassVar[str]
    changeable: ClassVar[frozenset[str]]
    """The parameters that may change after the first release."""
    declaration: ClassVar[Declaration]

    @property
    def caution(self) -> str:
        """What a steward must know before relying on the technique; empty if it keeps what a series promises."""
        ...

    def promises(self) -> tuple[Promise, ...]:
        """What the technique guarantees. A release that breaks a promise is refused, whatever the series says.

        The catalog adds that a release is well formed, which every technique owes.
        """
        ...

    def accepts(self, schema: Schema) -> None:
        """Raise InvalidSchema if the technique cannot publish such a table."""
        ...

    def initial_state(self) -> S:
        """The state before the first release."""
        ...

    def restored(self, packed: Memory) -> S:
        """The state that `packed` was made of."""
        ...

    def plan(self, snapshot: Snapshot, state: S, rng: np.random.Generator) -> P:
        """Decide groups, counterfeits and withheld rows for this snapshot.

        Raises: Unpublishable if the technique's promise cannot be kept on this data.
        """
        ...

    def advance(self, state: S, snapshot: Snapshot, plan: P) -> S:
        """The state after this plan is published."""
        ...


class InformedTechnique(Technique[S, P], Protocol[S, P]):
    """A technique that defends against an adversary with background knowledge."""

    @property
    def background(self) -> Background | None:
        """The knowledge that the adversary is assumed to have; None: estimated from the original tables."""
        ...

    def informed(self, background: Background | None) -> "InformedTechnique[S, P]":
        """The same technique against an adversary with this knowledge."""
        ...


class Check(Protocol):
    """A judge: it knows a definition and the truth, and nothing of how a release was made.

    A check of the whole history is a fold over its releases: what it needs of the past is its memory, built
    from published rows and traces, never from a technique's state.
    """

    name: ClassVar[str]
    needs_knowledge: ClassVar[bool]
    """Whether it judges by what an adversary with background knowledge learns: it then is an InformedCheck."""

    def initial_memory(self) -> Memory:
        """What the judge remembers before the first release."""
        ...

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """The verdict on this release given the past, and what to remember of both."""
        ...


class InformedCheck(Check, Protocol):
    """A check that judges by what an adversary with background knowledge learns."""

    def informed(self, background: Background | None) -> "InformedCheck":
        """The same check for an adversary with this knowledge."""
        ...


class Attack(Protocol):
    """An adversary: it has what is public and declared knowledge, nothing else."""

    name: ClassVar[str]
    any_size: ClassVar[bool]
    """Whether it runs on a history of any size, so that it can attack every release as it is published."""
    people_only: ClassVar[bool]
    """Whether it uses nothing of its knowledge but who is in each release, and the readings of the technique."""
    has_posteriors: ClassVar[bool]
    """Whether it uses background knowledge and computes a posterior for each person: it then is a BayesianAttack."""
    knows: ClassVar[str]
    """What its adversary knows beside the releases, as the end of a sentence."""
    blind_to: ClassVar[str]
    """What it does not find although the releases show it, as the end of a sentence."""

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Whom the releases together expose."""
        ...


@runtime_checkable
class PersonwiseAttack(Protocol):
    """An attack that judges each person by themselves, so that it can be given some people at a time."""

    def run_in_parts(self, history: History, parts: Iterable[Knowledge]) -> Findings:
        """What `run` finds with all parts together.

        Requires: everything about a person is in one part.
        """
        ...


class PersonPosteriors(Protocol):
    """The adversary's posterior for each person in a release, after seeing it."""

    @property
    def persons(self) -> Int64:
        """[n] ascending."""
        ...

    @property
    def posterior(self) -> Float64:
        """[n, values], each row sums to 1."""
        ...


class BayesianAttack(Attack, Protocol):
    """An attack that revises what it believes of each person, release after release."""

    def beliefs(self, history: History, knowledge: Knowledge) -> Iterator[PersonPosteriors]:
        """The posteriors after each release, in order."""
        ...


class Metric(Protocol):
    """How useful a release still is."""

    name: ClassVar[str]
    quick: ClassVar[bool]
    """Whether it takes less time than the release itself, so that every release can be measured."""

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:
        """One number for this release, NaN if there is nothing to measure; the generator draws workloads."""
        ...
