"""The public report of one release: a function of what anyone can download, and of nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reanon_core.catalog import TECHNIQUES
from reanon_core.model.history import Published
from reanon_core.model.published_columns import published_values
from reanon_core.model.schema import Schema
from reanon_dagster.report.pages.page_template import page
from reanon_dagster.report.pages.pictures import bars, columns, lines
from reanon_dagster.report.pages.release_numbers import (
    fewest_values,
    group_sizes,
    size_counts,
    sized_things,
    value_estimates,
    widths,
    with_rest,
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
    values = value_estimates(published, schema)
    history = [*earlier, manifest]
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
        smallest=int(sizes.min()) if len(sizes) else 0,
        fewest=fewest_values(release) if release.shows(schema.sensitive.name) else None,
        grouped=release.grouped,
        decoupled=release.person_rows is not None,
        sizes=columns(size_counts(sizes), *sized_things(release)) if len(sizes) else "",
        widths=widths(release, schema),
        sensitive=schema.sensitive.name,
        values=bars(with_rest(values, MOST_VALUES), "people, estimated from the release") if values else "",
        value_list=with_rest(values, MOST_VALUES),
        example=example_group(published, schema),
        history=[{key: one.get(key) for key in ("release", *COUNTS)} for one in history[-LONGEST_HISTORY:]],
        left_out=before + max(0, len(history) - LONGEST_HISTORY),
        trend=_trend(history[-LONGEST_HISTORY:]),
    )


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
