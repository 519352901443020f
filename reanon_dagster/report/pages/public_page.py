"""The public report of one release: a function of what anyone can download, and of nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reanon_core.catalog import TECHNIQUES
from reanon_core.estimate.answers import Estimate
from reanon_core.estimate.fitness import estimates_of, fitness, fitness_lines, value_counts
from reanon_core.model.history import Published
from reanon_core.model.published_columns import published_values
from reanon_core.model.schema import Schema
from reanon_core.tables.release_table import published_tables
from reanon_dagster.report.pages.page_template import page
from reanon_dagster.report.pages.pictures import bars, lines
from reanon_dagster.report.pages.release_numbers import (
    fewest_values,
    group_sizes,
    told_sizes,
    widths,
)

MOST_VALUES = 12
LONGEST_HISTORY = 24
"""The releases in the table of the history, at most."""
COUNTS = ("rows", "groups", "counterfeits", "withheld", "dirty")


def public_report(
    *,
    title: str,
    description: str | None,
    schema: Schema,
    published: Published,
    manifest: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]],
    before: int = 0,
) -> str:
    """The page that may lie beside the table of a release. Same arguments, same bytes.

    `manifest` is that of this release; its `files` may still be without this page. `earlier` are the manifests of the
    releases before it, in order, without the first `before` ones. Nothing private may be among the arguments, and
    nothing else is read.
    """
    release, parameters = published.release, dict(manifest["technique"])
    name = parameters.pop("name")
    sizes = group_sizes(release)
    tables = published_tables(release, published.auxiliary, schema)
    asked = estimates_of(tables, schema, manifest["technique"], int(manifest["withheld"]))
    values = value_counts(asked) if asked.sensitive is not None else {}
    found = fitness(asked)
    history = [*earlier, manifest]
    told = told_sizes(sizes)
    return page(
        "public.html",
        title=title,
        description=description or "",
        series=manifest["series"],
        release=manifest["release"],
        technique=name,
        promise=promise_of(name),
        caution=caution_of(name),
        parameters=parameters,
        holds=all(one["holds"] for one in manifest["verdicts"] if one["required"]),
        verdicts=manifest["verdicts"],
        manifest=manifest,
        sizes=told,
        people=int(manifest["rows"]) - (0 if release.person_rows is not None else int(manifest["counterfeits"] or 0)),
        changes=changes(history),
        uses=[] if found is None else list(fitness_lines(found)),
        fewest=fewest_values(release) if release.shows(schema.sensitive.name) else None,
        grouped=release.grouped,
        decoupled=release.person_rows is not None,
        widths=widths(release, schema),
        sensitive=schema.sensitive.name,
        values=bars(first_values(values), "people, estimated from the release") if values else "",
        left_values=max(0, len(values) - MOST_VALUES),
        example=example_group(published, schema),
        history=[{key: one.get(key) for key in ("release", *COUNTS)} for one in history[-LONGEST_HISTORY:]],
        left_out=before + max(0, len(history) - LONGEST_HISTORY),
        trend=_trend(history[-LONGEST_HISTORY:]),
    )


def first_values(values: Mapping[str, Estimate]) -> list[tuple[str, float, float, float]]:
    """The most frequent values with their intervals."""
    return [(name, one.value, one.low, one.high) for name, one in list(values.items())[:MOST_VALUES]]


def changes(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is different from the release before, in plain words; nothing for the first one."""
    if len(history) < 2:
        return []
    before, now = history[-2:]
    words = {"rows": "rows", "counterfeits": "counterfeits", "withheld": "withheld people"}
    found = []
    for key, what in words.items():
        more = int(now.get(key) or 0) - int(before.get(key) or 0)
        found.append(f"{abs(more):,} {'more' if more > 0 else 'fewer'} {what}" if more else f"as many {what}")
    return found


def promise_of(technique: str) -> str:
    """What a technique does, in one sentence; empty if it is not one of ours."""
    return ((TECHNIQUES[technique].__doc__ or "").splitlines() or [""])[0] if technique in TECHNIQUES else ""


def caution_of(technique: str) -> str:
    """What one must know before relying on a technique, if that does not depend on its parameters."""
    told = getattr(TECHNIQUES.get(technique), "caution", "")
    return told if isinstance(told, str) else ""


def example_group(published: Published, schema: Schema) -> dict[str, Any] | None:
    """A group as the table shows it: one of middle size. It is an example of rows, not of a person."""
    release = published.release
    if not release.grouped or release.person_rows is not None or not release.size:
        return None
    sizes = np.bincount(release.group, minlength=release.boxes.count)
    group = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
    rows = np.flatnonzero(release.group == group)
    intervals: dict[str, list[str]] = {}
    shown: list[str] = []
    for column, listed in published_values(release, schema):
        told = [_text(listed.values[at], missing=bool(listed.missing[at])) for at in listed.positions(rows)]
        if column.role in {"least", "greatest"}:
            intervals.setdefault(column.source, []).append(told[0])
        elif column.role == "sensitive":
            shown = sorted(told)
    invented = dict(zip(published.auxiliary.group.tolist(), published.auxiliary.count.tolist(), strict=True))
    boxes = [{"column": name, "low": ends[0], "high": ends[-1]} for name, ends in intervals.items()]
    return {"boxes": boxes, "values": shown, "rows": len(rows), "counterfeits": invented.get(group, 0)}


def _text(value: object, *, missing: bool) -> str:
    return "missing" if missing else str(value)


def _trend(history: Sequence[Mapping[str, Any]]) -> str:
    """Rows, counterfeits and withheld people over the releases; nothing for the first one."""
    if len(history) < 2:
        return ""
    numbers = {key: [one.get(key) for one in history] for key in ("rows", "counterfeits", "withheld")}
    return lines([str(one["release"]) for one in history], numbers, "number")
