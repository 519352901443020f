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
        if name == "fig6" and source.exists():  # the utility of the same runs
            figure = fig8(list(json.loads(source.read_text()).values()))
            figure.savefig(folder / "js-reduce-fig8.png", dpi=DPI)
            plt.close(figure)


def curve(axes: plt.Axes, runs: list[list[dict[str, float]]], label: str, key: str = "gain", **style: object) -> None:
    """The mean over seeds, and the range between the least and the greatest."""
    values = np.array([[view[key] for view in run] for run in runs])
    at = np.arange(1, values.shape[1] + 1)
    (line,) = axes.plot(at, values.mean(axis=0), label=label, **style)
    axes.fill_between(at, values.min(axis=0), values.max(axis=0), alpha=0.2, color=line.get_color(), linewidth=0)


def panels(seeds: list[dict], title: str) -> plt.Figure:
    """One panel for each technique, one curve for each kind of knowledge."""
    names = list(seeds[0])
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 3.4), sharey=True)
    for axis, name in zip(np.atleast_1d(axes), names, strict=True):
        for kind, dash in zip(seeds[0][name], DASHES, strict=False):
            curve(axis, [seed[name][kind] for seed in seeds], kind, linestyle=dash)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("view")
        axis.axhline(0, color="gray", linewidth=0.5)
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel("adversary gain")
    np.atleast_1d(axes)[0].legend(fontsize=8)
    figure.suptitle(f"{title} (mean and range of {len(seeds)} seeds)", fontsize=11)
    return figure


def fig3(seeds: list[dict]) -> plt.Figure:
    return panels(seeds, "Existing techniques against kinds of knowledge")


def fig4(seeds: list[dict]) -> plt.Figure:
    return panels(seeds, "How far back the adversary's domain knowledge reaches")


def fig5(seeds: list[dict]) -> plt.Figure:
    figure = panels(seeds, "JS-reduce, t = .4, j = .5, merge: what defender and adversary know")
    figure.axes[0].set_ylim(-0.02, 0.25)
    return figure


def fig6(seeds: list[dict]) -> plt.Figure:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for name in seeds[0]:
        style = {"linestyle": "--"} if name.startswith("control") else {}
        for axis, key in zip(axes, ("confidence", "gain"), strict=True):
            curve(axis, [seed[name]["views"] for seed in seeds], name, key, **style)
    for axis, key in zip(axes, ("confidence", "gain"), strict=True):
        axis.set(xlabel="view", ylabel=f"adversary {key}")
        axis.grid(alpha=0.3)
    axes[1].axhline(BOUND, color="black", linewidth=0.8, linestyle=":")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(f"Attack and defence both know the model (mean and range of {len(seeds)} seeds)", fontsize=11)
    return figure


def fig7(seeds: list[dict]) -> plt.Figure:
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6))
    for axis, leftovers in zip(axes[:2], ("merge", "suppress"), strict=True):
        for name in (name for name in seeds[0] if name.startswith(leftovers)):
            control = name.endswith("=64")
            label = "no JS test" if control else name.split(" ")[1]
            style = {"linestyle": "--", "color": "black"} if control else {}
            curve(axis, [seed[name]["views"] for seed in seeds], label, **style)
        axis.set(title=f"leftovers: {leftovers}", xlabel="view", ylabel="adversary gain", ylim=(-0.01, 0.3))
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    names = [name for name in seeds[0] if name.startswith("suppress") and not name.endswith("=64")]
    at = np.arange(len(names))
    for offset, leftovers in ((-0.2, "suppress"), (0.2, "merge")):
        share = [[seed[n.replace("suppress", leftovers)]["utility"]["withheld share"] for seed in seeds] for n in names]
        axes[2].bar(at + offset, 100 * np.mean(share, axis=1), 0.4, label=leftovers)
    axes[2].set_xticks(at, [name.split(" ")[1] for name in names])
    axes[2].set(title="rows withheld, % (mean of all views)")
    axes[2].legend(fontsize=8)
    figure.suptitle(f"The threshold j at t = .5 (mean and range of {len(seeds)} seeds)", fontsize=11)
    return figure


def fig8(seeds: list[dict]) -> plt.Figure:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    names = list(seeds[0])
    values = np.array([[seed[name]["utility"]["gcp"] for seed in seeds] for name in names])
    spread = np.abs(values - values.mean(axis=1, keepdims=True)).max(axis=1)
    colours = [f"C{number}" for number in range(len(names))]
    axes[0].barh(np.arange(len(names)), values.mean(axis=1), xerr=spread, color=colours)
    axes[0].set_yticks(np.arange(len(names)), names, fontsize=8)
    axes[0].invert_yaxis()
    axes[0].set_xlabel("GCP, mean of all views")
    for name in names:
        shown = np.array([list(seed[name]["errors"].values()) for seed in seeds])
        at = [float(theta) for theta in seeds[0][name]["errors"]]
        axes[1].errorbar(at, 100 * shown.mean(axis=0), yerr=100 * np.ptp(shown, axis=0) / 2, marker="o", markersize=4)
    axes[1].set(xscale="log", xlabel="expected selectivity", ylabel="median relative error of counts, %")
    axes[1].grid(alpha=0.3)
    figure.suptitle(f"Data quality (mean and spread of {len(seeds)} seeds)", fontsize=11)
    return figure


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


DRAWN = {one.__name__: one for one in (fig3, fig4, fig5, fig6, fig7, frontier)}
