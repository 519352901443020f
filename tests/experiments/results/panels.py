"""Pictures of numbers: panels side by side, lines with a band from the least to the greatest of the seeds."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

COLOURS = ("#7f7f7f", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def panels(
    titles: Sequence[str], *, rows: int = 1, height: float = 3.2, width: float = 3.7
) -> tuple[Picture, list[Axes]]:
    """A picture with a panel for each title, in rows of the same length."""
    columns = -(-len(titles) // rows)
    size = (width * columns, height * rows + 0.3)
    picture, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    listed = list(grid.flat)
    for panel, title in zip(listed, titles, strict=False):
        panel.set_title(title, fontsize=9.5, loc="left")
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8.5)
    for panel in listed[len(titles) :]:
        panel.set_visible(False)
    return picture, listed


def line(panel: Axes, at: Sequence[float], spreads: Sequence[Sequence[float] | None], label: str, number: int) -> None:
    """A line through the means of [mean, least, greatest], with a band; None is a gap."""
    shown = np.array([one if one is not None else (np.nan,) * 3 for one in spreads], dtype=float)
    colour = COLOURS[number % len(COLOURS)]
    marker = "o" if len(at) <= 25 else None
    panel.plot(at, shown[:, 0], color=colour, label=label, linewidth=1.5, marker=marker, markersize=3)
    panel.fill_between(at, shown[:, 1], shown[:, 2], color=colour, alpha=0.2, linewidth=0)


def legend(picture: Picture, panel: Axes, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = panel.get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8.5)


def swept_axis(panel: Axes, name: str, values: Sequence[float]) -> None:
    """The parameter that is swept, with a tick for each of its values; those that double are evenly spaced."""
    if values[-1] >= 8 * values[0]:
        panel.set_xscale("log")
    panel.set_xticks(values, [f"{value:,}" for value in values])
    panel.minorticks_off()
    panel.set_xlabel(name, fontsize=9)
