"""How far off a typical count from a release is, and how much it keeps of relations: for the steward, never published.

A relabelled world gives the same release, and other true counts and relations. So these numbers would tell worlds apart
that the release keeps alike. The command prints them, the private store keeps them, and Dagster shows them to the
steward. The manifest and the published files do not have them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reanon_core.metrics.query_error import CountingQueryError
from reanon_core.metrics.relations import RelationsKept
from reanon_core.metrics.value_counts import FREQUENT, ValueCounts, value_counts
from reanon_core.model.errors import counted
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
VALUES_MEANING = (
    f"by value: how many people have it, how many of them are withheld, how many rows of it are invented, and how many "
    f"people a reader counts, who cannot tell which rows are invented. Lost are people who are withheld or whom a "
    f"reader misses; the worst is said of values with {FREQUENT} people or more. Private too"
)
MEANINGS = (MEANING, RELATIONS_MEANING, VALUES_MEANING)
NO_RELATION = "no relation is large enough to measure"


SHOWN, HARDLY = 3, 0.01
"""How many values a terminal lists, and the share of the people with a value that is too little for a line."""


@dataclass(frozen=True, eq=False)
class Utility:
    """Private: what a release is worth to its readers."""

    error: float | None = None
    relations: float | None = None
    counts: ValueCounts | None = None
    """What becomes of the people with each value; None if the release does not show the values."""

    @property
    def lost(self) -> float | None:
        """The greatest share of the people with one value who are lost."""
        return None if self.counts is None else self.counts.worst_loss

    @property
    def changed(self) -> float | None:
        """The greatest relative change of a value's share among all people."""
        return None if self.counts is None else self.counts.worst_change

    def __str__(self) -> str:
        """The numbers as a part of a sentence."""
        return utility(self.error, self.relations, self.lost, self.changed)

    def document(self) -> dict[str, Any]:
        """The numbers for a program of the steward."""
        values = [] if self.counts is None else self.counts.rows()
        measured = {"query_error": self.error, "relations": self.relations, "lost": self.lost}
        return measured | {"share_changed": self.changed, "values": values}


def measured_utility(entry: Entry) -> Utility:
    """What a release is worth.

    Requires: the release is well formed.
    """
    return Utility(query_error(entry), relations_kept(entry), value_counts(entry))


def value_sentences(counts: ValueCounts | None) -> list[str]:
    """The values that lose most, as sentences for the terminal; nothing if none loses anyone that is worth a line."""
    rows = [] if counts is None else counts.rows()
    worst = [row for row in rows if row["people"] >= FREQUENT and row["lost"] > HARDLY]
    return [
        f"{row['value']!a}: {counted(row['people'], 'person', 'people')}, {row['withheld']:,} withheld, "
        f"{row['invented']:,} invented; a reader counts {row['counted']:,.0f} (share {row['share_changed']:+.0%})"
        for row in worst[:SHOWN]
    ]


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


def utility(error: float | None, kept: float | None, lost: float | None = None, changed: float | None = None) -> str:
    """The numbers as a part of a sentence."""
    relations = NO_RELATION if kept is None else f"{whole_percent(kept)} of the relations are kept"
    return f"{typical_count(error)}; {relations}{worst_value(lost, changed)}"


def worst_value(lost: float | None, changed: float | None) -> str:
    """What the worst value loses, as the end of a sentence; empty if no value loses anything."""
    if not lost and not changed:
        return ""
    loses = f"the worst value loses {percentage(lost or 0)} of its people"
    return f"; {loses}, the worst share changes by {changed or 0:+.1%}"


def typical_count(error: float | None) -> str:
    """The query error as a part of a sentence, with two digits."""
    if error is None:
        return "the error of a typical count is not known, because no random query counts anyone"
    return f"a typical count is off by {percentage(error)}"


def loss(share: float | None) -> str:
    """What the worst value loses, for a table: -12%, 0%; nothing if that is not known."""
    return "" if share is None else f"{-round(100 * share):,}%"


def whole_percent(share: float | None) -> str:
    """A share without decimals: 94%, -3%; nothing if there is none."""
    return "" if share is None else f"{round(100 * share):,}%"


def percentage(share: float) -> str:
    """A share with two digits: 55%, 9.1%, 0.64%."""
    percent = 100 * share
    digits = 0 if percent >= 9.95 else 1 if percent >= 0.995 or not percent else 2
    return f"{percent:,.{digits}f}%"
