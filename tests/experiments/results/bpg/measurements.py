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
                "cpu of the correction, share": spread([1 - partition / total for total, partition in taken]),
            }
            for name, taken in runs.items()
        }
    return found


def seeds(*, small: bool) -> tuple[int, ...]:
    """The seeds of the T-series; the default reserve was chosen on seed 7."""
    return SEEDS[:1] if small else SEEDS


def timed(technique: Any, population: str, scale: Scale, seed: int) -> tuple[float, float]:
    """The CPU time of the series, and that of Mondrian in it."""
    tables = list(snapshots(population, seed, scale))
    with mondrian_clock() as partition:
        begun = time.process_time()
        for _ in publications(technique, tables, np.random.default_rng(seed)):
            pass
        return time.process_time() - begun, sum(partition)


@contextmanager
def mondrian_clock() -> Iterator[list[float]]:
    """The CPU times of the calls by which BPG partitions a table."""
    taken: list[float] = []

    def clocked(*arguments: Any) -> Any:
        begun = time.process_time()
        try:
            return mondrian_classes(*arguments)
        finally:
            taken.append(time.process_time() - begun)

    with patch("reanon_core.techniques.bpg.initial_classes.mondrian_classes", clocked):
        yield taken


def information(population: str, small: bool) -> Numbers:
    """Figure 3: FEM and VEM release by release, for the smallest and the greatest r."""
    found: Numbers = {}
    level = level_of(population, small=small)
    for rate in ("5k", "40k"):
        scale = scale_of(population, SHARES[rate], small=small)
        found[rate] = {"rows": scale.rows, "r": scale.update, "releases": scale.releases, "k": level}
        for name, technique in techniques(level).items():
            runs = [measured(technique, population, scale, seed) for seed in seeds(small=small)]
            found[rate][name] = {
                measure: [rounded(one) for one in zip(*(run[measure] for run in runs), strict=True)]
                for measure in runs[0]
            }
    return found


def rounded(values: tuple[float, ...]) -> list[float]:
    """The mean, the least and the greatest, with the digits that a plot shows."""
    return [round(one, 3) for one in spread(list(values))]


def measured(technique: Any, population: str, scale: Scale, seed: int) -> dict[str, list[float]]:
    """FEM, VEM, the published share and dirty records of each release; the check `atoms` judges those of BPG."""
    taken: dict[str, list[float]] = {name: [] for name in ("fem", "vem", "published", "dirty", "broken atoms")}
    rng, check = np.random.default_rng(0), None
    if isinstance(technique, Bpg):
        check = Atoms(k=technique.k, ell=technique.ell)
        memory = check.initial_memory()
    for snapshot, made in publications(technique, snapshots(population, seed, scale), np.random.default_rng(seed)):
        entry = made.entry(snapshot)
        taken["fem"].append(FrequencyEntropy().measure(entry, rng))
        taken["vem"].append(VolumeEntropy().measure(entry, rng))
        taken["published"].append(1 - entry.withheld / entry.snapshot.size)
        taken["dirty"].append(entry.dirty / snapshot.size)
        if check is not None:
            verdict, memory = check.examine(entry, memory)
            taken["broken atoms"].append(verdict.violations)
    return taken


def figure(title: str, measure: Callable[[str, bool], Numbers], draw: Callable[[dict[str, Numbers]], Any]) -> Figure:
    """A figure on the census and on Adult."""
    return Figure(title=title, populations=POPULATIONS, measure=measure, draw=draw)


FIGURES = {
    "1": figure("CPU time of a series and of a release", times, pictures.times),
    "3": figure("FEM and VEM release by release", information, pictures.information),
}
"""Figure 2 and Table 4 are in 1."""
