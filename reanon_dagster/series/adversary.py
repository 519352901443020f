"""What an adversary is assumed to know beyond the releases: declared in a series, used by `reanon audit`."""

from typing import Annotated, Literal

from pydantic import Field

from reanon_dagster.series.scalars import Part


class Adversary(Part):
    """What an adversary is assumed to know. It changes no release, only what `reanon audit` reports."""

    compromised: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None,
        description="The share of people whose sensitive value the adversary knows, such as 0.04; they are drawn at "
        "random. Default: the technique's p if it has one, else nobody.",
    )
    groups: Literal["known", "boxes"] = Field(
        default="known",
        description="Whether the adversary knows who stands in which group, or only what the boxes tell.",
    )
