"""The pictures of the reports: bars and lines that can be told apart without colours."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reanon_dagster.report.pages.page_template import GREY, INK, MARKERS, RED, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ((INK, "-"), (RED, "--"), (GREY, ":"))
MOST_TICKS = 8
FEW_BARS = 6
"""Fewer upright bars than this do not grow wider."""


def bars(values: Sequence[tuple[str, float, float, float]], axis: str) -> str:
    """Horizontal bars with their names, the first on top: values, and the ends of their intervals."""

    def draw(axes: "Axes") -> None:
        names = [_short(name) for name, *_ in values]
        reach = [[value - low for _, value, low, _ in values], [high - value for _, value, _, high in values]]
        lengths = [value for _, value, _, _ in values]
        axes.barh(range(len(values)), lengths, xerr=reach, color=INK, ecolor=RED, height=0.7)
        axes.set_yticks(range(len(values)), names)
        axes.invert_yaxis()
        axes.set_xlabel(axis)
        axes.set_xlim(left=0)

    return picture(draw, size=(5.4, 0.8 + 0.26 * max(3, len(values))))


def paired_bars(values: Sequence[tuple[str, float, float]], names: tuple[str, str], axis: str) -> str:
    """Two bars for each name: a dark one, and a hatched one below it."""

    def draw(axes: "Axes") -> None:
        places = range(len(values))
        axes.barh([at - 0.2 for at in places], [one for _, one, _ in values], 0.38, color=INK, label=names[0])
        hatched: Any = {"color": "white", "edgecolor": RED, "hatch": "////"}
        axes.barh([at + 0.2 for at in places], [two for _, _, two in values], 0.38, label=names[1], **hatched)
        axes.set_yticks(list(places), [_short(name) for name, _, _ in values])
        axes.invert_yaxis()
        axes.set_xlabel(axis)
        axes.set_xlim(left=0)
        axes.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)

    return picture(draw, size=(5.4, 1.2 + 0.34 * max(3, len(values))))


def columns(values: Sequence[tuple[str, float]], across: str, up: str) -> str:
    """Upright bars."""

    def draw(axes: "Axes") -> None:
        axes.bar(range(len(values)), [value for _, value in values], color=INK, width=0.7)
        room = 0.6 + max(0, FEW_BARS - len(values)) / 2
        axes.set_xlim(-room, len(values) - 1 + room)
        axes.set_xticks(range(len(values)), [name for name, _ in values])
        axes.set_xlabel(across)
        axes.set_ylabel(up)

    return picture(draw)


def lines(releases: Sequence[str], numbers: Mapping[str, Sequence[float | None]], up: str) -> str:
    """One line for each name, with a point for each release that has a number."""

    def draw(axes: "Axes") -> None:
        for at, (name, values) in enumerate(numbers.items()):
            colour, style = STYLES[at % len(STYLES)]
            known = [(place, value) for place, value in enumerate(values) if value is not None]
            across, height = [place for place, _ in known], [value for _, value in known]
            marker = MARKERS[at % len(MARKERS)]  # not clipped: the greatest number may be at the upper end
            axes.plot(across, height, style, marker=marker, color=colour, label=name, zorder=3 + at, clip_on=False)
        step = -(-len(releases) // MOST_TICKS)
        shown = range(0, len(releases), max(1, step))
        axes.set_xticks(list(shown), [releases[at] for at in shown])
        axes.tick_params(axis="x", labelrotation=30 if max(map(len, releases), default=0) > 5 else 0)
        axes.set_ylabel(up)
        axes.set_ylim(bottom=min([0, *(one for values in numbers.values() for one in values if one is not None)]))
        axes.grid(axis="y", color="#dddddd")
        if len(numbers) > 1:
            axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)

    return picture(draw)


def _short(name: str) -> str:
    """A name that leaves room for its bar; a dollar sign would begin a formula."""
    text = name if len(name) <= 24 else f"{name[:23]}…"
    return text.replace("$", r"\$")
