"""[XT07] Figure 9: the CPU time of a release, by r and by m, beside the work that it does."""

import time
from statistics import median

import numpy as np
from experiments.results.figure import Figure, Numbers
from experiments.results.panels import Picture, legend, line, panels, swept_axis
from experiments.results.t_series import SEEDS, Scale, snapshots, spread
from experiments.results.xt07.scales import POPULATIONS, SHARES, TITLES, fixed_m, series_scale, swept_m
from experiments.results.xt07.ways import WAYS, with_m

from reanon_core.publishing import publish
from reanon_core.techniques.m_invariance.technique import MInvariance

RELEASES = 5
"""The first release is left out: all its rows are new, whatever r is."""


def figure_9(population: str, small: bool) -> Numbers:
    """The time of a release by r and by m, and the groups and buckets that it makes."""
    m, swept = fixed_m(population, small=small), swept_m(population, small=small)
    scales = [series_scale(population, share, small=small, releases=RELEASES) for share in SHARES]
    by_r = {way: [_cost(with_m(way, m), population, scale) for scale in scales] for way in WAYS}
    by_m = {way: [_cost(with_m(way, one), population, scales[0]) for one in swept] for way in WAYS}
    found = {"rows": scales[0].rows, "r": [scale.update for scale in scales], "m": list(swept)}
    for measure in ("cpu seconds", "groups", "buckets"):
        for swept_name, by in (("r", by_r), ("m", by_m)):
            found[f"{measure} by {swept_name}"] = {way: [one[measure] for one in of] for way, of in by.items()}
    return found


def _cost(technique: MInvariance, population: str, scale: Scale) -> dict[str, list[float]]:
    """The median time of a release after the first, and the groups and the signatures in use of the last."""
    seconds, groups, buckets = [], [], []
    for seed in SEEDS:
        state, rng, times = technique.initial_state(), np.random.default_rng(seed), []
        for snapshot in list(snapshots(population, seed, scale)):
            begun = time.process_time()
            made = publish(technique, snapshot, state, rng)
            times.append(time.process_time() - begun)
            state = made.state
        here = state.roster.persons.searchsorted(snapshot.persons)
        seconds.append(median(times[1:]))
        groups.append(made.release.boxes.count)
        buckets.append(len(np.unique(state.roster.signature[here])))
    return {"cpu seconds": spread(seconds), "groups": spread(groups), "buckets": spread(buckets)}


def draw_9(document: dict[str, Numbers]) -> Picture:
    """For each population a panel by r, and below it one by m."""
    titles = [f"{TITLES[name]}, m = {fixed_m(name, small=False)}" for name in document]
    titles += [f"{TITLES[name]}, r = {of['r'][0]:,}" for name, of in document.items()]
    picture, listed = panels(titles, rows=2, height=2.5)
    for swept, half in (("r", listed[: len(document)]), ("m", listed[len(document) :])):
        for panel, numbers in zip(half, document.values(), strict=False):
            for number, (way, spreads) in enumerate(numbers[f"cpu seconds by {swept}"].items()):
                line(panel, numbers[swept], spreads, way, number)
            panel.set_ylim(bottom=0)
            swept_axis(panel, swept, numbers[swept])
            panel.set_ylabel("CPU seconds a release", fontsize=9)
    legend(picture, listed[0])
    return picture


FIGURE_9 = Figure(title="CPU time of a release by r and by m", populations=POPULATIONS, measure=figure_9, draw=draw_9)
