"""A rehearsal: every snapshot on the disk through the series' own technique, brakes, checks and attacks, in scratch."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.brakes import BrakesTripped
from reanon_core.catalog import SERIES_ATTACK, build_attack
from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.errors import InvalidSnapshot, ReanonError, Refused, Unpublishable, counted
from reanon_core.model.finding import Findings
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.protocols import Memory
from reanon_core.returning import Returning, returning, value_returning
from reanon_core.tables.id_forms import KnownIds, KnownPeople, NewIds
from reanon_dagster.lab.projection import Projection, as_read, projected_names
from reanon_dagster.lab.snapshots_on_disk import SnapshotsOnDisk
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.gate import require_acceptable
from reanon_dagster.releasing.judged_candidate import Progress, judged_candidate, silent
from reanon_dagster.releasing.people_lists import refused_file
from reanon_dagster.releasing.query_error import Utility
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.releasing.snapshot_intake import read_release
from reanon_dagster.sources.snapshot_reader import Read
from reanon_dagster.storage import series_store
from reanon_dagster.storage.pseudonym_key import KEY_BYTES, pseudonym_key
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import KnownPast, StoreSummary

if TYPE_CHECKING:
    from reanon_core.model.arrays import Int32, Int64
    from reanon_dagster.series.series import Series

NO_PAST = KnownPast((), ())


@dataclass(frozen=True, eq=False)
class RehearsalView(SeriesView):
    """What the store would know if the rehearsed releases were published."""

    scratch_key: bytes = b""
    scratch_past: KnownPast = NO_PAST
    scratch_state: Memory | None = None
    scratch_memories: Mapping[str, Memory] = field(default_factory=dict)
    scratch_people: "tuple[tuple[Int64, Int32], ...]" = ()
    """The people in the table of each release, and the codes of their values."""
    scratch_known: KnownIds = field(default_factory=KnownIds.none)

    @cached_property
    def key(self) -> bytes:
        """The key of the pseudonyms: that of the series if it has one, otherwise one that is never stored."""
        return self.scratch_key

    @cached_property
    def past(self) -> KnownPast:
        """What the next snapshot is compared with."""
        return self.scratch_past

    def state(self, folder: ColumnFolder | None = None) -> Memory | None:  # noqa: ARG002  a rehearsal is in memory
        """What the next plan builds on; None before the first release."""
        return self.scratch_state

    def memories(self, folder: ColumnFolder | None = None) -> Mapping[str, Memory]:  # noqa: ARG002
        """What each check builds on, by its name."""
        return self.scratch_memories

    def returning(self, persons: "Int64", values: int) -> Returning:
        """How many people of the latest release's table are among these, which ascend, by the codes of their values."""
        return returning(self.scratch_people[-1:], persons, values)

    def value_returning(self, code: int) -> list[tuple[int, int]]:
        """For each release and the next: how many people with a value returned, and how many had it; latest first."""
        return value_returning(self.scratch_people, code)

    @contextmanager
    def known_people(self) -> Iterator[KnownPeople]:
        """Everyone in a snapshot of a rehearsed release."""
        yield self.scratch_known

    def after(self, candidate: Candidate) -> "RehearsalView":
        """The view after this candidate, as if the gate had accepted it."""
        schema, table = candidate.entry.snapshot.schema, candidate.entry.snapshot.in_table()
        record = ReleaseRecord(
            position=candidate.position,
            release=candidate.release,
            input_digest=candidate.input_digest,
            candidate_digest=candidate.judged,
            manifest_digest="",
            people=candidate.people,
            withheld=sum(candidate.withheld.values()),
            seconds=candidate.seconds,
            query_error=candidate.utility.error,
        )
        return RehearsalView(
            self.private_folder,
            replace(self.summary, records=[*self.records, record]),
            scratch_key=self.scratch_key,
            scratch_past=KnownPast(schema.sensitive.values, schema.other_values),
            scratch_state=candidate.state,
            scratch_memories=candidate.memories,
            scratch_people=(*self.scratch_people, (table.persons, table.sensitive)),
            scratch_known=self._known_after(candidate.new_ids),
        )

    def _known_after(self, new: NewIds | None) -> KnownIds:
        if new is None:
            return self.scratch_known
        return self.scratch_known.with_people(new.ids.persons[new.fresh], new.ids.forms[new.fresh])


