"""The door for Python: a series of releases in memory, judged one by one, from frames of any kind."""

import os
import secrets
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from reanon_core import brakes
from reanon_core.audit import audit_table, metric_values, run_attack
from reanon_core.brakes import Brake
from reanon_core.catalog import own_checks
from reanon_core.columns import Categorical, Date, Numeric
from reanon_core.judgement import judge, require_verdicts
from reanon_core.lineages import COPIED, NEIGHBOUR, lineage, new_token, process_people
from reanon_core.metrics.value_counts import value_counts
from reanon_core.model.errors import Caution, InvalidParameter, NotEligible, OutOfOrder, Problem
from reanon_core.model.schema import Schema, Sensitive
from reanon_core.published_release import PublishedRelease
from reanon_core.publishing import publish
from reanon_core.returning import returning, value_returning
from reanon_core.series_arguments import (
    require_release_arguments,
    require_series_arguments,
    selection_mask,
    series_cautions,
    series_schema,
    shown_columns,
)
from reanon_core.tables.frames import PrivateTable, frame_columns
from reanon_core.tables.id_forms import Doubts, KnownIds, among
from reanon_core.tables.ids import KEY_BYTES, ascending_order, canonical_texts
from reanon_core.tables.snapshot_table import coded_columns, columns_of, restricted
from reanon_core.techniques.decoupled import DECOUPLED_K, decouple, default_form

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from reanon_core.model.arrays import Int32, Int64
    from reanon_core.model.finding import Findings
    from reanon_core.model.ledger import Entry, Ledger
    from reanon_core.protocols import Check, Memory, State, Technique
    from reanon_core.tables.snapshot_table import CodedTable

SEED_BITS = 256
ACCEPTED_WITH = "accept_drift='the reason'"
SKIPPED = (
    "{} was refused because a value is too frequent among its new people, and is skipped: whoever sees the gap in the "
    "names learns that, and may determine their values; publish this frame under the name {} instead"
)
NO_ONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class KeptRelease:
    """Private: what the series keeps of a release that passed its checks, with the truth behind it."""

    release: PublishedRelease
    entry: "Entry"
    ids: "pa.Array"
    persons: "Int64"
    """The people of the frame, in its order, selected or not."""
    accepted: tuple[Brake, ...]
    """The brakes that a person accepted, and why."""
    reason: str | None


def tripped_brakes(
    kept: Sequence[KeptRelease], coded: "CodedTable", doubts: Doubts, schema: "Schema", id_column: str
) -> tuple[Brake, ...]:
    """Every brake that the next frame trips, some of whose new ids may be doubtful.

    `schema` knows the values of the kept releases.
    """
    people, last = coded.people, kept[-1] if kept else None
    column, known = coded.snapshot.schema.sensitive, len(schema.sensitive.values)
    found = [
        brakes.empty_start(len(people.order), first=last is None),
        brakes.respelled_values(column, known),
        brakes.values_for_nothing(column, known),
        brakes.respelled_ids(id_column, doubts.alike),
        brakes.ids_for_nothing(id_column, doubts.empty),
    ]
    if last is not None:
        before = last.persons[ascending_order(last.persons)]
        here = int(np.count_nonzero(among(before, people.persons[people.order])))
        found.append(brakes.drifted_size(len(people.order), len(before)))
        found.append(brakes.few_returning(here, len(before), last.release.name))
        again = returning(_tables(kept[-1:]), people.persons[people.order], len(column.values))
        found.append(
            brakes.filtered_values(column, again, lambda code: value_returning(_tables(kept), code), last.release.name)
        )
    return tuple(brake for brake in found if brake is not None)


def _tables(kept: Sequence[KeptRelease]) -> "Iterator[tuple[Int64, Int32]]":
    """The people in the table of each release, and the codes of their values."""
    for one in kept:
        table = one.entry.snapshot.in_table()
        yield table.persons, table.sensitive


