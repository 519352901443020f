"""The keys `knowledge` and `adversary` of series.yaml: what an adversary is assumed to know beyond the releases."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reanon_core.model.errors import Problem
from reanon_dagster.series.field_types import Part, ProblemError, Text, Texts

Source = Literal["incremental", "domain", "mined"]


class KnowledgeConfig(Part):
    """What an adversary expects of sensitive values before a release, and how values follow each other."""

    source: Source = Field(
        default="incremental",
        description="Where transition probabilities come from: counted in the original tables so far (incremental), a "
        "table that you write (domain), or counted in other data (mined).",
    )
    memory: Annotated[int, Field(ge=1, le=3)] | None = Field(
        default=None,
        description="How many past values a transition depends on, 1 to 3. Default: 1; with domain, as many as in the "
        "table.",
    )
    classes: dict[str, Texts] = Field(
        default={},
        description="Classes of people with different probabilities: for each quasi-identifier named here, the values "
        "at which a new range begins, or `each`. Default: one class.",
    )
    prior: Text | None = Field(
        default=None,
        description="A csv file with the columns value, probability and any of the classes' columns: what is expected "
        "of a person who was never published. Default: counted among the new people in the original tables.",
    )
    transitions: Text | None = Field(
        default=None,
        description="domain: a csv file with the columns from, to, probability and any of the classes' columns; with a "
        "further column `then`, `from` and `then` name states of your own.",
    )
    corpus: Text | None = Field(
        default=None,
        description="mined: a csv file with the columns person, time and value.",
    )
    normalised: bool = Field(
        default=True,
        description="Whether counted probabilities are shares of the occurrences that have a successor, so that they "
        "sum to 1; false: shares of all occurrences, as in the paper.",
    )

    @model_validator(mode="after")
    def _matches_its_source(self) -> "KnowledgeConfig":
        for source, key in (("domain", "transitions"), ("mined", "corpus")):
            given = getattr(self, key) is not None
            if given != (self.source == source):
                rule = f"be given with `source: {source}`, and only then"
                raise ProblemError(Problem(f"knowledge.{key}", rule, getattr(self, key)))
        return self


class Adversary(Part):
    """What an adversary is assumed to know. You may change it at any time: it changes no release."""

    compromised: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None,
        description="The share of people whose sensitive value the adversary knows, such as 0.04; they are drawn at "
        "random. Default: the technique's p if it has one, else 0.",
    )
    groups: Literal["known", "boxes"] = Field(
        default="known",
        description="Whether the adversary knows which group each person belongs to, or only the groups' boxes.",
    )
    knowledge: KnowledgeConfig | None = Field(
        default=None,
        description="What attacks with background knowledge know about sensitive values, written as under `knowledge`. "
        "Default: the series' own `knowledge`, or what can be counted in the original tables, which is more than an "
        "outsider has.",
    )
