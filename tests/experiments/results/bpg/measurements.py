"""What the figures of [BPG] measure: CPU time and information, release by release, against m-invariance."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from experiments.results.bpg import pictures
from experiments.results.figure import Figure, Numbers
from experiments.results.t_series import ADULT_PEOPLE, SEEDS, Scale, snapshots, spread, whole_pool

from reanon_core.checks.atoms import Atoms
from reanon_core.metrics.entropy import FrequencyEntropy, VolumeEntropy
from reanon_core.recoding.emit import emit
from reanon_core.recoding.mondrian import mondrian_classes
from reanon_core.replay import publications
from reanon_core.techniques.bpg.technique import Bpg
from reanon_core.techniques.m_invariance.technique import MInvariance

POPULATIONS = ("occupation", "income", "adult")
"""The paper's OCC and SAL, as our census has them, and Adult."""
PEOPLE = 30_000
"""A twentieth of the paper's 600,000, as Adult has; rows and r are smaller in proportion, and the series as long."""
SHARES = {"40k": 0.2, "20k": 0.1, "10k": 0.05, "5k": 0.025}
"""The paper's r, as a share of its 200,000 rows."""


MEASURES = ("fem", "vem", "vem of the selected", "published", "dirty")


def techniques(level: int) -> dict[str, Any]:
    """The paper's two, and what reanon makes of them, all with k = ell = m."""
    paper = Bpg(
        k=level,
        ell=level,
        heuristic="distinct",
        variant="union",
        pool="stored",
        max_dirty=1,
        reserve=1,
        groups="classes",
    )
    return {
        "m-invariance (paper)": MInvariance(m=level, balancing="filled", assignment="paper"),
        "bpg (paper)": paper,
        "bpg, pool: stored": Bpg(k=level, ell=level, pool="stored"),
        "bpg, defaults": Bpg(k=level, ell=level),
    }


def level_of(population: str, *, small: bool) -> int:
    """k = ell = m; the paper's 10 is more than the newcomers of these smaller tables allow m-invariance."""
    return 4 if population == "adult" or small else 6


