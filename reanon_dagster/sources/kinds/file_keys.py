"""The keys of sources that are files: how each format is read."""

import codecs

from pydantic import Field, field_validator

from reanon_dagster.series.field_types import Text, typed
from reanon_dagster.series.memory_size import Size
from reanon_dagster.sources.kinds.source import Source


class FileKeys(Source):
    """How the files of a source are read."""

    separator: Text = Field(default=",", description='The character between two values of a csv line; "tab" for a tab.')
    encoding: Text = Field(default="utf-8", description="The encoding of a csv file.")
    sheet: Text | None = Field(default=None, description="The sheet of an Excel workbook. Default: its only sheet.")
    labels: bool = Field(
        default=True,
        description="Whether Stata and SPSS columns with value labels are read as those labels; otherwise as numbers.",
    )
    max_size: Size | None = Field(
        default=None,
        description="How much a compressed file may unpack to, such as 4GB. Default: half of the memory that is free.",
    )

    @field_validator("separator")
    @classmethod
    def _one_character(cls, value: str) -> str:
        value = "\t" if value in {"tab", "\\t"} else value
        if len(value) != 1 or not value.isascii():
            raise ValueError('be one character, such as , or ; or "tab"')
        return value

    @field_validator("encoding")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            codecs.lookup(value)
        except LookupError:
            raise ValueError("be an encoding that Python knows, such as utf-8 or latin-1") from None
        return value

    @field_validator("labels", mode="before")
    @classmethod
    def _typed(cls, value: object) -> object:
        return typed(value)
