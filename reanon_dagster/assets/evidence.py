"""The evidence: what an adversary gets from the releases so far, and what they are still good for."""

import resource
import time
from collections.abc import Iterator

import dagster as dg

from reanon_dagster.assets.plots import history_plot
from reanon_dagster.assets.series_assets import Naming, refusals_as_failures
from reanon_dagster.releasing.evidence import evidence_of

DESCRIPTION = """
Something to look at: all releases so far are attacked together, with the strongest knowledge that the technique allows
for, and the usefulness of this release is measured. Numbers only; nobody is named.
"""


def readable(value: float) -> float:
    """Whole numbers as they are, others with four digits."""
    return int(value) if value == int(value) else float(f"{value:.4g}")


def build_evidence(naming: Naming) -> dg.AssetsDefinition:
    """The asset that attacks and measures what is out."""
    series = naming.series

    @naming.asset("evidence", DESCRIPTION, deps=[naming.key("published")])
    def evidence(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        release, began = naming.release(context), time.perf_counter()
        with refusals_as_failures():
            found = evidence_of(series, release, progress=context.log.info)
        yield dg.MaterializeResult(
            metadata={
                **{name: readable(value) for name, value in found.numbers.items()},
                "history": dg.MetadataValue.md(history_plot(found.history)),
                "seconds": round(time.perf_counter() - began, 3),
                "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )

    return evidence
