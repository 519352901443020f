"""What the figures of [ST15] share: tables with taxonomies, releases of some of their columns, and what these lose."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from populations import adult_panel, panel

from reanon_core.metrics.generalization import LossMetric
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import publications
from reanon_core.techniques.sequential.generalization import generalize
from reanon_core.techniques.sequential.technique import Sequential

SEEDS = (11, 12, 13)
"""Nothing was tuned on them; the sizes of blind buckets, which are not used here, were tuned on other tables."""
POPULATIONS = ("panel", "adult")
UNKNOWN = np.iinfo(np.int32).min
"""The code of a value that is missing."""


class Losses(NamedTuple):
    """What each release of a series loses, and the CPU time that it takes."""

    lm: list[float]
    em: list[float]
    cpu: list[float]


def table(population: str, people: int, seed: int) -> Snapshot:
    """All columns of so many people."""
    if population == "adult":
        return adult_panel.sample(people, seed)
    return panel.snapshot(people, None, seed=seed)


def columns_of(population: str, numbers: tuple[int, ...]) -> tuple[str, ...]:
    """The names of quasi-identifiers, numbered as in the paper, and of the occupation."""
    return adult_panel.columns_of(numbers) if population == "adult" else panel.columns_of(numbers)


def ten_releases(population: str, whole: Snapshot) -> Iterator[Snapshot]:
    """The ten releases of Section 6.2: those of Figure 6, and on Adult those of Figure 14."""
    chosen = adult_panel.RELEASES if population == "adult" else panel.RELEASES
    return (replace(whole, columns=columns_of(population, numbers)) for numbers in chosen)


def first_people(whole: Snapshot, people: int, known: tuple[int, ...] | None = None) -> Snapshot:
    """The first people of a table, of whom only the columns with these numbers are known."""
    part = whole.rows(np.arange(people), selected=None)
    if known is None:
        return part
    absent = [number not in known for number in range(1, len(part.qi) + 1)]
    return replace(part, qi=np.where(np.array(absent)[:, None], UNKNOWN, part.qi).astype(np.int32))


def technique_of(how: str, ell: int, loss: str = "lm") -> Sequential:
    """The paper's algorithm with `ring` worlds, ours with symmetric ones (`sequential`), or one for comparison."""
    if how == "ring":
        return Sequential(ell=ell, worlds="ring", loss=loss, buckets="least-loss", on_bare="publish")
    return Sequential(ell=ell, approach=how, loss=loss, buckets="least-loss", on_bare="publish")


def replay_losses(technique: Sequential, snapshots: Iterable[Snapshot], seed: int) -> Losses:
    """LM, EM and seconds of CPU of each release."""
    found = Losses([], [], [])
    rng, begun = np.random.default_rng(seed), time.process_time()
    for snapshot, publication in publications(technique, snapshots, rng):
        found.cpu.append(time.process_time() - begun)
        entry = publication.entry(snapshot)
        names = entry.snapshot.schema.names
        shown = [at for at, name in enumerate(names) if entry.release.shows(name)]
        boxes = entry.release.boxes
        rows = boxes.low[:, entry.release.group], boxes.high[:, entry.release.group]
        found.lm.append(LossMetric().measure(entry, rng))
        found.em.append(entropies(entry.snapshot, rows, shown))
        begun = time.process_time()
    return found


def entropies(snapshot: Snapshot, boxes: tuple[np.ndarray, np.ndarray], shown: list[int]) -> float:
    """The mean entropy of an entry, from the published boxes and the frequencies in the table."""
    total = 0.0
    for attribute in shown:
        codes = snapshot.qi[attribute]
        share = np.bincount(codes, minlength=int(boxes[1][attribute].max()) + 1) / len(codes)
        logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
        mass = np.concatenate([[0.0], np.cumsum(share)])
        information = np.concatenate([[0.0], np.cumsum(share * logs)])
        low, high = boxes[0][attribute], boxes[1][attribute]
        whole, part = mass[high + 1] - mass[low], information[high + 1] - information[low]
        total += float(
            np.where(whole > 0, np.log2(np.maximum(whole, 1e-300)) - part / np.maximum(whole, 1e-300), 0).mean()
        )
    return total / len(shown)


@contextmanager
def cut_components(p: int | None) -> Iterator[None]:
    """Match at most p rows at once, as the paper does; None leaves components whole.

    The technique has no such option: this is its limit for components that do not fit into memory (departure D3).
    """
    limited = generalize if p is None else partial(generalize, cells=2 * p * p)
    with patch("reanon_core.techniques.sequential.technique.generalize", limited):
        yield
