"""The page of `reanon compare`: a matrix of techniques and attacks, utility, and a Pareto picture."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reanon_dagster.report.pages.page_template import GREY, INK, MARKERS, page, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ERROR = "query-error"
TECHNIQUES_IN_A_TABLE = 4
"""Of the questions: each answer has an interval."""


def comparison_page(
    title: str,
    releases: Sequence[str],
    rows: Sequence[tuple[str, str, str]],
    document: Mapping[str, Any],
    front: Sequence[str],
) -> str:
    """The page for the steward; `rows` are label, parameters and refusal, `document` is what `--json` writes."""
    cells: dict[str, list[dict[str, Any]]] = {label: [] for label, _, _ in rows}
    for cell in document["cells"]:
        cells[cell["technique"]].append(cell)
    values: dict[str, dict[str, float]] = {label: {} for label, _, _ in rows}
    for one in document["metrics"]:
        values[one["technique"]][one["metric"]] = one["value"]
    ran = {cell["attack"] for cell in document["cells"] if cell["exposed"] is not None}
    metrics = list(dict.fromkeys(one["metric"] for one in document["metrics"]))
    points = exposure_points(document)
    return page(
        "comparison.html",
        title=title,
        releases=releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}",
        attacks=[name for name in dict.fromkeys(cell["attack"] for cell in document["cells"]) if name in ran],
        left_out=[name for name in dict.fromkeys(cell["attack"] for cell in document["cells"]) if name not in ran],
        metrics=metrics,
        of=max((cell["of"] or 0 for cell in document["cells"]), default=0),
        rows=[
            {
                "label": label,
                "way": way,
                "refusal": refusal,
                "cells": cells[label],
                "metrics": [values[label].get(metric) for metric in metrics],
                "seconds": document["seconds"].get(label, 0.0),
            }
            for label, way, refusal in rows
        ],
        attack_notes=_notes(document["cells"], [label for label, _, refusal in rows if not refusal]),
        questions=document["questions"],
        blocks=_blocks([label for label, _, refusal in rows if not refusal]),
        pareto=picture(lambda axes: _draw(axes, points), size=(5.4, 3.8)) if points else "",
        front=list(front),
    )


def _notes(cells: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """For each attack its notes, and the techniques that each one is about: many say the same."""
    notes: dict[str, dict[str, list[str]]] = {}
    for cell in cells:
        if cell["technique"] in labels:
            notes.setdefault(cell["attack"], {}).setdefault(cell["note"], []).append(cell["technique"])
    return notes


def _blocks(labels: Sequence[str]) -> list[Sequence[str]]:
    """The techniques in tables that fit a page."""
    return [labels[at : at + TECHNIQUES_IN_A_TABLE] for at in range(0, len(labels), TECHNIQUES_IN_A_TABLE)]


def exposure_points(document: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """For each technique that published: the people exposed by its strongest attack, and its query error."""
    errors = {one["technique"]: float(one["value"]) for one in document["metrics"] if one["metric"] == ERROR}
    points: dict[str, tuple[float, float]] = {}
    for label, error in errors.items():
        found = [cell["exposed"] for cell in document["cells"] if cell["technique"] == label]
        counts = [count for count in found if count is not None]
        if counts:
            points[label] = (float(max(counts)), error)
    return points


def _draw(axes: "Axes", points: Mapping[str, tuple[float, float]]) -> None:
    """Each technique with a shape of its own: labels beside points would cover each other."""
    for at, (label, (exposed, error)) in enumerate(points.items()):
        colour = INK if exposed == 0 else GREY
        marker = MARKERS[at % len(MARKERS)]
        axes.plot([100 * error], [exposed], marker, label=label, color=colour, markersize=8, markeredgecolor="black")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=-0.3)
    widest = max(1.0, *(100 * error for _, error in points.values()))
    axes.set_xlim(-0.04 * widest, 1.08 * widest)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("a typical count is off by (%)")
    axes.set_ylabel("people exposed")
    axes.grid(color="#dddddd")
    axes.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
