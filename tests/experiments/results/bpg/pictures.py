"""The pictures of the figures of [BPG]."""

import numpy as np
from experiments.results.figure import Numbers
from experiments.results.panels import COLOURS, legend, line, panels
from matplotlib.figure import Figure as Picture

TITLES = {"occupation": "census, occupation", "income": "census, income", "adult": "Adult, occupation"}
SIZE_KEYS = ("rows", "r", "releases", "k")


def runs(numbers: Numbers) -> Numbers:
    """The techniques, without the size of the run."""
    return {key: value for key, value in numbers.items() if key not in SIZE_KEYS}


def times(found: dict[str, Numbers]) -> Picture:
    """The total and the mean time, by r."""
    titles = [f"{TITLES[name]}: {what}" for what in ("total CPU, s", "CPU of a release, ms") for name in found]
    picture, listed = panels(titles, rows=2, height=2.2, width=3)
    for row, each in enumerate((False, True)):
        for panel, numbers in zip(listed[row * len(found) :], found.values(), strict=False):
            for number, name in enumerate(runs(next(iter(numbers.values())))):
                taken = [
                    np.array(one[name]["cpu"]) * (1000 / one["releases"] if each else 1) for one in numbers.values()
                ]
                line(panel, range(len(numbers)), [list(one) for one in taken], name, number)
            panel.set_xticks(range(len(numbers)), [f"r = {rate}" for rate in numbers])
            panel.set_ylim(bottom=0)
    legend(picture, listed[0])
    picture.suptitle("Times of one run, not reproducible", fontsize=8)
    return picture


def information(found: dict[str, Numbers]) -> Picture:
    """FEM and VEM by release, a row for each population."""
    titles = [
        f"{TITLES[name]}, r = {rate}: {measure.upper()}, bits"
        for name, numbers in found.items()
        for rate in numbers
        for measure in ("vem", "fem")
    ]
    picture, listed = panels(titles, rows=len(found), height=1.9, width=max(2.6, 10 / len(titles)))
    for panel in listed:
        panel.title.set_fontsize(7.5)
    places = iter(listed)
    for numbers in found.values():
        for one in numbers.values():
            for measure in ("vem", "fem"):
                panel = next(places)
                for number, (name, run) in enumerate(runs(one).items()):
                    shown = np.array(run[measure])
                    at = 1 + np.arange(len(shown)) * (one["releases"] - 1) / (len(shown) - 1)
                    panel.plot(at, shown[:, 0], color=COLOURS[number], label=name, linewidth=1.2)
                    panel.fill_between(at, shown[:, 1], shown[:, 2], color=COLOURS[number], alpha=0.25, linewidth=0)
                    if measure == "vem" and name == "bpg (paper)":
                        alone = np.array(run["vem of the selected"])[:, 0]
                        panel.plot(at, alone, "--", color=COLOURS[number], label=f"{name}, dirty records not counted")
                panel.set_ylim(bottom=0)
    legend(picture, listed[0])
    return picture
