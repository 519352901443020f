"""The naive ways to publish a table again and again, for comparison: none of them remembers an earlier release."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from reanon_core.catalog import SINGLE_RELEASE_TECHNIQUE, build_technique
from reanon_core.model.arrays import MISSING
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING, ANYTHING, NONE_MISSING, UNPUBLISHED, Auxiliary, Boxes, Release
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace
from reanon_core.replay import publications

WITHOUT_IDS = "without-ids"
NAIVE = "naive"
BASELINES: dict[str, str] = {
    WITHOUT_IDS: "the table as it is, without the ids",
    NAIVE: "Mondrian with k people and ell values in every group, each release by itself",
}
"""The baselines by name, and what each one publishes."""


def baseline_entries(
    name: str, parameters: Mapping[str, object], snapshots: Sequence[Snapshot], rng: np.random.Generator
) -> Iterator[Entry]:
    """What a baseline publishes of each snapshot, in order.

    Raises: Unpublishable, InvalidParameter.
    """
    if name == WITHOUT_IDS:
        yield from (exact_entry(snapshot.answer(), rng) for snapshot in snapshots)
        return
    technique = build_technique(SINGLE_RELEASE_TECHNIQUE, parameters)
    answers = [snapshot.answer() for snapshot in snapshots]
    for snapshot, publication in publications(technique, answers, rng, memory=False):
        yield publication.entry(snapshot)


def exact_entry(snapshot: Snapshot, rng: np.random.Generator) -> Entry:
    """The release that shows every row as it is, in random order; rows with the same values form a group."""
    people = rng.permutation(snapshot.size)
    points = snapshot.qi[:, people]
    hidden = [not _shown(snapshot, name) for name in snapshot.schema.names]
    points[hidden] = MISSING
    corners, group = np.unique(points, axis=1, return_inverse=True)
    signs = np.where(corners == MISSING, ALL_MISSING, NONE_MISSING).astype(np.int8)
    low, high = corners.copy(), corners.copy()
    low[hidden], high[hidden], signs[hidden] = ANYTHING
    sensitive, other = snapshot.sensitive[people], snapshot.other[:, people]
    if not _shown(snapshot, snapshot.schema.sensitive.name):
        sensitive = np.full_like(sensitive, UNPUBLISHED)
    other[[not _shown(snapshot, name) for name in snapshot.schema.other]] = UNPUBLISHED
    boxes, number = Boxes(low, high, signs), group.reshape(-1).astype(np.int32)
    release = Release(number, sensitive, boxes, other=other, columns=snapshot.columns)
    return Entry(snapshot, release, Auxiliary.none(), Trace(snapshot.persons, np.argsort(people).astype(np.int32)))


def _shown(snapshot: Snapshot, column: str) -> bool:
    return snapshot.columns is None or column in snapshot.columns


def timed(entries: Iterator[Entry], done: Callable[[int], None]) -> tuple[tuple[Entry, ...], float]:
    """All entries, and the CPU seconds that they took; `done` is told how many there are."""
    found, began = [], time.process_time()
    for entry in entries:
        found.append(entry)
        done(len(found))
    return tuple(found), time.process_time() - began
