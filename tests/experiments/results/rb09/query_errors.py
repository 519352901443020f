"""[RB09] Figure 9: the query error of Cor-Split and of m-invariance, by expected selectivity."""

from dataclasses import replace
from typing import Any

import numpy as np
from experiments.results.figure import Figure, Numbers
from experiments.results.panels import Picture, legend, line, panels
from experiments.results.query_error_series import errors
from experiments.results.rb09.scenarios import POPULATIONS, TITLES, cor_split, m_invariance, m_of, scenarios
from experiments.results.t_series import SEEDS, snapshots, spread

from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Technique
from reanon_core.publishing import publish

THETAS = (0.02, 0.04, 0.06, 0.08, 0.1)
RELEASES = 11
"""The last one is measured."""


def figure_9(population: str, small: bool) -> Numbers:
    """The median relative error for each selectivity at the last release."""
    m, found = m_of(population), {}
    for share, scale in scenarios(population, small=small, releases=RELEASES).items():
        lines = {}
        for way, technique in {**m_invariance(m), **cor_split(m)}.items():
            runs = []
            for seed in SEEDS:
                [*_, (_, last)] = errors(
                    technique, snapshots(population, seed, scale), seed, scale.releases - 1, THETAS
                )
                runs.append(last)
            lines[way] = [spread(list(at)) for at in zip(*runs, strict=True)]
        found[share] = {"rows": scale.rows, "release": scale.releases, "lines": lines}
    return {"m": m, "theta": list(THETAS), **found, "first release": first_release(population, small)}


def first_release(population: str, small: bool) -> Numbers:
    """The first release of the 33% scenario, theta = 10%: errors as it is and with values permuted, and box widths."""
    m, scale = m_of(population), scenarios(population, small=small, releases=1)["33%"]
    ways = {name: way for name, way in {**m_invariance(m), **cor_split(m)}.items() if name.endswith("the paper's way")}
    found: dict[str, dict[str, list[Any]]] = {"as it is": {}, "sensitive values permuted": {}, "widths": {}}
    for seed in SEEDS:
        first = next(iter(snapshots(population, seed, scale)))
        permuted = replace(first, sensitive=np.random.default_rng(seed).permutation(first.sensitive))
        for way, technique in ways.items():
            for name, snapshot in (("as it is", first), ("sensitive values permuted", permuted)):
                [(_, [error])] = errors(technique, [snapshot], seed, 1, THETAS[-1:])
                found[name].setdefault(way, []).append(error)
            found["widths"].setdefault(way, []).append(widths(technique, first, seed))
    spreads = {name: {way: spread(of) for way, of in found[name].items()} for name in list(found)[:2]}
    means = {way: np.mean(of, axis=0).tolist() for way, of in found["widths"].items()}
    return {
        **spreads,
        "columns": list(first.schema.names),
        "mean width of a row's interval": means,
    }


def widths(technique: Technique, snapshot: Snapshot, seed: int) -> list[float]:
    """The mean width of a row's interval as a share of the domain, attribute by attribute."""
    release = publish(technique, snapshot, technique.initial_state(), np.random.default_rng(seed)).release
    spans = [column.domain[1] - column.domain[0] for column in snapshot.schema.quasi_identifiers if column.domain]
    lengths = (release.boxes.high - release.boxes.low)[:, release.group].mean(axis=1)
    return [float(one) for one in lengths / np.array(spans)]


def draw_9(document: dict[str, Numbers]) -> Picture:
    """A panel for each population and scenario, a line for each way."""
    cases = [(name, share) for name in document for share in ("10%", "33%")]
    titles = [f"{TITLES[name]}: {share} of {document[name][share]['rows']:,} rows" for name, share in cases]
    picture, listed = panels(titles, width=3.1)
    for panel, (name, share) in zip(listed, cases, strict=False):
        for number, (way, spreads) in enumerate(document[name][share]["lines"].items()):
            line(panel, 100 * np.array(THETAS), spreads, way, number)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("expected selectivity, %", fontsize=9)
    listed[0].set_ylabel("median relative error", fontsize=9)
    legend(picture, listed[0], columns=3)
    return picture


FIGURE_9 = Figure(
    title="Query error of Cor-Split and m-invariance", populations=POPULATIONS, measure=figure_9, draw=draw_9
)
