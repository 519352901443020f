"""The key `engine` of series.yaml: where releases are computed, and how much memory they may take."""

from pydantic import Field

from reanon_dagster.series.field_types import Part
from reanon_dagster.series.memory_size import Size

EMBEDDED = "embedded"


class Embedded(Part):
    """The engine that works in the process that runs the command."""

    memory_limit: Size | None = Field(
        default=None,
        description="How much memory a release may take, such as 6GB. One that would take more is refused before it is "
        "computed. Default: what the machine has left.",
    )


class Engine(Part):
    """Where releases are computed, and how much memory they may take."""

    embedded: Embedded = Field(default=Embedded(), description="In the process that runs the command.")


def as_engine(value: object) -> object:
    """The engine as a name or with options, as options.

    Raises: ValueError for an engine that does not exist.
    """
    if value == EMBEDDED:
        return {EMBEDDED: {}}
    if isinstance(value, Engine) or (isinstance(value, dict) and set(value) == {EMBEDDED}):
        return value
    raise ValueError("be embedded, or {embedded: {memory_limit: 6GB}}; there is no other engine yet")