def first_view(series: "Series", seed: int | None) -> RehearsalView:
    """The view before the first release. Where people are forgotten they stay so, which needs the key of the series.

    Raises: Refused if the store or the key cannot be read.
    """
    folder = series.private_folder
    known = series_store.read_summary(folder)
    key = secrets.token_bytes(KEY_BYTES) if seed is None else np.random.default_rng(seed).bytes(KEY_BYTES)
    if known.marks:
        key = pseudonym_key(folder, known.frozen.get("key"))
    return RehearsalView(folder, StoreSummary(marks=known.marks), scratch_key=key)


MOST_ATTEMPTS = 5
"""How often a release is tried again after people were left out of it."""
MOST_LEFT_OUT = 0.1
"""The largest share of a snapshot that is left out to go on: a table without more people would be another table."""
ACCEPTED = "rehearsal"

Reader = Callable[[RehearsalView], Read]
"""Gives the snapshot of a release, coded with what the view knows."""


@dataclass(frozen=True)
class Obstacle:
    """A refusal that `reanon publish` would end with, and how the rehearsal went on."""

    sentence: str
    """For the steward: it may quote values of the data, never a person."""
    redacted: str
    """Without any value of the data."""
    people: int | None = None
    """How many people it concerns, if it concerns particular ones."""
    way: str | None = None
    """How the rehearsal went on; None if it could not."""
    exit_code: int = 1


@dataclass(frozen=True)
class RehearsedRelease:
    """What would become of one release."""

    release: str
    projected: bool
    """Whether its snapshot is not on the disk, but drawn from the churn of those that are."""
    seconds: float = 0.0
    people: int = 0
    rows: int = 0
    withheld: Mapping[str, int] = field(default_factory=dict)
    counterfeits: int = 0
    dirty: int = 0
    utility: Utility = field(default_factory=Utility)
    exposed: int | None = None
    attacked: int | None = None
    obstacles: tuple[Obstacle, ...] = ()
    notes: tuple[str, ...] = ()
    published: bool = True
    """Whether the rehearsal got over every obstacle, so that the next release builds on this one."""

    @property
    def refused(self) -> bool:
        """Whether `reanon publish` would refuse it as it is."""
        return bool(self.obstacles)


class Rehearsal:
    """The rehearsed part of a series, which grows release by release."""

    def __init__(
        self, series: "Series", *, seed: int | None = None, attacked: bool = True, patient: bool = True
    ) -> None:
        """Begin a rehearsal; a patient one goes on without the people whom a refusal concerns, if they are few."""
        self.series = series
        self.entries: list[Entry] = []
        self.view = first_view(series, seed)
        self._seed, self._attacked, self._patient = seed, attacked, patient

    @property
    def ledger(self) -> Ledger:
        """The releases that would be published, with the truth behind each."""
        return Ledger(tuple(self.entries))

    def release(
        self, name: str, reader: Reader, *, projected: bool = False, progress: Progress = silent
    ) -> RehearsedRelease:
        """Take the way of `reanon publish` up to the gate with one release, and advance if it would be published."""
        try:
            progress(f"{name}: reading the snapshot")
            read = reader(self.view)
        except InvalidSnapshot as error:
            return self.failed(name, error, projected=projected)
        seed = None if self._seed is None else self._seed + self.view.position
        candidate, obstacles = _attempts(
            self.series, self.view, name, read, seed=seed, patient=self._patient, progress=_named(name, progress)
        )
        if candidate is None:
            return RehearsedRelease(name, projected, people=read.rows, obstacles=obstacles, published=False)
        self.view = self.view.after(candidate)
        self.entries.append(candidate.entry)
        exposed, attacked = None, None
        if self._attacked:
            progress(f"{name}: attacking")
            found = self._intersected()
            exposed, attacked = found.exposed, found.of
        entry = candidate.entry
        return RehearsedRelease(
            release=name,
            projected=projected,
            seconds=candidate.seconds,
            people=candidate.people,
            rows=entry.release.size if entry.release.person_rows is None else len(entry.release.person_rows.box),
            withheld=dict(candidate.withheld),
            counterfeits=entry.auxiliary.total,
            dirty=entry.dirty,
            utility=candidate.utility,
            exposed=exposed,
            attacked=attacked,
            obstacles=obstacles,
            notes=tuple(note for note in candidate.notes if not note.startswith("accepted: ")),
        )

    def failed(self, name: str, error: ReanonError, *, projected: bool = False) -> RehearsedRelease:
        """A release that ends with an error before it is planned."""
        return RehearsedRelease(name, projected, obstacles=(_obstacle(name, error, None),), published=False)

    def exposed(self) -> int:
        """How many people all rehearsed releases together leave a single value for."""
        return self._intersected().exposed

    def _intersected(self) -> Findings:
        ledger = self.ledger
        return build_attack(SERIES_ATTACK).run(ledger.history(), ledger.knowledge())


