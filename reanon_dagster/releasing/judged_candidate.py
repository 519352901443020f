"""From a snapshot to a judged candidate: plan, emit, judge."""

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.catalog import own_checks
from reanon_core.model.errors import counted
from reanon_core.protocols import Check, Memory, Technique
from reanon_dagster.releasing.brakes import new_people, require_accepted_loss, require_released_brakes
from reanon_dagster.releasing.candidate import Candidate, digest
from reanon_dagster.releasing.computation import Computation, InMemory
from reanon_dagster.releasing.query_error import Utility, measured_utility
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.releasing.snapshot_intake import require_expectations
from reanon_dagster.releasing.spreadsheet_formulas import formula_notes
from reanon_dagster.sources.snapshot_reader import Read
from reanon_dagster.storage.pseudonym_key import check_value

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

SEED_BITS = 256

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Report no progress."""


def generator(seed: int | None) -> np.random.Generator:
    """The random generator of one release, seeded by the operating system; or from a seed, for tests."""
    return np.random.default_rng(secrets.randbits(SEED_BITS) if seed is None else seed)


def checks_of(series: "Series") -> tuple[Check, ...]:
    """The technique's own checks, which are always on, and those the series adds."""
    return (*own_checks(series.technique), *series.more_checks)


def note_on_forgotten(left_out: int) -> tuple[str, ...]:
    """What the steward must know if people of the snapshot are taken for forgotten ones; nothing if there are none."""
    if not left_out:
        return ()
    them = counted(left_out, "person of the snapshot is", "people of the snapshot are")
    sentence = (
        f"{them} left out, because the mark of a forgotten person matches; delete forgotten people from the source"
    )
    return (sentence,)


def note_on_delivery(view: SeriesView, read: Read) -> tuple[str, ...]:
    """What the steward must know if the snapshot is that of an earlier release; nothing otherwise."""
    before = [record.release for record in view.records if record.input_digest == read.input_digest and read.rows]
    if not before:
        return ()
    return (f"its snapshot is the same as that of release {before[-1]}; was it delivered again?",)


def _state(technique: Technique[Any, Any], packed: Memory | None) -> Any:
    """The state that was stored; the initial one before the first release."""
    return technique.initial_state() if packed is None else technique.restored(packed)


def judged_candidate(
    series: "Series",
    view: SeriesView,
    release: str,
    read: Read,
    *,
    computation: Computation | None = None,
    accept_drift: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Candidate:
    """The candidate computed from a snapshot, with the verdict of every check. Nothing is written.

    `computation` is the one that has read the snapshot, in memory by default; `accept_drift` is the reason with which a
    person accepts every brake.

    Raises: BrakesTripped if the snapshot looks like the wrong table; ExpectationsFailed if an expectation of the
    steward fails; Unpublishable if the technique's promise cannot be kept on this data; OutOfOrder if another release
    was published since the view was read.
    """
    began = time.perf_counter()
    new_ids, ids_in_doubt = new_people(view, read) or (None, None)
    accepted = require_released_brakes(series, view, release, read, ids_in_doubt, accept_drift)
    del ids_in_doubt
    doubts = require_expectations(series, release, read.raw)
    progress("planning groups")
    technique = series.technique
    computation = computation or InMemory(series)
    publication = computation.publication(read, _state(technique, computation.state(view)), generator(seed))
    entry = publication.entry(read.snapshot)
    progress("checking")
    # No variable holds the earlier state and memories, so that theirs is free as soon as it is used.
    verdicts, memories = computation.verdicts(checks_of(series), entry, computation.memories(view))
    holds = all(verdict.holds for verdict in verdicts if verdict.required)
    measured = Utility()  # what is not well formed cannot be measured
    losses: tuple[str, ...] = ()
    if holds:
        measured = measured_utility(entry)
        lost, losses = require_accepted_loss(series, view, release, entry, measured, accept_drift)
        accepted += lost
    return Candidate(
        release=release,
        position=view.position,
        input_digest=read.input_digest,
        key_check=check_value(view.key),
        entry=entry,
        state=publication.state.packed(),
        memories=memories,
        verdicts=verdicts,
        judged=digest(entry),
        people=read.rows,
        withheld=publication.withheld,
        notes=(
            *(f"accepted: {one.brake}" for one in accepted),
            *losses,
            *doubts,
            *note_on_delivery(view, read),
            *note_on_forgotten(read.left_out),
            *publication.notes,
            *formula_notes(series, entry),
        ),
        doubts=doubts,
        seconds=time.perf_counter() - began,
        forgotten=len(view.summary.marks),
        utility=measured,
        accepted=accepted,
        new_ids=new_ids,
    )
