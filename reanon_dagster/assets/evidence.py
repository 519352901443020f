"""The evidence: what an adversary learns from the releases so far, and how useful the latest one is."""

import resource
import time
from collections.abc import Iterator

import dagster as dg

from reanon_dagster.assets.plots import history_plot
from reanon_dagster.assets.series_assets import SeriesAssets, refusals_as_failures
from reanon_dagster.releasing.evidence import evidence_of

DESCRIPTION = """
What the releases reveal and what they are worth: all releases so far are attacked together, with the strongest
background knowledge that the technique assumes, and the utility of this release is measured. Numbers only; no person
is named.
"""


def readable(value: float) -> float:
    """A number with at most four digits after rounding; whole numbers stay exact."""
    return int(value) if value == int(value) else float(f"{value:.4g}")


def build_evidence(assets: SeriesAssets) -> dg.AssetsDefinition:
    """The asset that attacks the published releases and measures the latest one."""

    @assets.asset("evidence", DESCRIPTION, deps=[assets.key("published")])
    def evidence(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        release, began = assets.release(context), time.perf_counter()
        with refusals_as_failures():
            found = evidence_of(assets.continued(), release, progress=context.log.info)
        yield dg.MaterializeResult(
            metadata={
                **{name: readable(value) for name, value in found.numbers.items()},
                "history": dg.MetadataValue.md(history_plot(found.history)),
                "seconds": round(time.perf_counter() - began, 3),
                "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )

    return evidence
