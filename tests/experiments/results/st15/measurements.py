"""What the figures of [ST15] Section 6 measure: losses of sequential releases, against other ways to publish them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from experiments.results.figure import Figure, Numbers
from experiments.results.st15 import pictures
from experiments.results.st15.comparison import additional_settings, settings_of_section_6_1
from experiments.results.st15.replays import (
    POPULATIONS,
    SEEDS,
    Losses,
    columns_of,
    cut_components,
    first_people,
    replay_losses,
    table,
    technique_of,
    ten_releases,
)
from experiments.results.t_series import spread

HOWS = ("sequential", "ring", "non-sequential", "homogeneous")
ELL = 5
THRESHOLDS = (25, 50, 100, 200, 400, None)
"""The paper's p; None matches components as a whole."""
VERTICAL = ((2, 5), (1, 7), (1, 3, 4), (6, 7))
"""Section 6.3: the country (7) is known from the second release on, the work class (6) from the fourth."""
KNOWN = ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5, 6, 7))
GROWTH = (100, 150, 180, 200)
"""Section 6.3: the people of the four releases, relative to the first."""
ADULT_PEOPLE = 30_000


def people_of(population: str, most: int, *, small: bool) -> int:
    """How many people: `most`, or as many as Adult has."""
    if small:
        return 800
    return min(most, ADULT_PEOPLE) if population == "adult" else most


def over_seeds(run: Callable[[int], Losses], *, small: bool) -> list[Losses]:
    """The losses of each seed."""
    return [run(seed) for seed in (SEEDS[:1] if small else SEEDS)]


def means(found: list[Losses], measure: str) -> list[float]:
    """The mean over the releases: its mean, least and greatest over the seeds."""
    return spread([float(np.mean(getattr(one, measure))) for one in found])


def total_cpu(found: list[Losses]) -> list[float]:
    """The CPU time of all releases of a series."""
    return spread([float(np.sum(one.cpu)) for one in found])


def ten(population: str, people: int, how: str, ell: int, *, small: bool, loss: str = "lm") -> list[Losses]:
    """The ten releases, seed by seed."""

    def run(seed: int) -> Losses:
        whole = table(population, people, seed)
        return replay_losses(technique_of(how, ell, loss), ten_releases(population, whole), seed)

    return over_seeds(run, small=small)


def releases(population: str, small: bool) -> Numbers:
    """Figure 6: what each of the ten releases loses."""
    people = people_of(population, 100_000, small=small)
    found: Numbers = {"people": people, "ell": 2 if small else ELL}
    for how in HOWS:
        losses = ten(population, people, how, found["ell"], small=small)
        found[how] = {
            "each": [spread(list(one)) for one in zip(*(run.lm for run in losses), strict=True)],
            "mean": means(losses, "lm"),
        }
    return found


def diversities(population: str, small: bool, loss: str = "lm", most: int = 20_000) -> Numbers:
    """Figures 7, 10, 13 and 14: more worlds."""
    people = people_of(population, most, small=small)
    ells = (2, 3) if small else (2, 3, 4, 5, 6) if population == "adult" else (2, 4, 6, 8, 10)
    found: Numbers = {"people": people, "ell": list(ells)}
    for how in ("sequential", "non-sequential"):
        runs = [ten(population, people, how, ell, small=small, loss=loss) for ell in ells]
        found[how] = {loss: [means(one, loss) for one in runs], "cpu": [total_cpu(one) for one in runs]}
    return found


def all_of_adult(population: str, small: bool) -> Numbers:
    """The same with all people of Adult, as in Figure 14."""
    return diversities(population, small, most=ADULT_PEOPLE if population == "adult" else 20_000)


def entropy_diversities(population: str, small: bool) -> Numbers:
    """The same with the entropy measure, on fewer people."""
    return diversities(population, small, "em", 6_000)


