"""The sequential technique: worlds once for each batch of people, then releases as wide as all worlds need."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.kernels.column_ids import column_ids
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, counted, require
from reanon_core.model.packing import Packable
from reanon_core.model.plan import WITHHELD, Counterfeits, Plan
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.schema import Missing, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Promise
from reanon_core.techniques.sequential.arrivals import (
    Arrivals,
    arrivals_of,
    extend_extent,
    refuse_changes,
    with_deferred,
)
from reanon_core.techniques.sequential.batches import worlds_of_batch
from reanon_core.techniques.sequential.boxes import boxes_of
from reanon_core.techniques.sequential.generalization import GeneralizedRows, generalize, homogeneous, non_sequential
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
    """A plan that also carries the state after the release."""

    next_state: WorldsState


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """Every release is consistent with ell stored worlds that assign each person ell different sensitive values.

    This does not bound every inference: docs/guarantees.md says what is promised and what is not.

    Paper: [ST15] Section 4.
    """

    name: ClassVar[str] = "sequential"
    changeable: ClassVar[frozenset[str]] = frozenset({"loss", "on_batch", "on_delete", "on_bare"})
    caution: ClassVar[str] = (
        "sequential keeps ell worlds possible, which by itself does not bound any probability; docs/guarantees.md says "
        "what holds for symmetric and for ring worlds"
    )

    declaration: ClassVar[Declaration] = Declaration(weakest={"ell": 2}, columns_vary=True, has_worlds=True)

    ell: int
    """The number of worlds, and so of the sensitive values that stay possible for each person."""
    worlds: WorldKind = "symmetric"
    """How worlds are built: so that all are equally likely (symmetric), or as in the paper (ring)."""
    loss: Loss = "lm"
    """The loss that a release minimizes: lm (the loss metric, in codes) or em (the entropy measure, in bits)."""
    buckets: Buckets = "mondrian"
    """How people are divided into buckets: by cuts that consider sensitive values, or quasi-identifiers only."""
    bucket_size: int | None = None
    """qi-only: the least number of people in a bucket; default 8 ell. Larger buckets are refused less often."""
    approach: Approach = "sequential"
    """How releases are generalized: each by itself (sequential), or, for comparison, as projections of one table."""
    on_batch: BatchRule = "refuse"
    """What to do with new people who are not diverse: refuse, or withhold all of them until more people come."""
    on_delete: DeleteRule = "refuse"
    """What to do when people leave: refuse, or keep publishing them until their whole cell has left."""
    on_bare: BareRule = "refuse"
    """What to do with a release of quasi-identifiers alone, which would not be generalized: refuse, or publish."""

    def __post_init__(self) -> None:
        """Validate the parameters."""
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

    def promises(self) -> tuple[Promise, ...]:
        """Worlds with ell different values for each person."""
        return (Promise("possible-worlds", {"ell": self.ell}),)

    def accepts(self, schema: Schema) -> None:
        """Reject columns with missing values: worlds need every quasi-identifier of every person.

        Raises: InvalidSchema.
        """
        lacking = [column.name for column in schema.quasi_identifiers if column.missing is Missing.SEPARATE]
        if lacking:
            rule = "be refuse with sequential, because worlds need every value"
            help_ = "make the column categorical, with a value of its own for missing"
            raise InvalidSchema([Problem(f"{name}: missing", rule, "separate", help_) for name in lacking])

    def initial_state(self) -> WorldsState:
        """The state before the first release."""
        return WorldsState.initial()

    def restored(self, packed: Mapping[str, Packable]) -> WorldsState:
        """The state that was packed."""
        return WorldsState.restored(packed)

    def plan(self, snapshot: Snapshot, state: WorldsState, rng: np.random.Generator) -> WorldsPlan:
        """Build worlds for new people, then generalize the release of all people.

        Paper: [ST15] Section 4: Algorithm 1, then Algorithm 2; Section 5.2 for later batches.

        Raises: Unpublishable, and then changes nothing.
        """
        self._refuse_bare(snapshot)
        _refuse_missing(snapshot)
        arrivals = arrivals_of(snapshot, state)
        refuse_changes(snapshot, state, arrivals.place)
        self._refuse_departures(arrivals)
        state = replace(state, time=state.time + 1, extent=extend_extent(snapshot, state.extent))
        new, withheld = arrivals.place < 0, {}
        known = arrivals.place >= 0
        if known.any():
            state = state.fill_columns(arrivals.place[known], snapshot.qi[:, known], snapshot.other[:, known])
        if new.any():
            batch = worlds_of_batch(snapshot, np.flatnonzero(new), state.extent, self, rng)
            if batch is None:
                withheld["waiting: a sensitive value is too frequent among the new people"] = int(new.sum())
                new[:] = False
            else:
                state = state.add_batch(
                    snapshot.persons[new],
                    snapshot.qi[:, new],
                    snapshot.sensitive[new],
                    snapshot.other[:, new],
                    batch,
                )
        if arrivals.partial.any():
            withheld["waiting: they returned without their whole cell"] = int(arrivals.partial.sum())
        stay = np.concatenate([arrivals.stay, np.ones(state.size - len(arrivals.stay), np.bool_)])
        state = replace(state, gone=~stay)
        table = with_deferred(snapshot, state, arrivals)
        return self._plan_release(table, state, stay, withheld, rng)

    def advance(self, state: WorldsState, snapshot: Snapshot, plan: WorldsPlan) -> WorldsState:  # noqa: ARG002
        """The state after the release, which the plan carries."""
        return plan.next_state

    def _plan_release(
        self, table: Snapshot, state: WorldsState, stay: Bool, withheld: dict[str, int], rng: np.random.Generator
    ) -> WorldsPlan:
        """The boxes of the people who are published, and the row that each world assigns to them."""
        where = state.find(table.persons)
        published = np.append(stay, np.False_)[where]  # people who wait for a batch are at -1
        people = where[published]
        if table.size and not len(people):
            raise Unpublishable(
                "the release would be empty: all people in the snapshot are new and wait for more people"
            )
        shown = _shown(table)
        qi = table.qi[np.ix_(np.array(shown, dtype=np.int64), published)]
        _refuse_unknown(table, published)
        columns = tuple(table.schema.quasi_identifiers[at] for at in shown)
        measure = measure_of(columns, qi, state.extent[:, shown], self.loss)
        images = _images_among(people, state, self.ell)
        rows = self._generalize(
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
            next_state=state,
        )

    def _generalize(
        self, places: Int32, suffix: Int32, images: Int32, bucket: Int32, measure: Measure, rng: np.random.Generator
    ) -> GeneralizedRows:
        owner = images[-1]  # the true world, in which every person has their own suffix
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
                f"the release shows only quasi-identifiers ({', '.join(columns)}) and would not generalize them, "
                f"because there is no sensitive column to hide. If you intend this, set on_bare: publish"
            )

    def _refuse_departures(self, arrivals: Arrivals) -> None:
        left = int(arrivals.missed.sum())
        if self.on_delete == "refuse" and left:
            raise Unpublishable(
                f"{counted(left, 'person', 'people')} of earlier releases left the snapshot, and on_delete is refuse, "
                f"because comparing releases would single out a person who leaves alone. Put them back, or set "
                f"on_delete: defer, which keeps publishing them until their whole cell has left"
            )
        if self.on_delete == "refuse" and arrivals.partial.any():
            raise Unpublishable(
                f"{counted(int(arrivals.partial.sum()), 'person', 'people')} returned without their whole cell, and "
                f"on_delete is refuse; put the others back too, or set on_delete: defer, which withholds them meanwhile"
            )


def _refuse_unknown(table: Snapshot, published: Bool) -> None:
    """Refuse a column without a value for people who left before it was added to the source."""
    schema = table.schema
    columns = [(name, codes == MISSING) for name, codes in zip(schema.names, table.qi, strict=True)]
    columns += [(name, codes == UNPUBLISHED) for name, codes in zip(schema.other, table.other, strict=True)]
    lacking_columns = [
        f"{name} of {counted(int(lacking[published].sum()), 'person', 'people')}"
        for name, lacking in columns
        if (table.columns is None or name in table.columns) and lacking[published].any()
    ]
    if lacking_columns:
        raise Unpublishable(
            f"the source has no {' and '.join(lacking_columns)} who left and must still be published; "
            f"leave the column out of the releases until their cells have left"
        )


def _refuse_missing(snapshot: Snapshot) -> None:
    """Refuse a column that is empty for some people: worlds need every value."""
    empty = (snapshot.qi == MISSING).any(axis=1) & ~snapshot.absent
    if empty.any():
        names = ", ".join(name for name, lacks in zip(snapshot.schema.names, empty, strict=True) if lacks)
        raise Unpublishable(
            f"{names} is empty for some people, and worlds need every value; fill in the missing values"
        )


def _shown(table: Snapshot) -> list[int]:
    """The quasi-identifiers that the release shows."""
    return [at for at, name in enumerate(table.schema.names) if table.columns is None or name in table.columns]


def _suffixes(table: Snapshot, published: Bool) -> Int32:
    """A number for the part of each person's suffix that the release shows.

    Paper: [ST15] Equation 9.
    """
    named = ((table.schema.sensitive.name, table.sensitive), *zip(table.schema.other, table.other, strict=True))
    codes = [codes[published] for name, codes in named if table.columns is None or name in table.columns]
    if not codes:
        return np.zeros(int(published.sum()), dtype=np.int32)
    return column_ids(np.stack(codes)).astype(np.int32)


def _images_among(people: Int64, state: WorldsState, ell: int) -> Int32:
    """Whose suffix each world assigns to each of these people, as positions among them; the true world is the last.

    Requires: the people are whole cells.
    """
    place = np.full(state.size, UNPUBLISHED, dtype=np.int32)
    place[people] = np.arange(len(people), dtype=np.int32)
    images = np.empty((ell, len(people)), dtype=np.int32)
    images[:-1] = place[state.images[:, people]] if len(people) else 0
    images[-1] = np.arange(len(people), dtype=np.int32)
    return images
