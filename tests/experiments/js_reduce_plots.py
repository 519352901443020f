"""Draws the figures of experiments/js_reduce.py: means over seeds, with their spread."""

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

BOUND = 0.15
DASHES = ("-", "--", "-.", ":", (0, (5, 4)), (0, (1, 3)))
"""Different dashes, so that curves that coincide can still be seen."""
MONDRIAN = "Mondrian, k = 10, t .3 to .8"
DPI = 110


def draw(folder: Path, names: list[str]) -> None:
    """Draw every figure whose numbers have been computed."""
    for name in names:
        source = folder / f"js-reduce-{name}.json"
        if source.exists() and name in DRAWN:
            found = json.loads(source.read_text())
            figure = DRAWN[name](list(found.values()))
            if figure.get_layout_engine() is None:
                figure.tight_layout()
            figure.savefig(folder / f"js-reduce-{name}.png", dpi=DPI)
            plt.close(figure)


def frontier(seeds: list[dict]) -> plt.Figure:
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    families = {
        "j = .3": " j=0.3",
        "j = .5": " j=0.5",
        "j = .6": " j=0.6",
        "no JS test": " j=64",
        MONDRIAN: "Mondrian",
    }
    for label, mark in families.items():
        names = [name for name in seeds[0] if (name.endswith(mark) if mark != "Mondrian" else name.startswith(mark))]
        point = np.array([[[s[n]["gcp"], s[n]["last"]["gain"], s[n]["withheld share"]] for s in seeds] for n in names])
        mean = point.mean(axis=1)
        style = {"linestyle": "--"} if label in {"no JS test", MONDRIAN} else {}
        (line,) = axes[0].plot(mean[:, 0], mean[:, 1], marker="o", markersize=4, label=label, **style)
        spread = np.ptp(point[:, :, 1], axis=1) / 2
        axes[0].errorbar(mean[:, 0], mean[:, 1], yerr=spread, fmt="none", color=line.get_color())
        if label == "no JS test":
            for name, place in zip(names, mean, strict=True):
                axes[0].annotate(name.split()[0], place[:2], xytext=(4, 4), textcoords="offset points", fontsize=7)
        if not style:
            tried = [float(name.split()[0][2:]) for name in names]
            dash = DASHES[list(families).index(label)]
            axes[1].plot(tried, 100 * mean[:, 2], marker="o", markersize=4, label=label, linestyle=dash)
    axes[0].axhline(BOUND, color="black", linewidth=0.8, linestyle=":")
    axes[0].set(xlabel="GCP (information loss)", ylabel="gain at view 24")
    axes[1].axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes[1].set(xlabel="t", ylabel="rows withheld with merge, %")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.suptitle(f"The frontier, t from .25 to .5 (mean and range of {len(seeds)} seeds)", fontsize=11)
    return figure


DRAWN = {one.__name__: one for one in (frontier,)}