def sizes(population: str, small: bool) -> Numbers:
    """Figures 8 and 11: more people."""
    most = people_of(population, 60_000, small=small)
    counts = [most // 8, most // 4, most // 2, most]
    ell = 2 if small else ELL
    found: Numbers = {"people": counts, "ell": ell}
    for how in ("sequential", "non-sequential"):
        runs = [ten(population, count, how, ell, small=small) for count in counts]
        found[how] = {"lm": [means(one, "lm") for one in runs], "cpu": [total_cpu(one) for one in runs]}
    return found


def thresholds(population: str, small: bool) -> Numbers:
    """Figures 9 and 12: rows that are matched at once."""
    people = people_of(population, 20_000, small=small)
    ell = 2 if small else ELL
    found: Numbers = {"people": people, "ell": ell, "p": [p or "whole" for p in THRESHOLDS]}
    runs = []
    for p in THRESHOLDS:
        with cut_components(p):
            runs.append(ten(population, people, "sequential", ell, small=small))
    return found | {"lm": [means(one, "lm") for one in runs], "cpu": [total_cpu(one) for one in runs]}


def dynamics(population: str, small: bool) -> Numbers:
    """Figures 15 to 17: columns that are added later, people who arrive later, and both."""
    people = 400 if small else 6_000
    counts, ell = [people * share // 100 for share in GROWTH], 2 if small else ELL
    found: Numbers = {"people": counts, "ell": ell}
    for name in ("columns come late", "people come late", "both"):
        runs = [late_arrivals(population, name, counts, ell, seed) for seed in (SEEDS[:1] if small else SEEDS)]
        found[name] = {
            kind: [spread(list(one)) for one in zip(*(run[kind] for run in runs), strict=True)]
            for kind in ("adaptive", "prophetic")
        }
    return found


def late_arrivals(population: str, name: str, counts: list[int], ell: int, seed: int) -> dict[str, list[float]]:
    """The losses of a series that learns as it goes, and of releases made with all that is known in the end.

    The paper's prophet makes one set of worlds from what will be known; here worlds are made for each release from what
    it holds, because worlds of people who come later are not possible worlds of the earlier releases.
    """
    whole = table(population, counts[-1], seed)
    columns = [columns_of(population, VERTICAL[at]) for at in range(4)] if name != "people come late" else [None] * 4
    known = KNOWN if name != "people come late" else (None,) * 4
    present = counts if name != "columns come late" else [counts[0]] * 4
    series = [
        replace(first_people(whole, count, knows), columns=shown)
        for count, knows, shown in zip(present, known, columns, strict=True)
    ]
    prophets = [
        replace(first_people(whole, count), columns=shown) for count, shown in zip(present, columns, strict=True)
    ]
    technique = technique_of("sequential", ell)
    return {
        "adaptive": replay_losses(technique, series, seed).lm,
        "prophetic": [replay_losses(technique, [one], seed).lm[0] for one in prophets],
    }


def figure(title: str, measure: Callable[[str, bool], Numbers], draw: Callable[[dict[str, Numbers]], Any]) -> Figure:
    """A figure on both populations."""
    return Figure(title=title, populations=POPULATIONS, measure=measure, draw=draw)


FIGURES = {
    "1": figure("Sequential and multipartite releases, settings 1 to 3", settings_of_section_6_1, pictures.comparison),
    "5": figure("Sequential and multipartite releases, more settings", additional_settings, pictures.comparison),
    "6": figure("Ten releases", releases, pictures.releases),
    "7": figure("More worlds", all_of_adult, pictures.by_ell),
    "8": figure("More people", sizes, pictures.by_people),
    "9": figure("Rows that are matched at once", thresholds, pictures.by_threshold),
    "13": figure("More worlds, by entropy", entropy_diversities, pictures.by_ell),
    "15": figure("Columns and people that are added later", dynamics, pictures.dynamics),
}
"""Figures 2 to 4 are in 1; 10 and 14 in 7; 11 in 8; 12 in 9; 16 and 17 in 15."""
