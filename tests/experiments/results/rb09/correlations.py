"""[RB09] Figures 7 and 8: hc-unsafe groups of m-invariance, and the counterfeits of Cor-Split."""

import numpy as np
from experiments.results.figure import Figure, Numbers
from experiments.results.panels import Picture, legend, line, panels
from experiments.results.rb09.scenarios import POPULATIONS, TITLES, N, cor_split, m_invariance, m_of, scenarios
from experiments.results.t_series import SEEDS, Scale, snapshots, spread

from reanon_core.checks.hc_safety import CLOSE, HcSafety
from reanon_core.protocols import Technique
from reanon_core.replay import publications


def releases(technique: Technique, population: str, scale: Scale) -> dict[str, list[list[float]]]:
    """Release by release: groups, groups that the paper's test refuses, hc-unsafe groups and counterfeits."""
    runs: dict[str, list[list[float]]] = {"groups": [], "refused": [], "hc-unsafe": [], "counterfeits": []}
    for seed in SEEDS:
        check, series = HcSafety(n=N), snapshots(population, seed, scale)
        memory, seen = check.initial_memory(), []
        for snapshot, made in publications(technique, series, np.random.default_rng(seed)):
            verdict, memory = check.examine(made.entry(snapshot), memory)
            observed = verdict.observed
            seen.append((observed["groups"], observed[CLOSE], verdict.violations, made.auxiliary.total))
        for name, values in zip(runs, zip(*seen, strict=True), strict=True):
            runs[name].append(list(values))
    return {name: [spread(list(at)) for at in zip(*of, strict=True)] for name, of in runs.items()}


def figure_7(population: str, small: bool) -> Numbers:
    """Groups of m-invariance that the paper's test refuses, and those that are hc-unsafe by definition."""
    return _by_scenario(population, small, m_invariance(m_of(population)), ("groups", "refused", "hc-unsafe"))


def figure_8(population: str, small: bool) -> Numbers:
    """Counterfeits of Cor-Split and of m-invariance, and the groups of Cor-Split that are hc-unsafe."""
    m = m_of(population)
    return _by_scenario(population, small, {**m_invariance(m), **cor_split(m)}, ("counterfeits", "hc-unsafe"))


def _by_scenario(population: str, small: bool, ways: dict[str, Technique], kept: tuple[str, ...]) -> Numbers:
    found: Numbers = {"m": m_of(population), "n": N}
    for share, scale in scenarios(population, small=small).items():
        lines = {}
        for way, technique in ways.items():
            taken = releases(technique, population, scale)
            lines[way] = {name: taken[name] for name in kept}
        found[share] = {"rows": scale.rows, "lines": lines}
    return found


def draw_7(document: dict[str, Numbers]) -> Picture:
    """A panel for each population and scenario, a line for each way."""
    return _drawn(document, "refused", f"hc-unsafe groups, n = {N}")


def draw_8(document: dict[str, Numbers]) -> Picture:
    """A panel for each population and scenario, a line for each way."""
    picture = _drawn(document, "counterfeits", "counterfeits in the release")
    for panel in picture.axes:
        panel.set_yscale("symlog", linthresh=100)
        panel.set_ylim(bottom=0)
    return picture


def _drawn(document: dict[str, Numbers], measure: str, label: str) -> Picture:
    cases = [(name, share) for name in document for share in ("10%", "33%")]
    titles = [f"{TITLES[name]}: {share} of {document[name][share]['rows']:,} rows" for name, share in cases]
    picture, listed = panels(titles, width=3.1)
    for panel, (name, share) in zip(listed, cases, strict=False):
        for number, (way, of) in enumerate(document[name][share]["lines"].items()):
            line(panel, range(1, len(of[measure]) + 1), of[measure], way, number)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("release", fontsize=9)
    listed[0].set_ylabel(label, fontsize=9)
    legend(picture, listed[0], columns=3)
    return picture


FIGURE_7 = Figure(title="hc-unsafe groups of m-invariance", populations=POPULATIONS, measure=figure_7, draw=draw_7)
FIGURE_8 = Figure(title="Counterfeits of Cor-Split", populations=POPULATIONS, measure=figure_8, draw=draw_8)
