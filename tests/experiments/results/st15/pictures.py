"""The pictures of the figures of [ST15]: means over the seeds, with a bar or a band to the least and the greatest."""

from typing import Any

import numpy as np
from experiments.results.figure import Numbers
from experiments.results.panels import COLOURS, legend, line, panels
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

NAMES = {
    "sequential": "sequential, symmetric worlds",
    "ring": "sequential, ring worlds (paper)",
    "non-sequential": "non-sequential",
    "homogeneous": "homogeneous",
    "cut": "multipartite, cuts",
    "cell": "multipartite, cells",
    "adaptive": "adaptive",
    "prophetic": "prophetic",
}
NUMBERS = {name: number for number, name in enumerate(("homogeneous", "sequential", "non-sequential", "ring"))}
Populations = dict[str, Numbers]


def bars(panel: Axes, groups: dict[str, list[list[float]]]) -> None:
    """Bars side by side: for each name, [mean, least, greatest] at each place."""
    width = 0.8 / len(groups)
    for place, (name, spreads) in enumerate(groups.items()):
        shown = np.array(spreads, dtype=float)
        at = np.arange(len(shown)) + (place - (len(groups) - 1) / 2) * width
        error = [shown[:, 0] - shown[:, 1], shown[:, 2] - shown[:, 0]]
        colour = COLOURS[NUMBERS.get(name, 4 + place)]
        panel.bar(at, shown[:, 0], width, yerr=error, color=colour, label=NAMES[name], error_kw={"linewidth": 0.8})


def releases(found: Populations) -> Picture:
    """A group of bars for each release."""
    titles = [f"{name}: {one['people']:,} people, ell = {one['ell']}" for name, one in found.items()]
    picture, listed = panels(titles, rows=len(found), height=2.2, width=8)
    for panel, numbers in zip(listed, found.values(), strict=False):
        hows = [how for how in NAMES if how in numbers]
        bars(panel, {how: numbers[how]["each"] for how in hows})
        panel.set_xticks(range(len(numbers[hows[0]]["each"])), [f"V{at + 1}" for at in range(10)])
        panel.set_ylabel("LM", fontsize=9)
    legend(picture, listed[0])
    return picture


def by_ell(found: Populations) -> Picture:
    """Loss and CPU time against ell."""
    return _lines(found, "ell", ("sequential", "non-sequential"))


def by_people(found: Populations) -> Picture:
    """Loss and CPU time against the number of people."""
    return _lines(found, "people", ("sequential", "non-sequential"))


def _lines(found: Populations, across: str, hows: tuple[str, ...]) -> Picture:
    measure = next(key for key in next(iter(found.values()))[hows[0]] if key != "cpu")
    unit = "LM" if measure == "lm" else "entropy, bits"
    titles = [f"{name}: {what}" for name in found for what in (unit, "CPU of ten releases, s (not reproducible)")]
    picture, listed = panels(titles, rows=len(found), height=2.3, width=4)
    for row, numbers in enumerate(found.values()):
        for panel, key in zip(listed[2 * row : 2 * row + 2], (measure, "cpu"), strict=True):
            for how in hows:
                line(panel, numbers[across], numbers[how][key], NAMES[how], NUMBERS[how])
            panel.set_ylim(bottom=0)
            panel.set_xlabel(across, fontsize=8.5)
    legend(picture, listed[0])
    return picture


def by_threshold(found: Populations) -> Picture:
    """Loss and CPU time against p."""
    titles = [f"{name}: {what}" for name in found for what in ("LM", "CPU of ten releases, s (not reproducible)")]
    picture, listed = panels(titles, rows=len(found), height=2.2, width=4)
    for row, numbers in enumerate(found.values()):
        for panel, key in zip(listed[2 * row : 2 * row + 2], ("lm", "cpu"), strict=True):
            line(panel, range(len(numbers["p"])), numbers[key], "sequential", NUMBERS["sequential"])
            panel.set_xticks(range(len(numbers["p"])), [str(p) for p in numbers["p"]])
            panel.set_xlabel("p, rows that are matched at once", fontsize=8.5)
            panel.set_ylim(bottom=0)
    return picture


def dynamics(found: Populations) -> Picture:
    """Adaptive and prophetic releases, in the three settings."""
    names = ("columns come late", "people come late", "both")
    picture, listed = panels([f"{one}: {name}" for one in found for name in names], rows=len(found), height=2, width=3)
    for row, numbers in enumerate(found.values()):
        for panel, name in zip(listed[3 * row : 3 * row + 3], names, strict=True):
            bars(panel, {kind: numbers[name][kind] for kind in ("adaptive", "prophetic")})
            panel.set_xticks(range(4), [f"V{at + 1}" for at in range(4)])
        listed[3 * row].set_ylabel("LM", fontsize=9)
    legend(picture, listed[0])
    return picture


def comparison(found: Populations) -> Picture:
    """LM of the three algorithms, on a logarithmic scale, for each setting and size."""
    titles = [name for name in found for _ in (0, 1)][::2]
    picture, listed = panels(titles, rows=len(found), height=2.4, width=8)
    for panel, numbers in zip(listed, found.values(), strict=False):
        cases: dict[str, Any] = {
            f"{setting}, {int(people):,}".replace("releases", "rel.").replace(", ", "\n"): one
            for setting, by_people in numbers.items()
            if setting not in ("people", "seeds")
            for people, one in by_people.items()
        }
        bars(panel, {name: [one[name]["lm"] for one in cases.values()] for name in ("cut", "cell", "sequential")})
        panel.set_xticks(range(len(cases)), list(cases), fontsize=6)
        panel.set_yscale("symlog", linthresh=1e-4)
        panel.set_ylim(0, 1)
        panel.set_ylabel("LM (linear below 0.0001)", fontsize=8)
    legend(picture, listed[0])
    return picture
