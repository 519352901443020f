"""The internal report of a series: everything its steward may see, from the ledger of the releases so far."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core import __version__
from reanon_core.estimate.fitness import estimates_of, fitness, fitness_lines
from reanon_core.metrics.value_counts import value_counts
from reanon_core.model.ledger import Ledger
from reanon_core.tables.release_table import published_tables
from reanon_dagster.lab.comparison import attack_cells, declared_adversary
from reanon_dagster.report.exposure import Candidates, candidates_over_time, exposed_people
from reanon_dagster.report.ledger_numbers import churn, example, margins, naive_ledger
from reanon_dagster.report.pages.audit_page import attack_description
from reanon_dagster.report.pages.page_template import page
from reanon_dagster.report.pages.pictures import lines, paired_bars
from reanon_dagster.report.pages.public_page import promise_of
from reanon_dagster.report.pages.release_numbers import fewest_values, group_sizes, told_sizes, widths
from reanon_dagster.report.stored_releases import StoredReleases

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

MOST_PAIRS, MOST_VALUES = 15, 15
OFF_BY, KEPT = "a typical count is off by (%)", "relations kept (%)"


def internal_report(
    series: "Series", stored: StoredReleases, attacks: Sequence[str], tell: Callable[[str], None]
) -> str:
    """The private page on the releases that were read, the latest in detail."""
    ledger, releases = stored.ledger, [record.release for record in stored.records]
    entry, schema = ledger.entries[-1], ledger.entries[-1].snapshot.schema
    tell("the naive way")
    naive = naive_ledger(series, ledger)
    own_left = _candidates(ledger)
    naive_left = own_left if naive is None else _candidates(naive)
    exposed = {"this series": exposed_people(own_left)}
    if naive is not None:
        exposed["the naive way"] = exposed_people(naive_left)
    technique = series.technique if stored.made_with_the_parameters_of(series) else None
    cells = list(attack_cells(technique, ledger, declared_adversary(series), attacks, tell))
    tell("margins and pairs")
    shown, pairs = margins(entry)
    by_value = value_counts(entry)
    technique_made = stored.manifests[-1]["technique"]
    tables = published_tables(entry.release, entry.auxiliary, schema)
    found = fitness(estimates_of(tables, schema, technique_made, entry.withheld))
    return page(
        "internal.html",
        title=series.title,
        series=series.name,
        release=releases[-1],
        records=stored.records,
        verdicts=stored.verdicts,
        holds=all(one.holds for one in stored.verdicts if one.required),
        technique=series.technique.name,
        promise=promise_of(series.technique.name),
        caution=series.technique.caution,
        parameters=series.parameters,
        manifest=stored.manifests[-1],
        exposed=exposed,
        releases=releases,
        exposed_picture=lines(releases, exposed, "people exposed"),
        attacks=[{**attack_description(name), **asdict(cell)} for name, cell in cells],
        example=[] if naive is None else example(ledger, releases, own_left, naive_left),
        sizes=told_sizes(group_sizes(entry.release)),
        uses=[] if found is None else list(fitness_lines(found)),
        fewest=fewest_values(entry.release) if entry.release.shows(schema.sensitive.name) else None,
        grouped=entry.release.grouped,
        decoupled=entry.release.person_rows is not None,
        widths=_widths_over_time(ledger),
        errors=lines(releases, {"error": _percent(one.query_error for one in stored.records)}, OFF_BY),
        relations=lines(releases, {"kept": _percent(one.relations for one in stored.records)}, KEPT),
        margins=[
            {
                "column": one.column,
                "distance": one.distance,
                "picture": paired_bars(one.ranges[:20], ("original", "published"), "people"),
            }
            for one in shown
        ],
        pairs=pairs[:MOST_PAIRS],
        losses=[] if by_value is None else by_value.rows(),
        most_values=MOST_VALUES,
        churn=churn(releases, [one.snapshot.in_table() for one in ledger.entries]),
        refusals=stored.refusals,
        accepted=stored.accepted,
        halts=stored.halts,
        sensitive=schema.sensitive.name,
        adversary=series.config.adversary,
        version=__version__,
    )


def _candidates(ledger: Ledger) -> list[Candidates]:
    return candidates_over_time(ledger.history(), ledger.knowledge())


def _percent(shares: Iterable[float | None]) -> list[float | None]:
    return [None if share is None else 100 * share for share in shares]


def _widths_over_time(ledger: Ledger) -> list[dict[str, Any]]:
    """For each column the mean width of its intervals: in the first release, in the latest, and over all."""
    found: dict[str, list[float]] = {}
    exact: dict[str, float] = {}
    for entry in ledger.entries:
        for one in widths(entry.release, entry.snapshot.schema):
            found.setdefault(one.column, []).append(one.mean)
            exact[one.column] = one.exact
    return [
        {"column": name, "first": means[0], "latest": means[-1], "mean": float(np.mean(means)), "exact": exact[name]}
        for name, means in found.items()
    ]
