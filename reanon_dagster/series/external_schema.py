"""The columns of releases that reanon did not make, and how their files write numbers."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from reanon_core.model.schema import Schema
from reanon_dagster.series.config import ColumnOrNothing, SensitiveColumn
from reanon_dagster.series.field_types import Part, Text, Texts, keyed_by


class SchemaConfig(Part):
    """The columns of releases that reanon did not make: as much of a series file as an attack needs."""

    id: Text = Field(default="id", description="The column of the people file that identifies the person of each row.")
    quasi_identifiers: dict[str, ColumnOrNothing] = Field(
        min_length=1, description="The columns that an adversary may know, each with its settings."
    )
    sensitive: Annotated[SensitiveColumn, keyed_by("column")] = Field(description="The column to protect.")
    other: Texts = Field(default=(), description="Further columns of the releases, published unchanged.")
    optional: Texts = Field(default=(), description="The columns that some releases may lack.")
    decimal: Literal[".", ","] = Field(default=".", description="The decimal mark of numbers in the files.")


class ExternalSchema(NamedTuple):
    """How to read releases that reanon did not make, and a file of people."""

    id: str
    """The column that identifies a person."""
    schema: Schema
    optional: frozenset[str]
    """The columns that some releases may lack."""
    decimal: str = "."
