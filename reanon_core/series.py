"""The door for Python: a series of releases in memory, judged one by one, from frames of any kind."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from reanon_core.audit import audit_table, metric_values, run_attack
from reanon_core.catalog import own_checks
from reanon_core.columns import Categorical, Date, Numeric
from reanon_core.judgement import judge, require_verdicts
from reanon_core.model.errors import (
    InvalidParameter,
    InvalidSnapshot,
    OutOfOrder,
    Problem,
    require,
)
from reanon_core.model.schema import Schema, Sensitive
from reanon_core.published_release import PublishedRelease
from reanon_core.publishing import publish
from reanon_core.series_arguments import require_release_arguments, require_series_arguments, series_schema
from reanon_core.tables.frames import PrivateTable, frame_columns
from reanon_core.tables.ids import KEY_BYTES
from reanon_core.tables.snapshot_table import CodedTable, coded_columns, columns_of, restricted
from reanon_core.techniques.decoupled import DECOUPLED_K, decouple

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from reanon_core.model.arrays import Int64
    from reanon_core.model.finding import Findings
    from reanon_core.model.ledger import Entry, Ledger
    from reanon_core.protocols import Check, Memory, State, Technique

SEED_BITS = 256


@dataclass(frozen=True, eq=False)
class _Done:
    """A release that passed its checks, with the truth behind it."""

    release: PublishedRelease
    entry: "Entry"
    ids: "pa.Array"
    persons: "Int64"


class Series:
    """One table of people, published again and again.

    Every release is judged by the checks that the technique promises and by `checks`, with the memory of all earlier
    ones. A release that fails is refused, and the series stays as it was. The object holds the ids and the values of
    everyone: it is private, and so are `trace`, `attack`, `audit` and `ledger`. A PublishedRelease is public.

    `ends="grid"` aligns intervals to bins that are the same in every release; with `"exact"` their ends are values of
    people, as in 0.1.0. `form="decoupled"` publishes a box for each person, shared by `k` people or more (10 if left
    out), and the values of each group apart from them; m-invariance and Cor-Split have it. `memory=False` starts every
    release from nothing, and judges it alone: the naive baseline for comparisons, unsafe as a series. `seed` makes the
    releases and the pseudonyms predictable; it is for tests and experiments only. Without it both come from the
    operating system.

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
        form: Literal["boxes", "decoupled"] = "boxes",
        k: int | None = None,
        memory: bool = True,
        seed: int | None = None,
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
                "seed": seed,
            }
        )
        self._id = id
        self._schema = series_schema(id, sensitive, quasi_identifiers, other, ends)
        if form == "decoupled":
            technique = decouple(technique, DECOUPLED_K if k is None else k)
        technique.accepts(self._schema)
        self._technique, self._memory, self._seed = technique, memory, seed
        self._checks = (*own_checks(technique), *checks)
        self._key = secrets.token_bytes(KEY_BYTES) if seed is None else np.random.default_rng(seed).bytes(KEY_BYTES)
        self._state: State = technique.initial_state()
        self._memories: Mapping[str, Memory] = {}
        self._shown: frozenset[str] = frozenset()
        self._done: tuple[_Done, ...] = ()

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

    def publish(
        self,
        frame: object,
        *,
        name: str,
        columns: Sequence[str] | None = None,
        selected: "npt.ArrayLike | None" = None,
    ) -> PublishedRelease:
        """Publish the next release from a pandas or polars frame or an Arrow table with one row per person.

        `columns` are those that the release shows, where the technique lets releases differ. `selected` says for each
        row whether the release selects it; it must not depend on the sensitive value.

        Raises: InvalidSnapshot with every problem at once; Unpublishable if the technique cannot keep its promise on
        this table; Refused if a check fails; OutOfOrder if the name is taken. The series is then unchanged.
        """
        require_release_arguments(name, columns)
        if name in {release.name for release in self.releases}:
            raise OutOfOrder(f"release {name} is published already; give the next release another name")
        shown = self._shown_columns(columns)
        needed = self._shown | frozenset(shown or self._schema.columns) | {self._schema.sensitive.name}
        wanted = (self._id, *self._schema.columns)
        data, problems = frame_columns(frame, wanted, optional=frozenset(wanted[1:]) - needed)
        coded = coded_columns(
            columns_of(data), self._schema, id_column=self._id, key=self._key, columns=shown, problems=problems
        )
        snapshot = coded.snapshot
        if selected is not None:
            answers = self._technique.declaration.answers_queries
            snapshot = restricted(snapshot, _mask(selected, coded), answers_queries=answers)
        publication = publish(self._technique, snapshot, self._state, self._generator())
        entry = publication.entry(snapshot)
        verdicts, memories = judge(self._checks, entry, self._memories)
        require_verdicts(name, entry, verdicts, publication.withheld)
        release = PublishedRelease(
            name,
            entry.release,
            entry.auxiliary,
            snapshot.schema,
            withheld=entry.withheld,
            verdicts=verdicts,
            notes=publication.notes,
        )
        self._schema, self._shown = snapshot.schema, needed
        if self._memory:
            self._state, self._memories = publication.state, memories
        self._done += (_Done(release, entry, data[self._id].combine_chunks(), coded.people.persons),)
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
        import pyarrow as pa

        place = next((at for at, done in enumerate(self._done) if done.release.name == name), None)
        if place is None:
            raise InvalidParameter(Problem("release", "be a published one", name, f"these are: {self._names()}"))
        entry = self._done[place].entry
        invented = entry.snapshot.persons[entry.snapshot.invented]
        real = ~np.isin(entry.trace.persons, invented)
        persons, rows = entry.trace.persons[real], entry.trace.shown_rows[real]
        known: dict[int, object] = {}
        for done in self._done[: place + 1]:  # a release may show people who have left: their ids are in earlier frames
            known.update(zip(done.persons.tolist(), done.ids.to_pylist(), strict=True))
        return PrivateTable(pa.table({"id": [known[person] for person in persons.tolist()], "row": rows}))

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

    def _shown_columns(self, columns: Sequence[str] | None) -> tuple[str, ...] | None:
        if columns is None:
            return None
        problems = [
            Problem(f"columns: {name}", "be a column of the series", help=f"they are {', '.join(self._schema.columns)}")
            for name in columns
            if name not in self._schema.columns
        ]
        if not self._technique.declaration.columns_vary:
            rule = f"be left out: every release of {self._technique.name} shows all columns"
            problems.append(Problem("columns", rule))
        require(problems, InvalidParameter)
        return tuple(name for name in self._schema.columns if name in columns)


def _mask(selected: "npt.ArrayLike", coded: CodedTable) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    mask = np.asarray(selected)
    if mask.dtype != np.bool_ or mask.shape != coded.people.order.shape:
        rule = f"say true or false for each of the {len(coded.people.order)} rows of the frame"
        raise InvalidSnapshot(Problem("selected", rule, f"{mask.dtype} of shape {mask.shape}"))
    return mask[coded.people.order]
