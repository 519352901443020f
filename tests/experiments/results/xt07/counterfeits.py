"""[XT07] Figures 5 and 6: how many counterfeits a release needs, over time, by r and by m."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from experiments.results.count_series import CountedRelease, Leaving, counted_releases
from experiments.results.figure import Figure, Numbers
from experiments.results.panels import Axes, Picture, legend, line, panels, swept_axis
from experiments.results.t_series import SEEDS, Scale, spread, value_counts
from experiments.results.xt07.scales import POPULATIONS, SHARES, TITLES, fixed_m, series_scale, swept_m
from experiments.results.xt07.ways import DEFAULT, PAPER

from reanon_core.model.arrays import Int64
from reanon_core.techniques.m_invariance.technique import MInvariance

DEEP = MInvariance(m=2, balancing="filled")


def as_counted(people: Int64) -> Int64:
    """The people of each value, as they are."""
    return people


def equal_shares(people: Int64) -> Int64:
    """As many people and values, all values equally frequent."""
    equal = np.full(len(people), people.sum() // len(people))
    equal[: people.sum() % len(people)] += 1
    return equal


def without_rare(people: Int64) -> Int64:
    """The people of the two rarest values have the value in the middle instead."""
    order, found = np.argsort(people, kind="stable"), people.copy()
    found[order[len(order) // 2]] += people[order[:2]].sum()
    found[order[:2]] = 0
    return found


LINES: dict[str, tuple[MInvariance, Leaving, Callable[[Int64], Int64]]] = {
    "the paper's way": (PAPER, "random", as_counted),
    "the paper's way, the oldest leave first": (PAPER, "oldest", as_counted),
    "the paper's way, two rarest values removed": (PAPER, "random", without_rare),
    "the paper's way, equal shares": (PAPER, "random", equal_shares),
    "the paper's way, equal shares, the oldest leave first": (PAPER, "oldest", equal_shares),
    "filled, deep": (DEEP, "random", as_counted),
    "default: blind, deep": (DEFAULT, "random", as_counted),
}
"""The technique, who leaves, and how frequent the values are."""
SWEPT = (
    "the paper's way",
    "the paper's way, the oldest leave first",
    "the paper's way, two rarest values removed",
    "filled, deep",
    "default: blind, deep",
)


def figure_5(population: str, small: bool) -> Numbers:
    """Each line over time, and what it comes to."""
    scale, m = series_scale(population, SHARES[0], small=small), fixed_m(population, small=small)
    lines = {}
    for name in LINES:
        runs = [_run(name, population, seed, scale, m) for seed in _seeds(small)]
        lines[name] = {**_summary(runs), "by release": _by_release(runs)}
    return {"m": m, "r": scale.update, "rows": scale.rows, "releases": scale.releases, "lines": lines}


def figure_6(population: str, small: bool) -> Numbers:
    """The mean number of counterfeits a release, by r and by m; None where no seed could publish to the end."""
    m = fixed_m(population, small=small)
    shares = SHARES[:2] if small else SHARES
    scales = [series_scale(population, share, small=small) for share in shares]
    by_r = {name: [_mean(name, population, scale, m, small) for scale in scales] for name in SWEPT}
    swept = swept_m(population, small=small)
    by_m = {name: [_mean(name, population, scales[0], one, small) for one in swept] for name in SWEPT}
    return {
        "rows": scales[0].rows,
        "r": [scale.update for scale in scales],
        "by r": by_r,
        "m": list(swept),
        "by m": by_m,
    }


def _seeds(small: bool) -> tuple[int, ...]:
    return SEEDS[:2] if small else SEEDS


def _run(name: str, population: str, seed: int, scale: Scale, m: int) -> list[CountedRelease]:
    technique, leaving, frequencies = LINES[name]
    people = frequencies(value_counts(population, seed, scale.people))
    return list(counted_releases(replace(technique, m=m), people, scale, leaving, np.random.default_rng(seed)))


def _mean(name: str, population: str, scale: Scale, m: int, small: bool) -> list[float] | None:
    runs = [_run(name, population, seed, scale, m) for seed in _seeds(small)]
    if any(len(run) < scale.releases for run in runs):
        return None
    return spread([float(np.mean([one.counterfeits for one in run])) for run in runs])


def _summary(runs: list[list[CountedRelease]]) -> Numbers:
    needed = [[one.counterfeits for one in run] for run in runs]
    absent = [sum(one.absent for one in run) / max(1, sum(of)) for run, of in zip(runs, needed, strict=True)]
    return {
        "mean": spread([float(np.mean(of)) for of in needed]),
        "greatest": spread([max(of) for of in needed]),
        "releases without": spread([of.count(0) for of in needed]),
        "gaps": spread([float(np.mean([one.gaps for one in run])) for run in runs]),
        "share for an absent value": spread(absent),
        "buckets at the end": spread([run[-1].buckets for run in runs]),
        "refused series": sum(len(run) < max(map(len, runs)) for run in runs),
    }


def _by_release(runs: list[list[CountedRelease]]) -> list[list[float]]:
    longest = max(map(len, runs))
    return [spread([run[at].counterfeits for run in runs if at < len(run)]) for at in range(longest)]


def draw_5(document: dict[str, Numbers]) -> Picture:
    """A panel for each population, a line for each way."""
    picture, listed = panels([f"{TITLES[name]}, m = {of['m']}, r = {of['r']:,}" for name, of in document.items()])
    for panel, numbers in zip(listed, document.values(), strict=False):
        for number, (name, of) in enumerate(numbers["lines"].items()):
            line(panel, range(1, len(of["by release"]) + 1), of["by release"], name, number)
        _counterfeit_axis(panel)
        panel.set_xlabel("release", fontsize=9)
    legend(picture, listed[0], columns=3)
    return picture


def draw_6(document: dict[str, Numbers]) -> Picture:
    """For each population a panel by r, and below it one by m."""
    titles = [f"{TITLES[name]}, m = {fixed_m(name, small=False)}" for name in document]
    titles += [f"{TITLES[name]}, r = {of['r'][0]:,}" for name, of in document.items()]
    picture, listed = panels(titles, rows=2, height=2.7)
    for swept, half in (("r", listed[: len(document)]), ("m", listed[len(document) :])):
        for panel, numbers in zip(half, document.values(), strict=False):
            for name, of in numbers[f"by {swept}"].items():
                line(panel, numbers[swept], of, name, list(LINES).index(name))
            _counterfeit_axis(panel)
            swept_axis(panel, swept, numbers[swept])
    legend(picture, listed[0], columns=3)
    return picture


def _counterfeit_axis(panel: Axes) -> None:
    panel.set_yscale("symlog", linthresh=10)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("counterfeits in a release", fontsize=9)


FIGURE_5 = Figure(title="Counterfeits in each release", populations=POPULATIONS, measure=figure_5, draw=draw_5)
FIGURE_6 = Figure(
    title="Counterfeits in a release, by the update volume r and by m",
    populations=POPULATIONS,
    measure=figure_6,
    draw=draw_6,
)
