"""reanon from Python: publish a changing table again and again without the releases together exposing anyone.

`import reanon_core as reanon`, then `reanon.Series`; docs/python.md shows how. Names are loaded when they are first
used, so importing the package is quick. Nothing here touches a clock, a log or a global
generator, and only `engine` touches a disk.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reanon_core.catalog import build_check
    from reanon_core.columns import Categorical, Date, Numeric
    from reanon_core.model.background import Background
    from reanon_core.model.errors import (
        Caution,
        InvalidParameter,
        InvalidSchema,
        InvalidSnapshot,
        NotEligible,
        OutOfOrder,
        ReanonError,
        Refused,
        Unpublishable,
    )
    from reanon_core.model.finding import Findings
    from reanon_core.model.schema import Sensitive
    from reanon_core.model.taxonomy import Taxonomy
    from reanon_core.model.verdict import Verdict
    from reanon_core.published_release import PublishedRelease
    from reanon_core.series import Series
    from reanon_core.tables.frames import PrivateTable, Table
    from reanon_core.techniques.bpg.technique import Bpg
    from reanon_core.techniques.cor_split.technique import CorSplit
    from reanon_core.techniques.js_reduce.technique import JsReduce
    from reanon_core.techniques.m_invariance.technique import MInvariance
    from reanon_core.techniques.mondrian.technique import Mondrian
    from reanon_core.techniques.sequential.technique import Sequential

__version__ = "0.2.0"

__all__ = [
    "Background",
    "Bpg",
    "Categorical",
    "Caution",
    "CorSplit",
    "Date",
    "Findings",
    "InvalidParameter",
    "InvalidSchema",
    "InvalidSnapshot",
    "JsReduce",
    "MInvariance",
    "Mondrian",
    "NotEligible",
    "Numeric",
    "OutOfOrder",
    "PrivateTable",
    "PublishedRelease",
    "ReanonError",
    "Refused",
    "Sensitive",
    "Sequential",
    "Series",
    "Table",
    "Taxonomy",
    "Unpublishable",
    "Verdict",
    "build_check",
]

_HOMES = {
    "reanon_core.catalog": ("build_check",),
    "reanon_core.columns": ("Categorical", "Date", "Numeric"),
    "reanon_core.model.background": ("Background",),
    "reanon_core.model.errors": (
        *("Caution", "InvalidParameter", "InvalidSchema", "InvalidSnapshot", "NotEligible"),
        *("OutOfOrder", "ReanonError", "Refused", "Unpublishable"),
    ),
    "reanon_core.model.finding": ("Findings",),
    "reanon_core.model.schema": ("Sensitive",),
    "reanon_core.model.taxonomy": ("Taxonomy",),
    "reanon_core.model.verdict": ("Verdict",),
    "reanon_core.published_release": ("PublishedRelease",),
    "reanon_core.series": ("Series",),
    "reanon_core.tables.frames": ("PrivateTable", "Table"),
    "reanon_core.techniques.bpg.technique": ("Bpg",),
    "reanon_core.techniques.cor_split.technique": ("CorSplit",),
    "reanon_core.techniques.js_reduce.technique": ("JsReduce",),
    "reanon_core.techniques.m_invariance.technique": ("MInvariance",),
    "reanon_core.techniques.mondrian.technique": ("Mondrian",),
    "reanon_core.techniques.sequential.technique": ("Sequential",),
}
"""The module of each exported name."""


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
