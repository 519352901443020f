"""The key `adversary` of series.yaml: whom `reanon audit` lets attack the releases."""

from pydantic import Field

from reanon_dagster.series.knowledge import KnowledgeConfig
from reanon_dagster.series.scalars import Part


class Adversary(Part):
    """What the attacks of `reanon audit` are given. It may be changed at any time: it changes no release."""

    knowledge: KnowledgeConfig | None = Field(
        default=None,
        description="What the attack `background` knows of sensitive values, as under `knowledge`. Default: the "
        "series' own declared knowledge, or what the original tables teach, which is more than an outsider has.",
    )
