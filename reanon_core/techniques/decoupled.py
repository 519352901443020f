"""The decoupled form of a technique: the same groups and values, and for each person a box of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from reanon_core.model.codebook import Codebook
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import Plan
from reanon_core.model.published_columns import COUNT
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Form, Promise, State, Technique
from reanon_core.recoding.person_boxes import Cohorts, People, box_people

DECOUPLED_K = 10
"""How many people share a box, if nothing else is said."""
BOX_MEMORY = 360
"""The bytes of memory that the boxes of people take for each of them, measured with a check that remembered them."""


@dataclass(frozen=True, eq=False)
class DecoupledState:
    """The state of the technique, and who shares a box with whom."""

    groups: State
    cohorts: Cohorts

    @property
    def time(self) -> int:
        """How many releases this state has seen."""
        return self.groups.time

    @property
    def codebook(self) -> Codebook:
        """What the codes in this state stand for."""
        return self.groups.codebook

    def with_codebook(self, codebook: Codebook) -> "DecoupledState":
        """The same state, made with these codes."""
        return replace(self, groups=self.groups.with_codebook(codebook))

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {**self.groups.packed(), **self.cohorts.packed()}

    def without_values_of(self, person: int) -> "DecoupledState":
        """The same state without a person: their cohort keeps its hull, which is that of k people or more."""
        return DecoupledState(self.groups.without_values_of(person), self.cohorts.without(person))


@dataclass(frozen=True, eq=False, kw_only=True)
class DecoupledPlan(Plan):
    """The technique's own plan with boxes of people, and the cohorts that would follow."""

    own: Plan
    cohorts: Cohorts


@dataclass(frozen=True, kw_only=True)
class Decoupled:
    """A technique whose releases show each person's own box, and the values of each group apart from them.

    The groups, their values and counterfeits are those of the technique. Boxes look at no sensitive value.
    """

    technique: Technique[Any, Any]
    k: int = DECOUPLED_K
    """The least number of people who share a box."""

    def __post_init__(self) -> None:
        """Validate the parameters."""
        problems = [] if self.k >= 2 else [Problem("k", "be at least 2", str(self.k))]
        if not self.technique.declaration.decouples:
            rule = "be boxes, because this technique has no decoupled form"
            problems.append(Problem(f"the form of {self.technique.name}", rule, "decoupled"))
        require(problems, InvalidParameter)

    @property
    def name(self) -> str:
        """The name of the technique."""
        return self.technique.name

    @property
    def changeable(self) -> frozenset[str]:
        """The parameters that may change after the first release: k is none of them."""
        return self.technique.changeable

    @property
    def declaration(self) -> Declaration:
        """What the technique declares; people's own boxes take memory too."""
        declared = self.technique.declaration
        row = declared.row_memory
        return replace(declared, row_memory=None if row is None else row + BOX_MEMORY)

    @property
    def caution(self) -> str:
        """What a steward must know before relying on the technique."""
        return self.technique.caution

    def promises(self) -> tuple[Promise, ...]:
        """What the technique promises, and k people in every box."""
        # A width in one release. Over the history nothing is promised of k: no release brings back people who left.
        return (*self.technique.promises(), Promise("shared-boxes", {"k": self.k}))

    def accepts(self, schema: Schema) -> None:
        """Refuse what the technique refuses, and a sensitive column whose name the values need for themselves.

        Raises: InvalidSchema.
        """
        self.technique.accepts(schema)
        if schema.sensitive.name.lower() == COUNT:
            raise InvalidSchema(Problem("the sensitive column", f"not be named {COUNT} in the decoupled form"))

    def initial_state(self) -> DecoupledState:
        """The state before the first release."""
        return DecoupledState(self.technique.initial_state(), Cohorts.initial())

    def restored(self, packed: Mapping[str, Packable]) -> DecoupledState:
        """The state that was packed."""
        return DecoupledState(self.technique.restored(packed), Cohorts.restored(packed))

    def plan(self, snapshot: Snapshot, state: DecoupledState, rng: np.random.Generator) -> DecoupledPlan:
        """The technique's plan, and boxes for the people whom it publishes.

        Raises: Unpublishable.
        """
        own = self.technique.plan(snapshot, state.groups, rng)
        published = np.flatnonzero(own.group >= 0)
        people = People(snapshot.persons[published], np.ascontiguousarray(snapshot.qi[:, published]))
        boxes, cohorts = box_people(people, snapshot.schema, state.cohorts, self.k)
        return DecoupledPlan(
            group=own.group,
            groups=own.groups,
            counterfeits=own.counterfeits,
            withheld=own.withheld,
            notes=own.notes,
            person_boxes=boxes,
            own=own,
            cohorts=cohorts,
        )

    def advance(self, state: DecoupledState, snapshot: Snapshot, plan: DecoupledPlan) -> DecoupledState:
        """The technique's next state, and the cohorts after this release."""
        return DecoupledState(self.technique.advance(state.groups, snapshot, plan.own), plan.cohorts)


def default_form(technique: Technique[Any, Any]) -> Form:
    """The form of a technique's releases if the series names none."""
    if not technique.declaration.decouples:
        return "boxes"
    form: Form = cast("Any", technique).form
    return form


def decouple(technique: Technique[Any, Any], k: int) -> Technique[Any, Any]:
    """The decoupled form of a technique.

    Raises: InvalidParameter.
    """
    # Its name and declaration are those of the technique, not of a class, which is all that the type checker misses.
    return cast("Technique[Any, Any]", Decoupled(technique=technique, k=k))
