"""The steward's own expectations: a snapshot that fails one of them is refused before anything is computed."""

from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSchema, Problem, Refused, counted
from reanon_dagster.expectations.evaluation import expectation_problems, failed_expectations, raw_frame
from reanon_dagster.series.expectations import CRITICAL

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_dagster.series.series import Series


class ExpectationsFailed(Refused):
    """A snapshot fails an expectation of the steward."""


def expectation_errors(series: "Series | None") -> list[Problem]:
    """What Great Expectations finds wrong with the types and arguments; it is loaded only if there are expectations."""
    try:
        return expectation_problems(series.expectations) if series else []
    except InvalidSchema:  # a suite file that cannot be read: loading the series reports it
        return []


def require_expectations(series: "Series", release: str, raw: "pa.Table | None") -> tuple[str, ...]:
    """Refuse a snapshot that fails a critical expectation, and return a sentence for each other one that it fails.

    Raises: ExpectationsFailed; InvalidSchema if an expectation is wrong by itself or names a column that is not there.
    """
    if raw is None or not series.expectations:
        return ()
    failed = list(failed_expectations(raw_frame(raw, series), series.expectations))
    critical = [sentence for one, sentence in failed if one.severity == CRITICAL]
    if critical:
        count = counted(len(critical), "expectation", "expectations")
        raise ExpectationsFailed(
            f"the snapshot of {release} fails {count}: {'; '.join(critical)}. "
            f"Correct the snapshot, or change `expectations` in the series file"
        )
    return tuple(
        f"the snapshot of {release} fails an expectation that only warns: {sentence}" for _, sentence in failed
    )
