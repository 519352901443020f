"""The pictures of the figures of [RPB12]: the mean of the seeds, with their range as a band or a bar."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from experiments.results.figure import Numbers
from experiments.results.rpb12.replays import SELECTIVITIES
from matplotlib.figure import Figure as Picture

DASHES = ("-", "--", "-.", ":", (0, (5, 4)), (0, (1, 3)), (0, (3, 1, 1, 1)))
"""Different dashes, so that curves that coincide can still be seen."""
SIZE_KEYS = ("views", "rows", "pool", "seeds", "rows of a group")
Populations = dict[str, Numbers]


def contents(numbers: Numbers) -> Numbers:
    """The curves, without the size of the run and of groups."""
    return {key: value for key, value in numbers.items() if key not in SIZE_KEYS}


def scale(name: str, numbers: Numbers) -> str:
    """Which people are shown, and how many."""
    return f"{name}: {numbers['views']} views of {numbers['rows']:,} rows, {len(numbers['seeds'])} seeds"


def curve(axes: Any, runs: list[list[float | None]], label: str, **style: Any) -> None:
    """The mean over seeds, and the range between the least and the greatest."""
    values = np.array(runs, dtype=float)
    at = np.arange(1, values.shape[1] + 1)
    (line,) = axes.plot(at, values.mean(axis=0), label=label, linewidth=1.2, **style)
    axes.fill_between(at, values.min(axis=0), values.max(axis=0), alpha=0.2, color=line.get_color(), linewidth=0)
    axes.grid(alpha=0.3)


def panels(found: Populations, most: float | None = None) -> Picture:
    """A row for each population, a panel for each technique, a curve for each kind of knowledge."""
    columns = len(contents(next(iter(found.values()))))
    picture, grid = plt.subplots(
        len(found), columns, figsize=(9, 2.5 * len(found)), sharex=True, squeeze=False, layout="constrained"
    )
    for row, (name, numbers) in zip(grid, found.items(), strict=True):
        for axes, (technique, kinds) in zip(row, contents(numbers).items(), strict=True):
            for (kind, runs), dash in zip(kinds.items(), DASHES[: len(kinds)], strict=True):
                curve(axes, runs, kind, linestyle=dash)
            axes.set_title(technique, fontsize=9)
            axes.set_ylim(-0.02, most)
        low, high = min(axes.get_ylim()[0] for axes in row), max(axes.get_ylim()[1] for axes in row)
        for axes in row:
            axes.set_ylim(low, high)
        row[0].set_ylabel(f"{name}: gain", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("view", fontsize=9)
    grid[0][0].legend(fontsize=7)
    picture.suptitle("; ".join(scale(*one) for one in found.items()), fontsize=8)
    return picture


def defenders(found: Populations) -> Picture:
    """The panels on the scale of what JS-reduce leaves."""
    return panels(found, most=0.25)


def confidence(found: Populations) -> Picture:
    """Confidence on the left, gain on the right."""
    picture, grid = plt.subplots(len(found), 2, figsize=(8, 2.7 * len(found)), squeeze=False, layout="constrained")
    for row, (name, numbers) in zip(grid, found.items(), strict=True):
        for axes, key in zip(row, ("confidence", "gain"), strict=True):
            for technique, runs in contents(numbers).items():
                curve(axes, runs[key], technique, linestyle="--" if technique.startswith("control") else "-")
            axes.set_ylabel(f"{name}: {key}", fontsize=9)
            axes.set_ylim(-0.02)
    for axes in grid[-1]:
        axes.set_xlabel("view", fontsize=9)
    picture.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7)
    picture.suptitle("; ".join(scale(*one) for one in found.items()), fontsize=8)
    return picture


def thresholds(found: Populations) -> Picture:
    """The gain by j, with leftovers merged or withheld, and what is withheld."""
    picture, grid = plt.subplots(len(found), 3, figsize=(9, 2.5 * len(found)), squeeze=False, layout="constrained")
    for row, (name, numbers) in zip(grid, found.items(), strict=True):
        for axes, (leftovers, runs) in zip(row[:2], contents(numbers).items(), strict=True):
            for label, one in runs.items():
                control = {"linestyle": "--", "color": "black"} if label == "no JS test" else {}
                curve(axes, one["gain"], label, **control)
            axes.set_title(f"leftovers: {leftovers}", fontsize=9)
            axes.set_ylim(-0.02, 0.3)
        row[0].set_ylabel(f"{name}: gain", fontsize=9)
        for offset, (leftovers, runs) in zip((-0.2, 0.2), contents(numbers).items(), strict=True):
            shares = 100 * np.array([one["withheld share"] for one in runs.values()])
            low, high = shares.mean(axis=1) - shares.min(axis=1), shares.max(axis=1) - shares.mean(axis=1)
            at = np.arange(len(runs)) + offset
            row[2].bar(at, shares.mean(axis=1), 0.4, yerr=[low, high], label=leftovers)
        row[2].set_xticks(range(len(runs)), [label.removeprefix("j = ").removesuffix(" test") for label in runs])
        row[2].set_title("rows withheld, %, by j", fontsize=9)
    grid[0][0].legend(fontsize=7)
    grid[0][2].legend(fontsize=7)
    picture.suptitle("; ".join(scale(*one) for one in found.items()), fontsize=8)
    return picture


def quality(found: Populations) -> Picture:
    """GCP by technique, errors of counts, and GCP by the size of groups."""
    picture, grid = plt.subplots(len(found), 3, figsize=(9.6, 2.6 * len(found)), squeeze=False, layout="constrained")
    for row, (name, numbers) in zip(grid, found.items(), strict=True):
        compared = numbers["compared"]
        values = np.array([one["gcp"] for one in compared.values()])
        spread = [values.mean(axis=1) - values.min(axis=1), values.max(axis=1) - values.mean(axis=1)]
        colours = [f"C{number}" for number in range(len(compared))]
        row[0].barh(range(len(compared)), values.mean(axis=1), xerr=spread, color=colours)
        row[0].set_yticks(range(len(compared)), [label.replace("-reduce,", "") for label in compared], fontsize=7)
        row[0].invert_yaxis()
        row[0].set_xlabel(f"{name}: GCP", fontsize=9)
        for label, one in compared.items():
            shown = 100 * np.array(one["errors"])
            middle = shown.mean(axis=0)
            row[1].errorbar(
                SELECTIVITIES, middle, yerr=[middle - shown.min(axis=0), shown.max(axis=0) - middle], marker="o",
                markersize=3, label=label, linewidth=1,
            )  # fmt: skip
        row[1].set(xscale="log")
        row[1].set_xlabel("expected selectivity", fontsize=9)
        row[1].set_ylabel("error of counts, %", fontsize=9)
        for family, members in numbers["by size"].items():
            sizes = [np.mean(one["group size"]) for one in members.values()]
            row[2].plot(sizes, [np.mean(one["gcp"]) for one in members.values()], "o-", markersize=3, label=family)
        for (label, one), colour in zip(compared.items(), colours, strict=True):
            row[2].plot(np.mean(one["group size"]), np.mean(one["gcp"]), "x", color=colour, label=f"_{label}")
        row[2].set_xlabel("rows of a group (x: the bars)", fontsize=9)
        row[2].set_ylabel("GCP", fontsize=9)
        row[2].legend(fontsize=7)
        for axes in row[1:]:
            axes.grid(alpha=0.3)
    seeds = len(next(iter(found.values()))["seeds"])
    picture.suptitle(f"Data quality, the first 8 views, {seeds} seeds", fontsize=8)
    return picture
