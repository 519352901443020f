"""[XT07] Figures 7 and 8: the median relative error of counting queries, over time, by theta and by m."""

from dataclasses import replace

import numpy as np
from experiments.results.figure import Figure, Numbers
from experiments.results.panels import Axes, Picture, legend, line, panels, swept_axis
from experiments.results.query_error_series import errors
from experiments.results.t_series import SEEDS, Scale, snapshots, spread
from experiments.results.xt07.scales import POPULATIONS, SHARES, TITLES, fixed_m, series_scale, swept_m
from experiments.results.xt07.ways import WAYS, with_m

from reanon_core.techniques.m_invariance.technique import MInvariance

THETAS = (0.02, 0.04, 0.06, 0.08, 0.1)
USUAL = 0.1
"""The selectivity of Figures 7 and 8b."""
EVERY = 5
"""Figure 8 measures the first release and every fifth after it."""
EXTREMES = (SHARES[0], SHARES[-1])


def figure_7(population: str, small: bool) -> Numbers:
    """The error over time for the least and the greatest r, and at the first release with other values."""
    m, found = fixed_m(population, small=small), {}
    for share in EXTREMES:
        scale = series_scale(population, share, small=small)
        every = max(1, (scale.releases - 1) // 8)
        lines = {way: _over_time(with_m(way, m), population, scale, every) for way in WAYS}
        at = list(range(1, scale.releases + 1, every))
        found[f"r = {scale.update:,}"] = {"release": at, "lines": lines}
    return {"m": m, "theta": USUAL, "over time": found, "first release": _causes(population, small, m)}


def figure_8(population: str, small: bool) -> Numbers:
    """The error by theta in the first 11 releases, and by m in the first 6; the mean over those that are measured."""
    m, swept = fixed_m(population, small=small), swept_m(population, small=small)
    long = series_scale(population, SHARES[0], small=small, releases=2 * EVERY + 1)
    short = series_scale(population, SHARES[0], small=small, releases=EVERY + 1)
    by_theta = {way: _mean_errors(with_m(way, m), population, long, THETAS) for way in WAYS}
    by_m = {way: [_mean_errors(with_m(way, one), population, short, (USUAL,))[0] for one in swept] for way in WAYS}
    found = {"r": long.update, "m": list(swept), "theta": list(THETAS), "by theta": by_theta, "by m": by_m}
    return {**found, "first release, without gender": without_gender(population, small, m)}


def without_gender(population: str, small: bool, m: int) -> list[list[float]]:
    """The error of the first release by theta, the paper's way, if gender is no quasi-identifier."""
    scale, runs = series_scale(population, SHARES[0], small=small, releases=1), []
    for seed in SEEDS:
        first = next(iter(snapshots(population, seed, scale)))
        columns = first.schema.quasi_identifiers
        kept = [number for number, column in enumerate(columns) if column.name not in {"gender", "sex"}]
        schema = replace(first.schema, quasi_identifiers=tuple(columns[number] for number in kept))
        series = [replace(first, schema=schema, qi=first.qi[kept])]
        [(_, taken)] = errors(with_m("the paper's way", m), series, seed, 1, THETAS)
        runs.append(taken)
    return [spread(list(at)) for at in zip(*runs, strict=True)]


def _over_time(technique: MInvariance, population: str, scale: Scale, every: int) -> list[list[float]]:
    runs = [list(errors(technique, snapshots(population, s, scale), s, every, (USUAL,))) for s in SEEDS]
    return [spread([one[0] for _, one in at]) for at in zip(*runs, strict=True)]


def _mean_errors(technique: MInvariance, population: str, scale: Scale, thetas: tuple[float, ...]) -> list[list[float]]:
    """The mean over the releases that are measured, for each theta."""
    means = []
    for seed in SEEDS:
        taken = [of for _, of in errors(technique, snapshots(population, seed, scale), seed, EVERY, thetas)]
        means.append(np.mean(taken, axis=0))
    return [spread([float(of[at]) for of in means]) for at in range(len(thetas))]


def _causes(population: str, small: bool, m: int) -> dict[str, list[float]]:
    """The error of the first release as it is, with codes in random order, and with values that depend on nothing."""
    technique, scale = with_m("the paper's way", m), series_scale(population, SHARES[0], small=small, releases=1)
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        first = next(iter(snapshots(population, seed, scale)))
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(first.schema.sensitive.values)).astype(np.int32)
        variants = {
            "as it is": first,
            "sensitive codes in random order": replace(first, sensitive=order[first.sensitive]),
            "sensitive values permuted": replace(first, sensitive=rng.permutation(first.sensitive)),
        }
        for name, snapshot in variants.items():
            [(_, [error])] = errors(technique, [snapshot], seed, 1, (USUAL,))
            found.setdefault(name, []).append(error)
    return {name: spread(values) for name, values in found.items()}


def draw_7(document: dict[str, Numbers]) -> Picture:
    """A panel for each population, a line for each way and r."""
    picture, listed = panels([f"{TITLES[name]}, m = {of['m']}" for name, of in document.items()])
    for panel, numbers in zip(listed, document.values(), strict=False):
        for column, (_, of) in enumerate(numbers["over time"].items()):
            for number, (way, spreads) in enumerate(of["lines"].items()):
                share = f"r = {EXTREMES[column]:.1%} of the rows"
                line(panel, of["release"], spreads, f"{way}, {share}", 2 * column + number)
        panel.set_xlabel("release", fontsize=9)
        _error_axis(panel)
    legend(picture, listed[0], columns=2)
    return picture


def draw_8(document: dict[str, Numbers]) -> Picture:
    """For each population a panel by theta, and below it one by m."""
    titles = [f"{TITLES[name]}, m = {fixed_m(name, small=False)}" for name in document]
    titles += [f"{TITLES[name]}, theta = 10%" for name in document]
    picture, listed = panels(titles, rows=2, height=2.5)
    for swept, half in (("theta", listed[: len(document)]), ("m", listed[len(document) :])):
        for panel, numbers in zip(half, document.values(), strict=False):
            for number, (way, spreads) in enumerate(numbers[f"by {swept}"].items()):
                line(panel, numbers[swept], spreads, way, number)
            swept_axis(panel, swept, numbers[swept])
            _error_axis(panel)
    legend(picture, listed[0])
    return picture


def _error_axis(panel: Axes) -> None:
    panel.set_ylim(bottom=0)
    panel.set_ylabel("median relative error", fontsize=9)


FIGURE_7 = Figure(title="Query error over time", populations=POPULATIONS, measure=figure_7, draw=draw_7)
FIGURE_8 = Figure(
    title="Query error by the selectivity theta and by m", populations=POPULATIONS, measure=figure_8, draw=draw_8
)
