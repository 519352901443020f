"""How far off a typical count from a release is, and how much it keeps of relations: for the steward, never published.

A relabelled world gives the same release, and other true counts and relations. So these numbers would tell worlds apart
that the release keeps alike. The command prints them, the private store keeps them, and Dagster shows them to the
steward. The manifest and the published files do not have them.
"""

import numpy as np

from reanon_core.metrics.query_error import CountingQueryError
from reanon_core.metrics.relations import RelationsKept
from reanon_core.model.ledger import Entry

WORKLOAD_SEED = 0
"""The queries are the same for every release of a size, so that releases can be compared."""
MOST_QUERIES, FEWEST_QUERIES = CountingQueryError().queries, 100
COUNTED_ROWS = 200_000_000
"""So many rows are counted by all queries together: a large table gets fewer of them, down to the fewest."""
MEANING = (
    f"a typical count: the median of {MOST_QUERIES:,} random counting queries on the release (fewer beyond "
    f"{COUNTED_ROWS // MOST_QUERIES:,} rows), compared with the snapshot; queries that count no one are left out. This "
    f"number is for you and is not published"
)
RELATIONS_MEANING = (
    f"relations: how strongly each quasi-identifier goes with each sensitive value. Kept is the slope of released on "
    f"true log odds ratios, over the pairs beyond an odds ratio of {RelationsKept().least_odds:g} that are no chance: "
    f"100% is all, 0% none, and less shows the opposite. Private too"
)
NO_RELATION = "no relation is large enough to measure"


def workload(rows: int) -> CountingQueryError:
    """The queries for a table of so many rows."""
    return CountingQueryError(queries=min(MOST_QUERIES, max(FEWEST_QUERIES, COUNTED_ROWS // max(rows, 1))))


def query_error(entry: Entry) -> float | None:
    """The median relative error of the workload; None if none of its queries counts anyone.

    Requires: the release is well formed.
    """
    errors = workload(entry.snapshot.size).relative_errors(entry, np.random.default_rng(WORKLOAD_SEED))
    return float(np.median(errors)) if len(errors) else None


def relations_kept(entry: Entry) -> float | None:
    """How much of the relations a reader sees; None if the table has none that is large enough.

    Requires: the release is well formed.
    """
    kept = RelationsKept().measure(entry, np.random.default_rng(WORKLOAD_SEED))
    return None if np.isnan(kept) else kept


def utility(error: float | None, kept: float | None) -> str:
    """Both numbers as a part of a sentence."""
    relations = NO_RELATION if kept is None else f"{whole_percent(kept)} of the relations are kept"
    return f"{typical_count(error)}; {relations}"


def typical_count(error: float | None) -> str:
    """The query error as a part of a sentence, with two digits."""
    if error is None:
        return "the error of a typical count is not known, because no random query counts anyone"
    return f"a typical count is off by {percentage(error)}"


def whole_percent(share: float | None) -> str:
    """A share without decimals: 94%, -3%; nothing if there is none."""
    return "" if share is None else f"{round(100 * share):,}%"


def percentage(share: float) -> str:
    """A share with two digits: 55%, 9.1%, 0.64%."""
    percent = 100 * share
    digits = 0 if percent >= 9.95 else 1 if percent >= 0.995 or not percent else 2
    return f"{percent:,.{digits}f}%"
