"""The four shapes that everything else plugs into: Technique, Check, Attack, Metric."""

from collections.abc import Mapping
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np

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


S = TypeVar("S", bound=State)
P = TypeVar("P", bound=Plan)


class Technique(Protocol[S, P]):
    """A technique: a frozen dataclass that is its parameters."""

    name: ClassVar[str]
    changeable: ClassVar[frozenset[str]]
    """The parameters that may change after the first release."""
    caution: ClassVar[str]
    """What a steward must know before relying on the technique; empty if it keeps what a series promises."""

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


class Check(Protocol):
    """A judge: it knows a definition and the truth, and nothing of how a release was made.

    A check of the whole history is a fold over its releases: what it needs of the past is its memory, built
    from published rows and traces, never from a technique's state.
    """

    name: ClassVar[str]

    def initial_memory(self) -> Memory:
        """What the judge remembers before the first release."""
        ...

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """The verdict on this release given the past, and what to remember of both."""
        ...


class Attack(Protocol):
    """An adversary: it has what is public and declared knowledge, nothing else."""

    name: ClassVar[str]

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Whom the releases together expose."""
        ...


class Metric(Protocol):
    """How useful a release is still."""

    name: ClassVar[str]

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:
        """One number for this release; the generator draws workloads."""
        ...