def scale_of(population: str, share: float, *, small: bool) -> Scale:
    """The series that replaces this share of its rows at each release, until all people have been there."""
    people = 6_000 if small else ADULT_PEOPLE if population == "adult" else PEOPLE
    scale = whole_pool(people, round(people // 3 * share))
    return scale.first(3) if small else scale


def times(population: str, small: bool) -> Numbers:
    """Figures 1 and 2 and Table 4: CPU time of the whole series and of a release, and the share of the correction."""
    found: Numbers = {}
    for rate, share in SHARES.items():
        scale = scale_of(population, share, small=small)
        runs = {name: [] for name in techniques(2)}  # type: dict[str, list[tuple[float, float]]]
        for seed in seeds(small=small):
            for name, technique in techniques(level_of(population, small=small)).items():
                runs[name].append(timed(technique, population, scale, seed))
        found[rate] = {"rows": scale.rows, "r": scale.update, "releases": scale.releases} | {
            name: {
                "cpu": spread([total for total, _ in taken]),
                "cpu share of the correction": spread([1 - partition for _, partition in taken]),
            }
            for name, taken in runs.items()
        }
    return found


def seeds(*, small: bool) -> tuple[int, ...]:
    """The seeds of the T-series; the default reserve was chosen on seed 7."""
    return SEEDS[:1] if small else SEEDS


def timed(technique: Any, population: str, scale: Scale, seed: int) -> tuple[float, float]:
    """The CPU time of the series, and the share of Mondrian in it, without the writing of public rows."""
    tables = list(snapshots(population, seed, scale))
    rng = np.random.default_rng(seed)
    for _ in publications(technique, tables[:2], rng):  # load the compiled loops
        pass
    with clock(PARTITION, mondrian_classes) as partition, clock("reanon_core.publishing.emit", emit) as rows:
        begun = time.process_time()
        for _ in publications(technique, tables, rng):
            pass
        total = time.process_time() - begun
    return total, sum(partition) / (total - sum(rows))


PARTITION = "reanon_core.techniques.bpg.initial_classes.mondrian_classes"


@contextmanager
def clock(place: str, function: Callable[..., Any]) -> Iterator[list[float]]:
    """The CPU times of the calls of a function, at the place where it was imported."""
    taken: list[float] = []

    def clocked(*arguments: Any) -> Any:
        begun = time.process_time()
        try:
            return function(*arguments)
        finally:
            taken.append(time.process_time() - begun)

    with patch(place, clocked):
        yield taken


def information(population: str, small: bool) -> Numbers:
    """Figure 3: FEM and VEM release by release, for the smallest and the greatest r."""
    level = level_of(population, small=small)
    scales = {rate: scale_of(population, SHARES[rate], small=small) for rate in ("5k", "40k")}
    return {rate: kept_information(population, scale, level, small=small) for rate, scale in scales.items()}


def information_at_paper_size(population: str, small: bool) -> Numbers:
    """Figure 3 for the greatest r, with the paper's 200,000 rows and k = ell = m = 10."""
    scale = scale_of(population, SHARES["40k"], small=True) if small else whole_pool(600_000, 40_000)
    return {"40k": kept_information(population, scale, 4 if small else 10, small=small)}


def kept_information(population: str, scale: Scale, level: int, *, small: bool) -> Numbers:
    """The measures of all techniques over one series."""
    found: Numbers = {"rows": scale.rows, "r": scale.update, "releases": scale.releases, "k": level}
    for name, technique in techniques(level).items():
        runs = [measured(technique, population, scale, seed) for seed in seeds(small=small)]
        found[name] = {
            measure: [rounded(one) for one in zip(*(run[measure] for run in runs), strict=True)][:: step(scale)]
            for measure in MEASURES
        }
        judged = [violations for run in runs for violations in run["broken atoms"]]
        found[name] |= {"judged releases": len(judged), "broken atoms": int(sum(judged))}
    return found


def step(scale: Scale) -> int:
    """Of a long series, every fourth release is kept."""
    return 4 if scale.releases > 25 else 1


def rounded(values: tuple[float, ...]) -> list[float]:
    """The mean, the least and the greatest, with the digits that a plot shows."""
    return [round(one, 3) for one in spread(list(values))]


def measured(technique: Any, population: str, scale: Scale, seed: int) -> dict[str, list[float]]:
    """The measures of each release; the check `atoms` judges those of BPG."""
    taken: dict[str, list[float]] = {name: [] for name in (*MEASURES, "broken atoms")}
    rng, check = np.random.default_rng(0), None
    if isinstance(technique, Bpg):
        check = Atoms(k=technique.k, ell=technique.ell)
        memory = check.initial_memory()
    for snapshot, made in publications(technique, snapshots(population, seed, scale), np.random.default_rng(seed)):
        entry = made.entry(snapshot)
        taken["fem"].append(FrequencyEntropy().measure(entry, rng))
        taken["vem"].append(VolumeEntropy().measure(entry, rng))
        # The same sum over the people who are selected alone: dirty records do not enlarge the divisor.
        others = entry.dirty + entry.auxiliary.total
        taken["vem of the selected"].append(taken["vem"][-1] * (1 + others / snapshot.size))
        taken["published"].append(1 - entry.withheld / entry.snapshot.size)
        taken["dirty"].append(entry.dirty / snapshot.size)
        if check is not None:
            verdict, memory = check.examine(entry, memory)
            taken["broken atoms"].append(verdict.violations)
    return taken


FIGURES = {
    "1": Figure(
        title="CPU time of a series and of a release", populations=POPULATIONS, measure=times, draw=pictures.times
    ),
    "3": Figure(
        title="FEM and VEM release by release",
        populations=POPULATIONS,
        measure=information,
        draw=pictures.information,
    ),
    "3-size": Figure(
        title="FEM and VEM at the paper's size",
        populations=("occupation",),
        measure=information_at_paper_size,
        draw=pictures.information,
    ),
}
"""Figure 2 and Table 4 are in 1."""
