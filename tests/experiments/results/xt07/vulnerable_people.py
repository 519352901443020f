"""[XT07] Figure 4: people whose value is certain once releases that are l-diverse one by one are compared."""

import numpy as np
from experiments.results.figure import Figure, Numbers
from experiments.results.panels import Picture, legend, line, panels, swept_axis
from experiments.results.t_series import SEEDS, Scale, snapshots, spread
from experiments.results.xt07.scales import POPULATIONS, SHARES, TITLES, series_scale

from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.recoding.mondrian import Diversity
from reanon_core.replay import replay
from reanon_core.techniques.mondrian.technique import Mondrian

ELLS = (2, 6, 10)
FORMS: tuple[Diversity, ...] = ("frequency", "distinct")
"""At most one row in ell of a group has the same value, or a group has ell values."""
DIVISORS = (20, 5, 1)
"""How many times more people the paper's series have: the sweep over r uses the first, which is as large as Adult."""


def figure_4(population: str, small: bool) -> Numbers:
    """The share of all people who are vulnerable, by r, for each form of l-diversity; and by the size of the table."""
    scales = [series_scale(population, share, small=small, divisor=DIVISORS[0]) for share in SHARES]
    ells = [ell for ell in ELLS if population != "adult" or ell <= 6]
    lines = {
        f"{form}, l = {ell}": [vulnerable(population, scale, form, ell) for scale in scales]
        for form in FORMS
        for ell in ells
    }
    found = {"people": scales[0].people, "r": [scale.update for scale in scales], "lines": lines}
    divisors = DIVISORS[:1] if population == "adult" else DIVISORS
    sizes = [series_scale(population, SHARES[-1], small=small, divisor=divisor) for divisor in divisors]
    by_size = {f"{form}, l = 2": [vulnerable(population, scale, form, 2) for scale in sizes] for form in FORMS}
    shown = [shown_rows(population, scale) for scale in sizes]
    return {**found, "rows": [scale.rows for scale in sizes], "by rows": by_size, "rows in a person's group": shown}


def vulnerable(population: str, scale: Scale, form: Diversity, ell: int) -> list[float]:
    """The share of the people of the series for whom one value is left (Lemma 1), over the seeds."""
    shares = []
    for seed in SEEDS:
        technique = Mondrian(k=ell, ell=ell, diversity=form)
        ledger = replay(technique, snapshots(population, seed, scale), np.random.default_rng(seed))
        found = IntersectionAttack().run(ledger.history(), ledger.knowledge())
        shares.append(found.exposed / found.of)
    return spread(shares)


def shown_rows(population: str, scale: Scale) -> list[float]:
    """The rows of a person's group in the first release with l = 2, frequency: the mean over the people."""
    means = []
    for seed in SEEDS:
        first = [next(iter(snapshots(population, seed, scale.first(1))))]
        ledger = replay(Mondrian(k=2, ell=2, diversity="frequency"), first, np.random.default_rng(seed))
        group = ledger.entries[0].release.group
        means.append(float(np.bincount(group)[group].mean()))
    return spread(means)


def draw_4(document: dict[str, Numbers]) -> Picture:
    """A panel for each population, a line for each form and l."""
    names = [f"{form}, l = {ell}" for form in FORMS for ell in ELLS]
    picture, listed = panels([f"{TITLES[name]}, {of['people']:,} people" for name, of in document.items()])
    for panel, numbers in zip(listed, document.values(), strict=False):
        for name, of in numbers["lines"].items():
            percent = [[100 * one for one in shares] for shares in of]
            line(panel, [100 * share for share in SHARES], percent, name, names.index(name))
        panel.set_yscale("symlog", linthresh=0.1)
        panel.set_ylim(0, 100)
        swept_axis(panel, "r, % of the rows", [100 * share for share in SHARES])
        panel.set_ylabel("% of all people vulnerable", fontsize=9)
    legend(picture, listed[0], columns=6)
    return picture


FIGURE_4 = Figure(
    title="People whose value is certain after l-diverse releases",
    populations=POPULATIONS,
    measure=figure_4,
    draw=draw_4,
)