def trace_table(kept: Sequence[KeptRelease]) -> PrivateTable:
    """The id of the person behind each published row of the last of these releases, counterfeits left out."""
    import pyarrow as pa

    entry = kept[-1].entry
    invented = entry.snapshot.persons[entry.snapshot.invented]
    real = ~np.isin(entry.trace.persons, invented)
    persons, rows = entry.trace.persons[real], entry.trace.shown_rows[real]
    known: dict[int, object] = {}
    for one in kept:  # a release may show people who have left: their ids are in earlier frames
        known.update(zip(one.persons.tolist(), one.ids.to_pylist(), strict=True))
    return PrivateTable(pa.table({"id": [known[person] for person in persons.tolist()], "row": rows}))


class Series:
    """One table of people, published again and again.

    Every release is judged by the checks that the technique promises and by `checks`, with the memory of all earlier
    ones. A release that fails is refused, and the series stays as it was. The object holds the ids and the values of
    everyone: it is private, and so are `trace`, `attack`, `audit` and `ledger`. A PublishedRelease is public.

    `ends="grid"` aligns intervals to bins that are the same in every release; with `"exact"` their ends are values of
    people. `form="decoupled"` publishes a box for each person, shared by `k` people or more (10 if left out), and the
    values of each group apart from them; it is the form of m-invariance and Cor-Split if nothing else is said, and
    `form="boxes"` is that of the papers. `memory=False` starts every release from nothing, and judges it alone: the
    naive baseline for comparisons, unsafe as a series. `unsafe_seed` makes the releases and the pseudonyms predictable;
    it is for tests and pages only. Without it both come from the operating system. What gives protection away is a
    warning of the class Caution.

    Threads publish one after the other. A copy that lacks a release of another copy in this process is refused.

    Raises: InvalidSchema, InvalidParameter with every problem at once.
    """

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 (the key of series.yaml)
        sensitive: str | Sensitive,
        quasi_identifiers: Mapping[str, Numeric | Date | Categorical],
        technique: "Technique[Any, Any]",
        other: Sequence[str] = (),
        checks: "Sequence[Check]" = (),
        ends: Literal["grid", "exact"] = "grid",
        form: Literal["boxes", "decoupled"] | None = None,
        k: int | None = None,
        memory: bool = True,
        unsafe_seed: int | None = None,
        seed: None = None,  # so common elsewhere that it is refused with a sentence
    ) -> None:
        require_series_arguments(
            {
                "id": id,
                "sensitive": sensitive,
                "quasi_identifiers": quasi_identifiers,
                "technique": technique,
                "other": other,
                "checks": checks,
                "ends": ends,
                "form": form,
                "k": k,
                "memory": memory,
                "unsafe_seed": unsafe_seed,
                "seed": seed,
            }
        )
        self._id = id
        self._schema = series_schema(id, sensitive, quasi_identifiers, other, ends)
        if (form or default_form(technique)) == "decoupled":
            technique = decouple(technique, DECOUPLED_K if k is None else k)
        elif k is not None:
            raise InvalidParameter(Problem("k", "be given with form='decoupled', and only then", str(k)))
        technique.accepts(self._schema)
        self._technique, self._memory, self._seed = technique, memory, unsafe_seed
        self._checks = (*own_checks(technique), *checks)
        generator = None if unsafe_seed is None else np.random.default_rng(unsafe_seed)
        self._key = secrets.token_bytes(KEY_BYTES) if generator is None else generator.bytes(KEY_BYTES)
        self._state: State = technique.initial_state()
        self._memories: Mapping[str, Memory] = {}
        self._shown: frozenset[str] = frozenset()
        self._known = KnownIds.none()
        self._done: tuple[KeptRelease, ...] = ()
        self._refused: str | None = None
        self._token = new_token()
        self._join_process()
        for sentence in series_cautions(technique, memory=memory, seeded=unsafe_seed is not None):
            warnings.warn(sentence, Caution, stacklevel=2)

    def __getstate__(self) -> dict[str, Any]:
        warnings.warn(COPIED, Caution, stacklevel=2)
        return {name: value for name, value in self.__dict__.items() if name not in {"_lineage", "_process"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._join_process()

    def _join_process(self) -> None:
        """Let this process know of the object, so that other threads, copies and series are noticed."""
        self._process = os.getpid()
        self._lineage = lineage(self._token, (self._id, self._schema.sensitive.name), len(self._done))

    @property
    def technique(self) -> "Technique[Any, Any]":
        """The technique with its parameters."""
        return self._technique

    @property
    def schema(self) -> Schema:
        """The columns, with every value seen so far."""
        return self._schema

    @property
    def releases(self) -> tuple[PublishedRelease, ...]:
        """The releases so far, in order."""
        return tuple(done.release for done in self._done)

    @property
    def accepted_drifts(self) -> tuple[tuple[str, str, str], ...]:
        """Private: every brake that was accepted, as release, sentence without values, and reason."""
        return tuple(
            (done.release.name, brake.redacted, str(done.reason)) for done in self._done for brake in done.accepted
        )

    def publish(
        self,
        frame: object,
        *,
        name: str,
        columns: Sequence[str] | None = None,
        selected: "npt.ArrayLike | None" = None,
        accept_drift: str | None = None,
    ) -> PublishedRelease:
        """Publish the next release from a pandas or polars frame or an Arrow table with one row per person.

        `columns` are those that the release shows, where the technique lets releases differ. `selected` says for each
        row whether the release selects it; it must not depend on the sensitive value. `accept_drift` says why a frame
        that looks like the wrong table is right.

        Raises: InvalidSnapshot with every problem at once; Unpublishable if the technique cannot keep its promise on
        this table; Refused if a check fails, the frame looks like the wrong table, or a copy has published; OutOfOrder
        if the name is taken. The series is then unchanged.
        """
        require_release_arguments(name, columns)
        reason = brakes.accepted_reason(accept_drift, "accept_drift")
        with self._lineage.turn(self._process, lambda: len(self._done)):
            if name in {release.name for release in self.releases}:
                raise OutOfOrder(f"release {name} is published already; give the next release another name")
            shown = shown_columns(columns, self._schema, self._technique)
            needed = self._shown | frozenset(shown or self._schema.columns) | {self._schema.sensitive.name}
            wanted = (self._id, *self._schema.columns)
            data, problems = frame_columns(frame, wanted, optional=frozenset(wanted[1:]) - needed)
            coded = coded_columns(
                columns_of(data), self._schema, id_column=self._id, key=self._key, columns=shown, problems=problems
            )
            texts = canonical_texts(self._id, data[self._id])
            known, doubts = self._known.with_table(texts, coded.people, self._key)
            tripped = tripped_brakes(self._done, coded, doubts, self._schema, self._id)
            if tripped and reason is None:
                raise brakes.BrakesTripped(name, tripped, ACCEPTED_WITH)
            snapshot = coded.snapshot
            if selected is not None:
                answers = self._technique.declaration.answers_queries
                mask = selection_mask(selected, coded.people)
                snapshot = restricted(snapshot, mask, answers_queries=answers)
            try:
                publication = publish(self._technique, snapshot, self._state, self._generator())
            except NotEligible:
                self._refused = name
                raise
            entry = publication.entry(snapshot)
            verdicts, memories = judge(self._checks, entry, self._memories)
            require_verdicts(name, entry, verdicts, publication.withheld)
            lost, losses = brakes.losses(entry, value_counts(entry), brakes.Limits(), begins=not self._done)
            if lost and reason is None:
                raise brakes.BrakesTripped(name, lost, ACCEPTED_WITH)
            tripped += lost
            release = PublishedRelease(
                name,
                entry.release,
                entry.auxiliary,
                snapshot.schema,
                withheld=entry.withheld,
                verdicts=verdicts,
                notes=(*losses, *publication.notes),
            )
            ids = data[self._id].combine_chunks()
            kept = KeptRelease(release, entry, ids, coded.people.persons, tripped, reason)
            people = process_people(texts) if self._memory and self._seed is None else NO_ONE
            neighbours = (NEIGHBOUR,) if self._lineage.neighbour(people) else ()
            skipped = (SKIPPED.format(self._refused, self._refused),) if self._refused not in (None, name) else ()
            # Where a warning is an error, the series must not advance.
            for sentence in (*neighbours, *skipped, *release.notes):
                warnings.warn(f"release {name}: {sentence}", Caution, stacklevel=2)
            self._lineage.published(people)
            self._schema, self._shown, self._known = snapshot.schema, needed, known
            if self._memory:
                self._state, self._memories = publication.state, memories
            self._done += (kept,)
            self._refused = None
        return release

    def ledger(self) -> "Ledger":
        """Private: the releases with the truth behind them, for the attacks and metrics of the catalog.

        Raises: OutOfOrder before the first release.
        """
        from reanon_core.model.ledger import Ledger

        if not self._done:
            raise OutOfOrder("nothing is published yet; publish a release first")
        return Ledger(tuple(done.entry for done in self._done))

    def trace(self, name: str) -> PrivateTable:
        """Private: the id of the person behind each published row, counterfeits left out.

        Raises: InvalidParameter if there is no such release.
        """
        place = next((at for at, done in enumerate(self._done) if done.release.name == name), None)
        if place is None:
            raise InvalidParameter(Problem("release", "be a published one", name, f"these are: {self._names()}"))
        return trace_table(self._done[: place + 1])

    def attack(self, name: str, *, compromised: float = 0.0, groups_known: bool = True) -> "Findings":
        """Private: whom an attack on all releases exposes.

        The adversary knows who is in each release, with their quasi-identifiers; the values of a random share
        `compromised` of the people; and, if `groups_known`, the group of each person.

        Raises: InvalidParameter if there is no such attack, or if it cannot run on these data.
        """
        technique, ledger, rng = self._technique, self.ledger(), self._rng()
        return run_attack(
            name, technique, ledger, self._background(), compromised=compromised, groups_known=groups_known, rng=rng
        )

    def audit(
        self, *, attacks: Sequence[str] | None = None, compromised: float = 0.0, groups_known: bool = True
    ) -> PrivateTable:
        """Private: every check from the first release on, and what every attack on all releases finds.

        With `memory=False` the history checks may fail here, though each release held by itself.
        """
        return audit_table(
            self._checks,
            [release.name for release in self.releases],
            self._technique,
            self.ledger(),
            self._background(),
            attacks=attacks,
            compromised=compromised,
            groups_known=groups_known,
            rng=self._rng(),
        )

    def measure(self, metric: str) -> dict[str, float]:
        """A metric of the catalog for each release, by name.

        Raises: InvalidParameter if there is no such metric.
        """
        return metric_values(metric, [release.name for release in self.releases], self.ledger(), self._rng())

    def query_error(self) -> dict[str, float]:
        """The median relative error of random counting queries on each release, by name."""
        return self.measure("query-error")

    def relations(self) -> dict[str, float]:
        """How much of the relations each release keeps, by name: 1 all, 0 none, NaN if none is large enough."""
        return self.measure("relations")

    def __repr__(self) -> str:
        return f"Series({self._technique!r}, {len(self._done)} releases)"

    def _names(self) -> str:
        return ", ".join(release.name for release in self.releases) or "none yet"

    def _background(self) -> Any:
        return getattr(self._technique, "background", None)  # of an InformedTechnique

    def _generator(self) -> np.random.Generator:
        """The generator of the next release."""
        return np.random.default_rng(
            secrets.randbits(SEED_BITS) if self._seed is None else self._seed + len(self._done)
        )

    def _rng(self) -> np.random.Generator:
        """The generator of samples and workloads, which are not published."""
        return np.random.default_rng(self._seed)
