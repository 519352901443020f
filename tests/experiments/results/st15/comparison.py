"""Figures 1 to 5 of [ST15]: sequential releases and those of the multipartite graph algorithms."""

import time
from dataclasses import replace

import numpy as np
from experiments.results.figure import Numbers
from experiments.results.st15.multipartite import CellSeries, CutSeries, MultipartiteSeries, Requirement
from experiments.results.st15.replays import SEEDS, columns_of, replay_losses, table, technique_of
from experiments.results.t_series import spread

from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot

Setting = tuple[tuple[tuple[int, ...], bool], ...]
"""The quasi-identifiers of each release, and whether it shows the sensitive column."""
SETTINGS: dict[str, Setting] = {
    "two releases": (((1, 3), False), ((1,), True)),
    "three releases": (((1, 2), False), ((2,), True), ((1,), True)),
    "four releases": (((1, 2), False), ((1,), True), ((1, 2, 6), False), ((2,), True)),
}
ADDITIONAL: dict[str, dict[str, Setting]] = {
    "panel": {"age and ancestry": (((1, 5), False), ((1, 5), True))},
    "adult": {"work class and country": (((6, 7), False), ((6, 7), True))},
}
REQUIREMENTS = {"5-linkability": Requirement("linkability", 5), "3-diversity": Requirement("diversity", 3)}
BASELINES: dict[str, type[MultipartiteSeries]] = {"cut": CutSeries, "cell": CellSeries}
FEW = 2_000
"""A smaller table too: with many people every age has every occupation, and there is little left to generalize."""


def settings_of_section_6_1(population: str, small: bool) -> Numbers:
    """Figures 1 to 4: three settings, 5-linkability and 3-diversity."""
    return compared(population, SETTINGS, REQUIREMENTS, small=small)


def additional_settings(population: str, small: bool) -> Numbers:
    """Figure 5: two releases with the same two columns, 5-diversity, by both measures."""
    return compared(population, ADDITIONAL[population], {"5-diversity": Requirement("diversity", 5)}, small=small)


def compared(
    population: str, settings: dict[str, Setting], requirements: dict[str, Requirement], *, small: bool
) -> Numbers:
    """The mean loss of an entry over all releases, by setting, requirement, size and algorithm."""
    sizes = [200] if small else [FEW, 100_000 if population == "panel" else 30_000]
    seeds = SEEDS[:1] if small else SEEDS
    found: Numbers = {"people": sizes, "seeds": list(seeds)}
    for setting, releases in settings.items():
        for goal, requirement in requirements.items():
            found[f"{setting}, {goal}"] = {
                str(people): algorithms(population, releases, requirement, people, seeds) for people in sizes
            }
    return found


def algorithms(
    population: str, setting: Setting, requirement: Requirement, people: int, seeds: tuple[int, ...]
) -> Numbers:
    """LM, EM and CPU of the three algorithms, and whom the baselines expose."""
    tables = [table(population, people, seed) for seed in seeds]
    runs = {name: [baseline(make, one, setting, requirement) for one in tables] for name, make in BASELINES.items()}
    runs["sequential"] = [
        sequential(population, one, setting, requirement.ell, seed) for one, seed in zip(tables, seeds, strict=True)
    ]
    return {name: {key: spread([run[key] for run in found]) for key in found[0]} for name, found in runs.items()}


def baseline(make: type[MultipartiteSeries], whole: Snapshot, setting: Setting, goal: Requirement) -> Numbers:
    """A multipartite series; releases without the sensitive column lose nothing, and count."""
    union = sorted({number for numbers, _ in setting for number in numbers})
    begun, series = time.process_time(), make(columns_only(whole, union), goal)
    entries, lm, em, exposed = 0, 0.0, 0.0, 0
    for numbers, sensitive in setting:
        entries += len(numbers)
        if sensitive:
            losses = series.release(tuple(union.index(number) for number in numbers))
            lm, em = lm + len(numbers) * losses[0], em + len(numbers) * losses[1]
            exposed = max(exposed, series.exposed)
    return {"lm": lm / entries, "em": em / entries, "exposed": exposed, "cpu": time.process_time() - begun}


def sequential(population: str, whole: Snapshot, setting: Setting, ell: int, seed: int) -> Numbers:
    """The same releases from possible worlds."""
    shown = [columns_of(population, numbers) for numbers, _ in setting]
    columns = [names if sensitive else names[:-1] for names, (_, sensitive) in zip(shown, setting, strict=True)]
    found = replay_losses(technique_of("sequential", ell), [replace(whole, columns=one) for one in columns], seed)
    weights = [len(numbers) for numbers, _ in setting]
    lm, em = np.average(found.lm, weights=weights), np.average(found.em, weights=weights)
    return {"lm": float(lm), "em": float(em), "cpu": float(np.sum(found.cpu))}


def columns_only(whole: Snapshot, numbers: list[int]) -> Snapshot:
    """The table with some of its quasi-identifiers."""
    at = [number - 1 for number in numbers]
    kept = tuple(whole.schema.quasi_identifiers[one] for one in at)
    schema = Schema(quasi_identifiers=kept, sensitive=whole.schema.sensitive)
    return Snapshot(schema, whole.persons, whole.qi[at], whole.sensitive)
