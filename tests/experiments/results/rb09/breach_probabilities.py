"""[RB09] Figure 2: the probabilities that compromised people exclude values, as the paper computes and as we count."""

import numpy as np
from experiments.results.figure import Figure, Numbers
from experiments.results.panels import Picture, legend, line, panels
from experiments.results.rb09.scenarios import TITLES, m_of
from experiments.results.t_series import ADULT_PEOPLE, SEEDS, Scale, snapshots, spread

from reanon_core.attacks.compromised import CompromisedAttack
from reanon_core.model.arrays import UInt64
from reanon_core.model.knowledge import Compromised
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.n_choose import (
    breach_probability,
    choose_n,
    compromised_exclusion,
    correlation_exclusion,
)
from reanon_core.techniques.m_invariance.technique import MInvariance

M, P, THRESHOLD = 6, 0.04, 0.1
SHARES = (0.01, 0.02, 0.04, 0.08)
NS = (1, 2, 3)
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 21, 24)
SHOWN = (1, 2, 4, 6, 10, 15, 21)
"""The lengths of the series that are attacked."""


def figure_2(population: str, small: bool) -> Numbers:
    """The formulas; or what an adversary excludes in a series of the paper's m-invariance."""
    if population == "formulas":
        return _formulas()
    scale = Scale(people=ADULT_PEOPLE, rows=10_000, update=1_000, releases=21)
    if small:
        scale = Scale(people=ADULT_PEOPLE, rows=1_000, update=100, releases=2)
    technique = MInvariance(m=m_of(population), balancing="filled", assignment="paper")
    lengths = [length for length in SHOWN if length <= scale.releases]
    counted: dict[str, list[list[float]]] = {}
    for seed in SEEDS:
        whole = replay(technique, snapshots(population, seed, scale), np.random.default_rng(seed))
        found = [_exclusions(Ledger(whole.entries[:length]), seed) for length in lengths]
        for name in found[0]:
            counted.setdefault(name, []).append([one[name] for one in found])
    lines = {name: [spread(list(at)) for at in zip(*runs, strict=True)] for name, runs in counted.items()}
    return {"m": m_of(population), "p": P, "rows": scale.rows, "releases": lengths, "lines": lines}


def _formulas() -> Numbers:
    return {
        "m": M,
        "p": P,
        "releases": list(LENGTHS),
        "p_ct": {f"p = {p}": [compromised_exclusion(p, length) for length in LENGTHS] for p in SHARES},
        "p_hc": {f"n = {n}": [correlation_exclusion(P, length, M, n) for length in LENGTHS] for n in NS},
        "p_pb": {f"n = {n}": [breach_probability(P, length, M, n) for length in LENGTHS] for n in NS},
        "n-Choose": {f"L = {length}": choose_n(P, length, M, THRESHOLD) for length in (21, 24)},
    }


def _exclusions(ledger: Ledger, seed: int) -> dict[str, float]:
    """Of the people in every release: excluded values, and people exposed, directly and when it spreads."""
    known = ledger.sampled(P, np.random.default_rng(seed))
    always = ledger.entries[0].trace.persons
    for entry in ledger.entries[1:]:
        always = np.intersect1d(always, entry.trace.persons)
    always = np.setdiff1d(always, known.persons)
    excluded = np.zeros(len(always), np.uint64)
    for entry in ledger.entries:
        excluded |= _values_of_compromised(entry, known)[_groups(entry, always)]
    others = np.bitwise_count(_values(ledger.entries[0])[_groups(ledger.entries[0], always)]).astype(int) - 1
    gone = np.bitwise_count(excluded).astype(int)
    spreading = CompromisedAttack().run(ledger.history(), ledger.knowledge(compromised=known, groups_known=True))
    return {
        "values excluded directly": float((gone / others).mean()),
        "people exposed directly": float((gone == others).mean()),
        "people exposed when it spreads": float(np.isin(always, spreading.persons).mean()),
    }


def _groups(entry: Entry, persons: np.ndarray) -> np.ndarray:
    return entry.release.group[entry.trace.rows[entry.trace.persons.searchsorted(persons)]]


def _values(entry: Entry) -> UInt64:
    """The values of each group, as bits."""
    bits = np.zeros(entry.release.boxes.count, np.uint64)
    np.bitwise_or.at(bits, entry.release.group, np.uint64(1) << entry.release.sensitive.astype(np.uint64))
    return bits


def _values_of_compromised(entry: Entry, known: Compromised) -> UInt64:
    """The values of the compromised people of each group, as bits: a group shows each value once."""
    here = np.isin(known.persons, entry.trace.persons)
    bits = np.zeros(entry.release.boxes.count, np.uint64)
    values = np.uint64(1) << known.values[here].astype(np.uint64)
    np.bitwise_or.at(bits, _groups(entry, known.persons[here]), values)
    return bits


def draw_2(document: dict[str, Numbers]) -> Picture:
    """The three plots of the paper, and for each population what we count beside what the formulas say."""
    formulas = document["formulas"]
    counted = [name for name in document if name != "formulas"]
    titles = ["p_ct", f"p_hc, p = {P}", f"p_pb, p = {P}"]
    titles += [f"{TITLES[name]}, m = {document[name]['m']}, p = {P}" for name in counted]
    picture, listed = panels(titles, rows=2, height=2.7)
    for panel, name in zip(listed, ("p_ct", "p_hc", "p_pb"), strict=False):
        for number, (label, values) in enumerate(formulas[name].items()):
            line(panel, formulas["releases"], [[one] * 3 for one in values], label, number)
        panel.legend(frameon=False, fontsize=8)
    for panel, name in zip(listed[3:], counted, strict=False):
        at, m = document[name]["releases"], document[name]["m"]
        for number, (label, of) in enumerate(document[name]["lines"].items()):
            line(panel, at, of, label, number)
        panel.plot(at, [compromised_exclusion(P, one) for one in at], ":", color="black", label="p_ct of the paper")
        panel.plot(at, [breach_probability(P, one, m, 1) for one in at], "--", color="black", label="p_pb, n = 1")
        panel.plot(at, [breach_probability(P, one, m, 3) for one in at], "-.", color="black", label="p_pb, n = 3")
    for panel in listed:
        panel.set_ylim(0, 1)
        panel.set_xlabel("releases", fontsize=9)
    if counted:
        legend(picture, listed[3], columns=3)
    return picture


FIGURE_2 = Figure(
    title="Probabilities of excluded values and of a breach",
    populations=("formulas", "income", "adult"),
    measure=figure_2,
    draw=draw_2,
)
