"""[ST15] Algorithm 1: the worlds of a batch of new people, if the batch is diverse enough."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.bucketing.eligibility import deferred, is_eligible
from reanon_core.kernels.closures import Space
from reanon_core.kernels.siphash import fresh_key, siphash_words
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.techniques.sequential.admission import Admission
from reanon_core.techniques.sequential.buckets import (
    BlindSize,
    FixedSize,
    cut_buckets,
    mondrian_buckets,
    space_of,
)
from reanon_core.techniques.sequential.worlds import (
    Worlds,
    order_by_value,
    ring_worlds,
    symmetric_worlds,
)

if TYPE_CHECKING:
    from reanon_core.techniques.sequential.technique import Sequential


class NotDiverse(Unpublishable):
    """A value occurs in more than one of ell new people, so that some could not be assigned ell different values.

    Paper: [ST15] Definition 2.3; Section 5.2 calls such an assumption inevitable.
    """

    def __init__(self, *, value: str, count: int, rows: int, ell: int, waiting: int) -> None:
        some = (
            f"leaving {waiting:,} of them out would be enough"
            if waiting < rows
            else "no part of them is diverse either"
        )
        largest = rows // count
        smaller = f"the largest ell that would work is {largest}; " if largest >= 2 else ""
        self._rest = (
            f"has {count:,} of {counted(rows, 'new person', 'new people')}, and at most {rows // ell:,} (one in {ell}) "
            f"are allowed; {some}; {smaller}or set on_batch: wait, which withholds all of them until more people come"
        )
        super().__init__(f"the new people are not {ell}-diverse: value {value!r} {self._rest}")
        self.ell = ell

    def redacted(self) -> str:
        """The sentence without the value."""
        return f"the new people are not {self.ell}-diverse: a value {self._rest}{self.remark}"


@dataclass(frozen=True, eq=False)
class Batch:
    """New people in their buckets: what is decided before chance is needed."""

    persons: Int64  # [n]
    sensitive: Int32  # [n]
    space: Space
    bucket: Int32  # [n]


def batch_of(admission: Admission, settings: "Sequential") -> Batch | None:
    """The new people in their buckets; None if there are none, or if they must wait for more people.

    Paper: [ST15] Algorithm 1, Step 2.

    Raises: NotDiverse; Unpublishable if a bucket of blind cuts is not diverse.
    """
    snapshot, new, extent = admission.snapshot, np.flatnonzero(admission.new), admission.state.extent
    if not len(new):
        return None
    ell, sensitive = settings.ell, snapshot.sensitive[new]
    counts = np.bincount(sensitive, minlength=len(snapshot.schema.sensitive.values)).astype(np.int64)
    if not is_eligible(counts, ell):
        if settings.on_batch == "wait":
            return None
        raise NotDiverse(
            value=snapshot.schema.sensitive.values[int(counts.argmax())],
            count=int(counts.max()),
            rows=len(new),
            ell=ell,
            waiting=int(deferred(counts, ell).sum()),
        )
    present = np.flatnonzero(~snapshot.absent)
    columns = tuple(snapshot.schema.quasi_identifiers[at] for at in present)
    qi, extent = snapshot.qi[np.ix_(present, new)], extent[:, present]
    space = space_of(columns, qi, extent)
    if settings.buckets == "mondrian":
        bucket = mondrian_buckets(qi, sensitive, replace(snapshot.schema, quasi_identifiers=columns), extent, ell)
    elif settings.buckets == "least-loss":
        bucket = cut_buckets(space, sensitive, FixedSize(ell, len(columns)), ell=ell)
    else:
        size = settings.bucket_size
        rule = BlindSize(ell, len(columns)) if size is None else FixedSize(size, len(columns))
        bucket = cut_buckets(space, sensitive, rule)
        if _undiverse(bucket, sensitive, ell) and settings.on_batch == "wait":
            return None
        _refuse_undiverse_buckets(bucket, sensitive, ell)
    return Batch(snapshot.persons[new], sensitive, space, bucket)


def draw_worlds(batch: Batch, settings: "Sequential", rng: np.random.Generator) -> Worlds:
    """The worlds of the new people.

    Paper: [ST15] Algorithm 1: an order of each bucket by value, permutations within it.
    """
    order = order_by_value(batch.bucket, batch.sensitive, siphash_words(batch.persons, fresh_key(rng)), rng)
    if settings.worlds == "ring":
        return ring_worlds(batch.bucket, order, batch.sensitive, batch.space, settings.ell, rng)
    return symmetric_worlds(batch.bucket, order, settings.ell, siphash_words(batch.persons, fresh_key(rng)), rng)


def _undiverse(bucket: Int32, sensitive: Int32, ell: int) -> int:
    """How many buckets are not diverse.

    Paper: [ST15] Definition 2.3.
    """
    values = int(sensitive.max(initial=0)) + 1
    pairs, count = np.unique(bucket.astype(np.int64) * values + sensitive, return_counts=True)
    most = np.zeros(int(bucket.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, pairs // values, count)
    return int((most * ell > np.bincount(bucket, minlength=len(most))).sum())


def _refuse_undiverse_buckets(bucket: Int32, sensitive: Int32, ell: int) -> None:
    """Refuse buckets that are not diverse, which cuts by quasi-identifiers alone cannot avoid."""
    undiverse = _undiverse(bucket, sensitive, ell)
    if undiverse:
        raise Unpublishable(
            f"{counted(undiverse, 'bucket', 'buckets')} of {int(bucket.max()) + 1:,} would not be {ell}-diverse with "
            f"cuts by quasi-identifiers; set bucket_size to more than the {int(np.bincount(bucket).min()):,} people of "
            f"the smallest bucket, lower ell, or set on_batch: wait"
        )
