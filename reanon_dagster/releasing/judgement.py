"""From a snapshot to a judged candidate."""

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.catalog import own_checks
from reanon_core.judgement import judge
from reanon_core.protocols import Check
from reanon_core.publishing import publish
from reanon_dagster.releasing.candidate import Candidate, digest
from reanon_dagster.sources.snapshot_reader import Read
from reanon_dagster.storage.records import Standing

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

SEED_BITS = 256

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Progress that nobody watches."""


def generator(seed: int | None) -> np.random.Generator:
    """The generator of one release: from the operating system, and forgotten; or from a seed, for tests."""
    return np.random.default_rng(secrets.randbits(SEED_BITS) if seed is None else seed)


def checks_of(series: "Series") -> tuple[Check, ...]:
    """The technique's own checks, which are always on, and those the series adds."""
    return (*own_checks(series.technique), *series.more_checks)


def prepare(
    series: "Series",
    release: str,
    read: Read,
    standing: Standing,
    *,
    key_check: str,
    seed: int | None = None,
    progress: Progress = silent,
) -> Candidate:
    """Plan, emit and judge. Nothing is written.

    Raises: Unpublishable if the technique's promise cannot be kept on this data.
    """
    began = time.perf_counter()
    progress("planning groups")
    technique = series.technique
    state = technique.initial_state() if standing.state is None else technique.restored(standing.state)
    publication = publish(technique, read.snapshot, state, generator(seed))
    entry = publication.entry(read.snapshot)
    progress("checking")
    verdicts, memories = judge(checks_of(series), entry, standing.memories)
    return Candidate(
        release=release,
        position=standing.position,
        input_digest=read.input_digest,
        key_check=key_check,
        entry=entry,
        state=publication.state.packed(),
        memories=memories,
        verdicts=verdicts,
        judged=digest(entry),
        people=read.rows,
        withheld=publication.withheld,
        notes=publication.notes,
        seconds=time.perf_counter() - began,
    )
