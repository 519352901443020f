"""The key `adversary` of series.yaml: what `reanon audit` assumes an adversary to know beyond the releases."""

from typing import Annotated, Literal

from pydantic import Field

from reanon_dagster.series.field_types import Part
from reanon_dagster.series.knowledge_config import KnowledgeConfig


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