def rehearsed_releases(
    rehearsal: Rehearsal, found: SnapshotsOnDisk, *, progress: Progress = silent
) -> Iterator[RehearsedRelease]:
    """Every release that has a snapshot, in order, up to the first one that cannot be published in any way."""
    for name in found.releases:

        def reader(view: RehearsalView, name: str = name) -> Read:
            return read_release(rehearsal.series, view, name)

        outcome = rehearsal.release(name, reader, progress=progress)
        yield outcome
        if not outcome.published:
            return


def projected_releases(
    rehearsal: Rehearsal, last: str, ahead: int, rng: np.random.Generator, *, progress: Progress = silent
) -> Iterator[RehearsedRelease]:
    """So many releases beyond the last snapshot, up to the first one that cannot be published in any way.

    Requires: `no_projection` has no objection to the tables behind the rehearsed releases.
    """
    projection = Projection([entry.snapshot.in_table() for entry in rehearsal.entries], rng)
    for name in projected_names(rehearsal.series, last, ahead):

        def reader(_: RehearsalView) -> Read:
            return as_read(projection.next_snapshot())

        outcome = rehearsal.release(name, reader, projected=True, progress=progress)
        yield outcome
        if not outcome.published:
            return


def _attempts(
    series: "Series",
    view: RehearsalView,
    release: str,
    read: Read,
    *,
    seed: int | None,
    patient: bool,
    progress: Progress,
) -> tuple[Candidate | None, tuple[Obstacle, ...]]:
    """The candidate, after every obstacle that a steward can remove without another table; None if one remains."""
    obstacles: list[Obstacle] = []
    accepted = None
    while True:
        try:
            candidate = judged_candidate(
                series, view, release, read, accept_drift=accepted, seed=seed, progress=progress
            )
            require_acceptable(candidate)
        except BrakesTripped as error:
            accepted = ACCEPTED
            obstacles.append(_obstacle(release, error, "as if you accepted it with --accept-drift"))
        except (Refused, Unpublishable) as error:
            named = np.isin(read.snapshot.persons, [] if error.persons is None else error.persons)
            few = patient and 0 < named.sum() <= MOST_LEFT_OUT * read.snapshot.size
            if not few or len(obstacles) >= MOST_ATTEMPTS:
                return None, (*obstacles, _obstacle(release, error, None))
            way = f"without {counted(int(named.sum()), 'person', 'people')} of the snapshot of {release}"
            obstacles.append(_obstacle(release, error, way))
            read = replace(read.without(named), left_out=read.left_out)
        else:
            return candidate, tuple(obstacles)


def _obstacle(release: str, error: ReanonError, way: str | None) -> Obstacle:
    persons = None if error.persons is None else len(np.unique(error.persons))
    who = ""
    if persons:
        who = f"; `reanon publish` writes who to {refused_file(release)} in the private folder"
    return Obstacle(
        sentence=f"{'; '.join(str(error).splitlines())}{who}",
        redacted="; ".join(error.redacted().splitlines()),
        people=persons,
        way=way,
        exit_code=error.exit_code,
    )


def _named(name: str, progress: Progress) -> Progress:
    return lambda step: progress(f"{name}: {step}")
