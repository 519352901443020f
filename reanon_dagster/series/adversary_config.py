"""The key `adversary` of series.yaml: what `reanon audit` assumes an adversary to know beyond the releases."""

from typing import Annotated, Literal

from pydantic import Field

from reanon_dagster.series.field_types import Part
from reanon_dagster.series.knowledge_config import KnowledgeConfig


class Adversary(Part):
    """What an adversary is assumed to know. It may be changed at any time: it changes no release."""

    compromised: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None,
        description="The share of people whose sensitive value the adversary knows, such as 0.04; they are drawn at "
        "random. Default: the technique's p if it has one, else nobody.",
    )
    groups: Literal["known", "boxes"] = Field(
        default="known",
        description="Whether the adversary knows who stands in which group, or only what the boxes tell.",
    )
    knowledge: KnowledgeConfig | None = Field(
        default=None,
        description="What the attack `background` knows of sensitive values, as under `knowledge`. Default: the "
        "series' own declared knowledge, or what the original tables teach, which is more than an outsider has.",
    )
