"""The sequential technique: worlds once for each batch of people, and each release as wide as they need."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.kernels.column_ids import numbered
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, counted, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import WITHHELD, Counterfeits, Plan
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.schema import Missing, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.sequential.arrivals import (
    Arrivals,
    arrivals_of,
    grown_extent,
    refuse_changes,
    table_of,
)
from reanon_core.techniques.sequential.batches import worlds_of_batch
from reanon_core.techniques.sequential.boxes import boxes_of
from reanon_core.techniques.sequential.generalization import Rows, generalize, homogeneous, non_sequential
from reanon_core.techniques.sequential.loss_measure import Loss, Measure, measure_of
from reanon_core.techniques.sequential.state import WorldsState

WorldKind = Literal["symmetric", "ring"]
Buckets = Literal["mondrian", "qi-only"]
Approach = Literal["sequential", "non-sequential", "homogeneous"]
BatchRule = Literal["refuse", "wait"]
DeleteRule = Literal["refuse", "defer"]
BareRule = Literal["refuse", "publish"]


@dataclass(frozen=True, eq=False, kw_only=True)
class WorldsPlan(Plan):
    """A plan that carries the state that follows."""

    following: WorldsState


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """Every release is consistent with ell stored worlds that give each person ell different sensitive values.

    This is not a bound on every inference: docs/guarantees.md says what is promised and what is not.
    Paper: [ST15] Section 4.
    """

    name: ClassVar[str] = "sequential"
    changeable: ClassVar[frozenset[str]] = frozenset({"loss", "on_batch", "on_delete", "on_bare"})
    caution: ClassVar[str] = (
        "sequential keeps ell worlds possible, which bounds no probability by itself; what holds for symmetric and for "
        "ring worlds is in docs/guarantees.md"
    )

    ell: int
    """The number of worlds, and so of the sensitive values that stay possible for everybody."""
    worlds: WorldKind = "symmetric"
    """How worlds are made: so that all are equally likely (symmetric), or as in the paper (ring)."""
    loss: Loss = "lm"
    """What a release loses as little of as it can: codes (lm, the loss metric) or bits (em, the entropy measure)."""
    buckets: Buckets = "mondrian"
    """Who may be exchanged with whom: cuts that look at sensitive values, or cuts of quasi-identifiers only."""
    bucket_size: int | None = None
    """qi-only: the least number of people in a bucket; 8 ell if it is not given. Larger ones are refused less often."""
    approach: Approach = "sequential"
    """How releases are generalized: each by itself (sequential), or, to compare, as projections of one table."""
    on_batch: BatchRule = "refuse"
    """What to do with new people among whom a value is too frequent: refuse, or let all of them wait for more."""
    on_delete: DeleteRule = "refuse"
    """What to do when people leave: refuse, or publish them on until everybody of their cell has left."""
    on_bare: BareRule = "refuse"
    """What to do with a release of quasi-identifiers alone, which are published as they are: refuse, or publish."""

    def __post_init__(self) -> None:
        """Hold the ranges of the parameters."""
        problems = []
        if isinstance(self.ell, bool) or not isinstance(self.ell, int) or self.ell < 2:
            problems.append(Problem("ell", "be a whole number of at least 2", str(self.ell)))
        size = self.bucket_size
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 2):
            problems.append(Problem("bucket_size", "be a whole number of at least 2", str(size)))
        if size is not None and self.buckets != "qi-only":
            problems.append(Problem("bucket_size", "be left out unless buckets is qi-only", str(size)))
        for option, allowed in (
            ("worlds", WorldKind),
            ("loss", Loss),
            ("buckets", Buckets),
            ("approach", Approach),
            ("on_batch", BatchRule),
            ("on_delete", DeleteRule),
            ("on_bare", BareRule),
        ):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        require(problems, InvalidParameter)

    def accepts(self, schema: Schema) -> None:
        """Refuse columns with missing values: a world needs a value of every quasi-identifier of everybody.

        Raises: InvalidSchema.
        """
        lacking = [column.name for column in schema.quasi_identifiers if column.missing is Missing.SEPARATE]
        if lacking:
            rule = "be refuse with sequential, whose worlds need every value"
            help_ = "make it categorical with a value of its own for what is missing"
            raise InvalidSchema([Problem(f"{name}: missing", rule, "separate", help_) for name in lacking])

    def initial_state(self) -> WorldsState:
        """Nobody was published yet."""
        return WorldsState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> WorldsState:
        """The state that was packed."""
        return WorldsState.restored(packed)

    def plan(self, snapshot: Snapshot, state: WorldsState, rng: np.random.Generator) -> WorldsPlan:
        """Make worlds of new people, then the release of everybody.

        Paper: [ST15] Algorithm 1, then Algorithm 2; Section 5.2.

        Raises: Unpublishable; nothing is changed.
        """
        self._refuse_bare(snapshot)
        _refuse_missing(snapshot)
        arrivals = arrivals_of(snapshot, state)
        refuse_changes(snapshot, state, arrivals.place)
        self._refuse_leaving(arrivals)
        state = replace(state, time=state.time + 1, extent=grown_extent(snapshot, state.extent))
        new, withheld = arrivals.place < 0, {}
        known = arrivals.place >= 0
        if known.any():
            state = state.learned(arrivals.place[known], snapshot.qi[:, known], snapshot.other[:, known])
        if new.any():
            batch = worlds_of_batch(snapshot, np.flatnonzero(new), state.extent, self, rng)
            if batch is None:
                withheld["waiting: a sensitive value is too frequent among the new people"] = int(new.sum())
                new[:] = False
            else:
                state = state.joined(
                    snapshot.persons[new],
                    snapshot.qi[:, new],
                    snapshot.sensitive[new],
                    snapshot.other[:, new],
                    batch,
                )
        if arrivals.partial.any():
            withheld["waiting: they came back, and not all whom they left with"] = int(arrivals.partial.sum())
        stay = np.concatenate([arrivals.stay, np.ones(state.size - len(arrivals.stay), np.bool_)])
        state = replace(state, gone=~stay)
        table = table_of(snapshot, state, arrivals)
        return self._released(table, state, stay, withheld, rng)

    def advance(self, state: WorldsState, snapshot: Snapshot, plan: WorldsPlan) -> WorldsState:  # noqa: ARG002
        """What the plan found out."""
        return plan.following

    def _released(
        self, table: Snapshot, state: WorldsState, stay: Bool, withheld: dict[str, int], rng: np.random.Generator
    ) -> WorldsPlan:
        """The boxes of everybody who stays, and the row in which each world sees them.

        Paper: [ST15] Algorithm 2.
        """
        where = state.found(table.persons)
        published = np.append(stay, np.False_)[where]  # strangers, who have to wait, are at -1
        people = where[published]
        if table.size and not len(people):
            raise Unpublishable("nobody of the snapshot can be published: the new people have to wait for more")
        shown = _shown(table)
        qi = table.qi[np.ix_(np.array(shown, dtype=np.int64), published)]
        _refuse_unknown(table, published)
        columns = tuple(table.schema.quasi_identifiers[at] for at in shown)
        measure = measure_of(columns, qi, state.extent[:, shown], self.loss)
        images = _among(people, state, self.ell)
        rows = self._generalized(
            measure.places(qi), _suffixes(table, published), images, state.bucket[people], measure, rng
        )
        boxes, witness = boxes_of(table.schema, shown, rows, measure)
        group = np.full(table.size, WITHHELD, dtype=np.int32)
        group[published] = 0
        return WorldsPlan(
            group=group,
            groups=0,
            counterfeits=Counterfeits.none(),
            withheld=withheld,
            boxes=boxes,
            witness=witness,
            record_pool=table,
            following=state,
        )

    def _generalized(
        self, places: Int32, suffix: Int32, images: Int32, bucket: Int32, measure: Measure, rng: np.random.Generator
    ) -> Rows:
        owner = images[-1]  # the true world: everybody has their own suffix
        if self.approach == "homogeneous":
            return homogeneous(places, images, owner, bucket, measure)
        if self.approach == "non-sequential":
            return non_sequential(places, images, owner, measure)
        return generalize(places, suffix, images, measure, rng)

    def _refuse_bare(self, snapshot: Snapshot) -> None:
        columns = snapshot.columns
        suffix = (snapshot.schema.sensitive.name, *snapshot.schema.other)
        if columns is not None and self.on_bare == "refuse" and not set(columns) & set(suffix):
            raise Unpublishable(
                f"the release shows only quasi-identifiers ({', '.join(columns)}): they would come out as they are, "
                f"because nothing in them speaks of a sensitive value; whoever does not know them would learn them. "
                f"If that is meant, set on_bare: publish"
            )

    def _refuse_leaving(self, arrivals: Arrivals) -> None:
        left = int(arrivals.missed.sum())
        if self.on_delete == "refuse" and left:
            raise Unpublishable(
                f"{counted(left, 'person', 'people')} of earlier releases left the snapshot, and on_delete is refuse: "
                f"one who leaves alone can be told from the others by the difference. Keep them in, or set "
                f"on_delete: defer, which publishes them on until everybody of their cell has left"
            )
        if self.on_delete == "refuse" and arrivals.partial.any():
            raise Unpublishable(
                f"{counted(int(arrivals.partial.sum()), 'person', 'people')} came back without everybody of their "
                f"cell, and on_delete is refuse; bring the others back, or set on_delete: defer, which lets them wait"
            )


def _refuse_unknown(table: Snapshot, published: Bool) -> None:
    """Refuse a column that somebody has no value of: one who left before it came into the source."""
    schema = table.schema
    columns = [(name, codes == MISSING) for name, codes in zip(schema.names, table.qi, strict=True)]
    columns += [(name, codes == UNPUBLISHED) for name, codes in zip(schema.other, table.other, strict=True)]
    said = [
        f"{name} of {counted(int(lacking[published].sum()), 'person', 'people')}"
        for name, lacking in columns
        if (table.columns is None or name in table.columns) and lacking[published].any()
    ]
    if said:
        raise Unpublishable(
            f"the source does not say {' and '.join(said)} who left and must still be published; "
            f"leave the column out of this release until their cells have left"
        )


def _refuse_missing(snapshot: Snapshot) -> None:
    """Refuse a column that is empty for some: a world needs every value of everybody."""
    empty = (snapshot.qi == MISSING).any(axis=1) & ~snapshot.absent
    if empty.any():
        names = ", ".join(name for name, lacks in zip(snapshot.schema.names, empty, strict=True) if lacks)
        raise Unpublishable(f"{names} is empty for some people, and worlds need every value; fill it in")


def _shown(table: Snapshot) -> list[int]:
    """The quasi-identifiers that the release shows."""
    return [at for at, name in enumerate(table.schema.names) if table.columns is None or name in table.columns]


def _suffixes(table: Snapshot, published: Bool) -> Int32:
    """A number for the part of everybody's suffix that the release shows.

    Paper: [ST15] Equation 9.
    """
    named = ((table.schema.sensitive.name, table.sensitive), *zip(table.schema.other, table.other, strict=True))
    codes = [codes[published] for name, codes in named if table.columns is None or name in table.columns]
    if not codes:
        return np.zeros(int(published.sum()), dtype=np.int32)
    return numbered(np.stack(codes)).astype(np.int32)


def _among(people: Int64, state: WorldsState, ell: int) -> Int32:
    """Whose suffix each world gives to each of these people, counted among them; the true world is the last.

    Requires: whole cells only.
    """
    place = np.full(state.size, UNPUBLISHED, dtype=np.int32)
    place[people] = np.arange(len(people), dtype=np.int32)
    images = np.empty((ell, len(people)), dtype=np.int32)
    images[:-1] = place[state.images[:, people]] if len(people) else 0
    images[-1] = np.arange(len(people), dtype=np.int32)
    return images
