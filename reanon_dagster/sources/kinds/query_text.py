"""The key `query` of sources that ask a database."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator

from reanon_dagster.series.field_types import Text
from reanon_dagster.sources.kinds.source import PLACEHOLDER

NOTE = "The release's name replaces `{release}` in the query as it is: write the quotes yourself, `'{release}'`."


def _with_placeholder(value: str) -> str:
    if PLACEHOLDER not in value:
        raise ValueError("contain {release}; such as select * from visits where quarter = '{release}'")
    return value.rstrip().rstrip(";")


Query: TypeAlias = Annotated[Text, AfterValidator(_with_placeholder)]
"""The text of a query with a place for the release's name, without a semicolon at its end."""
