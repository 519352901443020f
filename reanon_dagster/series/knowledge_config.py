"""The key `knowledge` of series.yaml: what somebody is taken to know of sensitive values."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reanon_core.model.errors import Problem
from reanon_dagster.series.field_types import Part, Text, Texts, Told

Source = Literal["incremental", "domain", "mined"]


class KnowledgeConfig(Part):
    """What somebody is taken to know of sensitive values before a release, and how values follow each other."""

    source: Source = Field(
        default="incremental",
        description="Where transitions come from: counted in the original tables so far (incremental), a table that "
        "you write (domain), or counted in other people's data (mined).",
    )
    memory: Annotated[int, Field(ge=1, le=3)] | None = Field(
        default=None,
        description="How many past values they look back on, 1 to 3. Default: 1; with domain as far as the table goes.",
    )
    classes: dict[str, Texts] = Field(
        default={},
        description="Which people differ: for each quasi-identifier named here the values at which a new range begins, "
        "or `each`. Default: nobody differs.",
    )
    prior: Text | None = Field(
        default=None,
        description="A csv file with the columns value, probability and any of the classes' columns: what is expected "
        "of somebody who was never shown. Default: counted among those who are new in the original tables.",
    )
    transitions: Text | None = Field(
        default=None,
        description="domain: a csv file with the columns from, to, probability and any of the classes' columns; with a "
        "column then, from and then name states of your own.",
    )
    corpus: Text | None = Field(
        default=None,
        description="mined: a csv file with the columns person, time and value: who had which value when.",
    )
    normalised: bool = Field(
        default=True,
        description="Counted probabilities are shares of the occurrences that have a successor; false: of all, as in "
        "the paper, so that they sum up to less than 1.",
    )

    @model_validator(mode="after")
    def _matches_its_source(self) -> "KnowledgeConfig":
        for source, key in (("domain", "transitions"), ("mined", "corpus")):
            given = getattr(self, key) is not None
            if given != (self.source == source):
                rule = f"be given with `source: {source}`, and only there"
                raise Told(Problem(f"knowledge.{key}", rule, getattr(self, key)))
        return self
