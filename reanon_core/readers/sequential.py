"""What a reader of the source can compute from sequential releases of few people: exact likelihoods.

Every draw of the worlds of a small batch is listed with its exact probability.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, groupby, permutations, product
from math import factorial, log, prod

import numpy as np

from reanon_core.kernels.rings import greedy_rings
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.reading import Reading
from reanon_core.model.release import UNPUBLISHED, Boxes, covers
from reanon_core.model.schema import Ends
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers.arrangements import arrangements
from reanon_core.recoding.boxes import widen
from reanon_core.techniques.sequential.admission import Admission, PublicTable, admit
from reanon_core.techniques.sequential.batches import Batch, batch_of
from reanon_core.techniques.sequential.generalization import (
    GeneralizedRows,
    MatchingOrders,
    boxes_of,
    generalize_in_order,
    homogeneous,
    non_sequential,
)
from reanon_core.techniques.sequential.shown_people import ShownPeople, shown_people
from reanon_core.techniques.sequential.technique import Sequential
from reanon_core.techniques.sequential.worlds import Worlds

Images = tuple[tuple[int, ...], ...]
"""Whose suffix each false world assigns to each person of a bucket, by their places in it."""
Cells = tuple[int, ...]
"""The cell of each person of a bucket."""
BucketDraws = dict[tuple[Images, Cells], Fraction]

PEOPLE = 12
"""The most people of whom anything is computed. A larger series is not decided."""
ARRANGEMENTS = 2_520
"""The most arrangements of a batch that are compared."""
STEPS = 20_000
"""The most orders of a bucket by value, and releases, that are computed for one batch: a few seconds."""


def value_order_count(values: Sequence[int]) -> int:
    """How many orders of these people by value are equally likely: chance among equally frequent values, and people."""
    counts = Counter(values)
    return prod(map(factorial, Counter(counts.values()).values())) * prod(map(factorial, counts.values()))


def draws_of(batch: Batch, ell: int, *, ring: bool) -> Iterator[tuple[Worlds, Fraction]]:
    """The worlds that can be drawn for these buckets, in one order of each set of worlds, and how likely each is.

    A release matches worlds in random order, so their own order does not matter.

    Requires: with ring worlds, ell is 2. The random walks of more worlds are not uniform, and are not enumerated.
    """
    members = [np.flatnonzero(batch.bucket == bucket) for bucket in range(int(batch.bucket.max(initial=-1)) + 1)]
    each = [
        _ring_draws(batch, people.astype(np.int32))
        if ring
        else symmetric_draws(tuple(batch.sensitive[people].tolist()), ell)
        for people in members
    ]
    found: dict[tuple[Images, Cells], Fraction] = {}
    for drawn in product(*(one.items() for one in each)):
        image, cell, cells = np.empty((ell - 1, len(batch.persons)), dtype=np.int64), [0] * len(batch.persons), 0
        for people, ((places, own), _) in zip(members, drawn, strict=True):
            image[:, people] = people[np.array(places)]
            for person, line in zip(people.tolist(), own, strict=True):
                cell[person] = cells + line
            cells += max(own) + 1
        key = tuple(sorted(map(tuple, image.tolist()))), tuple(cell)
        found[key] = found.get(key, Fraction(0)) + prod((chance for _, chance in drawn), start=Fraction(1))
    for (images, lines), chance in found.items():
        yield Worlds(np.array(images, dtype=np.int32), np.array(lines, dtype=np.int32), batch.bucket), chance


def symmetric_draws(values: tuple[int, ...], ell: int) -> BucketDraws:
    """The cells of every order by value, the circles of every cell, and the rotations of every circle."""
    orders = Counter(_cells(order, ell) for order in _value_orders(values))
    total = sum(orders.values())
    found: dict[tuple[Images, Cells], Fraction] = {}
    for cells, count in orders.items():
        people = [[place for place, own in enumerate(cells) if own == cell] for cell in range(max(cells) + 1)]
        rotations = [_rotations(members, ell) for members in people]
        chance = Fraction(count, total * prod(sum(one.values()) for one in rotations))
        for drawn in product(*(one.items() for one in rotations)):
            image = [[0] * len(values) for _ in range(ell - 1)]
            for members, (targets, _) in zip(people, drawn, strict=True):
                for world, target in enumerate(targets):
                    for person, other in zip(members, target, strict=True):
                        image[world][person] = other
            key = (tuple(map(tuple, image)), cells)
            found[key] = found.get(key, Fraction(0)) + chance * prod(count for _, count in drawn)
    return found


def _ring_draws(batch: Batch, people: Int32) -> BucketDraws:
    """The ring of every order by value; with two worlds each person has the suffix of the next one."""
    values = tuple(batch.sensitive[people].tolist())
    start = np.array([0, len(people)], dtype=np.int64)
    found: Counter[tuple[Images, Cells]] = Counter()
    for order in _value_orders(values):
        ring = greedy_rings(batch.space, people[list(order)], start, batch.sensitive, 2)
        follower = dict(zip(ring.tolist(), np.roll(ring, -1).tolist(), strict=True))
        image = tuple(int(np.searchsorted(people, follower[person])) for person in people.tolist())
        found[(image,), (0,) * len(people)] += 1
    total = sum(found.values())
    return {key: Fraction(count, total) for key, count in found.items()}


def _value_orders(values: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order of the people with the more frequent values first; all are equally likely."""
    counts = Counter(values)
    ranked = sorted(counts, key=lambda value: -counts[value])
    ties = [list(same) for _, same in groupby(ranked, key=lambda value: counts[value])]
    people = {value: [place for place, own in enumerate(values) if own == value] for value in counts}
    for ordered in product(*(permutations(same) for same in ties)):
        for blocks in product(*(permutations(people[value]) for value in chain(*ordered))):
            yield tuple(chain(*blocks))


def _cells(order: tuple[int, ...], ell: int) -> Cells:
    """The cell of each person, numbered by its first person."""
    height = len(order) // ell
    line = [0] * len(order)
    for place, person in enumerate(order):
        line[person] = place % height
    number: dict[int, int] = {}
    return tuple(number.setdefault(own, len(number)) for own in line)


def _rotations(members: list[int], ell: int) -> Counter[Images]:
    """Whose suffix each world assigns to each member, for every circle and every list of rotations."""
    size = len(members)
    found: Counter[Images] = Counter()
    for rest in permutations(members[1:]):
        circle = (members[0], *rest)
        at = [circle.index(person) for person in members]
        for turns in permutations(range(1, size), ell - 1):
            found[tuple(tuple(circle[(place + turn) % size] for place in at) for turn in turns)] += 1
    return found


class TooLarge(Exception):
    """There are more possibilities than are enumerated."""


def sequential_readings(settings: Sequential, ledger: Ledger) -> Iterator[Reading]:
    """For each batch of people who were first published together: every arrangement of their suffixes.

    A release is a bag of rows, and it shows no groups. The likelihood of an arrangement is the sum over all worlds that
    can be drawn for it, of the probability that every release shows the same bag of rows.

    Ensures: likelihoods are exact fractions before their logarithm is taken. A batch that is too large has the truth as
    its only arrangement, and is not complete; so has one of ring worlds with ell above 2, whose random walks are not
    uniform.
    """
    traced = [entry.trace.persons for entry in ledger.entries]
    everyone, first = np.unique(np.concatenate(traced), return_index=True)
    arrival = np.repeat(np.arange(len(traced)), [len(persons) for persons in traced])[first]
    small = len(everyone) <= PEOPLE and (settings.worlds == "symmetric" or settings.ell == 2)
    for time in np.unique(arrival).tolist():
        persons = everyone[arrival == time]
        if small:
            yield _reading(settings, ledger, persons)
        else:
            table = ledger.entries[time].snapshot
            yield _as_reading(persons, {}, tuple(table.sensitive[table.persons.searchsorted(persons)].tolist()))


def _reading(settings: Sequential, ledger: Ledger, persons: Int64) -> Reading:
    """The reading of one batch."""
    suffix = _suffixes(ledger, persons)
    try:
        likelihood = _likelihoods(settings, ledger, persons, suffix)
    except TooLarge:
        likelihood = {}
    return _as_reading(persons, likelihood, tuple(suffix[0].tolist()))


def _as_reading(persons: Int64, likelihood: dict[tuple[int, ...], Fraction], truth: tuple[int, ...]) -> Reading:
    """The reading with these likelihoods; the truth alone if none are known, or if other parameters published it."""
    decided = bool(likelihood.get(truth))
    if not decided:
        likelihood = {truth: Fraction(1)}
    listed = sorted(likelihood, key=lambda values: (values != truth, values))
    shares = [likelihood[values] / likelihood[truth] for values in listed]
    return Reading(
        persons=persons,
        place=np.arange(len(persons), dtype=np.int32),
        values=np.array(listed, dtype=np.int32),
        log_likelihood=np.array([log(share) if share else -np.inf for share in shares]),
        complete=decided,
    )


def _likelihoods(
    settings: Sequential, ledger: Ledger, persons: Int64, suffix: Int32
) -> dict[tuple[int, ...], Fraction]:
    """How likely all releases are with each arrangement of the sensitive values.

    Non-identifiers belong to the sensitive value. Each arrangement of the values has as many arrangements of suffixes
    as any other, so the sum over them is the likelihood but for a constant.
    """
    _, first, kind = np.unique(suffix, axis=1, return_index=True, return_inverse=True)
    arranged_kinds, complete = arrangements(kind.ravel().astype(np.int32), ARRANGEMENTS)
    if not complete:
        raise TooLarge
    replay = Replay(settings, tuple(map(Seen.of, ledger.entries)))
    likelihood: dict[tuple[int, ...], Fraction] = {}
    for kinds in arranged_kinds:
        arranged = suffix[:, first[kinds]]
        values = tuple(arranged[0].tolist())
        likelihood[values] = likelihood.get(values, Fraction(0)) + replay.likelihood(persons, arranged)
    return likelihood


@dataclass(frozen=True, eq=False)
class Seen:
    """A release as an adversary sees it who knows everyone in it."""

    snapshot: Snapshot
    persons: Int64  # [n] ascending
    bag: bytes
    fits: dict[tuple[int, ...], Bool]
    """For each suffix that the release shows, whether some row with it covers each person."""

    @staticmethod
    def of(entry: Entry) -> "Seen":
        """The release of this entry."""
        release, table = entry.release, entry.snapshot
        boxes, where = release.boxes, release.group
        low, high, missing = boxes.low[:, where], boxes.high[:, where], boxes.missing[:, where]
        suffix = np.vstack([release.sensitive[None], release.other])
        qi = table.qi[:, table.persons.searchsorted(entry.trace.persons)]
        inside: Bool = np.logical_and.reduce(covers(low[:, None], high[:, None], missing[:, None], qi[:, :, None]))
        fits: dict[tuple[int, ...], Bool] = {}
        for row, own in enumerate(map(tuple, suffix.T.tolist())):
            fits[own] = inside[:, row] | fits[own] if own in fits else inside[:, row]
        return Seen(table.in_table(), entry.trace.persons, _bag(np.vstack([low, high, suffix])), fits)

    def exchangeable(self, snapshot: Snapshot, new: Bool) -> Bool:
        """Whether each new person could have the suffix of each, bool[n, n]: a release covers all its worlds."""
        shown = _shown_suffixes(snapshot)[:, new]
        place = self.persons.searchsorted(snapshot.persons[new])
        if not np.isin(snapshot.persons[new], self.persons).all():
            return np.zeros((len(place), len(place)), dtype=np.bool_)
        nowhere: Bool = np.zeros(len(self.persons), dtype=np.bool_)
        return np.stack([self.fits.get(tuple(own), nowhere)[place] for own in shown.T.tolist()], axis=1)


@dataclass
class Replay:
    """The technique on the tables behind some releases, with the suffixes of some people arranged otherwise."""

    settings: Sequential
    seen: tuple[Seen, ...]
    steps: int = 0
    """How many orders and releases were computed."""

    def likelihood(self, persons: Int64, suffix: Int32) -> Fraction:
        """How likely all releases show what they show if these people have these suffixes.

        Raises: TooLarge.
        """
        possible = [(self.settings.initial_state(), Fraction(1))]
        for seen in self.seen:
            snapshot = _arranged(seen.snapshot, persons, suffix)
            following = []
            for state, chance in possible:
                try:
                    admission = admit(snapshot, state, self.settings)
                    batch = batch_of(admission, self.settings)
                except Unpublishable:
                    continue
                for worlds, drawn in self._draws(admission, batch, seen):
                    public = admission.join(worlds)
                    same = self._share_of_orders(public, seen)
                    if same:
                        following.append((public.state, chance * drawn * same))
            possible = following
        return sum((chance for _, chance in possible), start=Fraction(0))

    def _draws(self, admission: Admission, batch: Batch | None, seen: Seen) -> Iterator[tuple[Worlds | None, Fraction]]:
        """The worlds that can be drawn and that the release does not rule out; none for people who wait."""
        if batch is None:
            yield None, Fraction(1)
            return
        could = seen.exchangeable(admission.snapshot, admission.new)
        if not could.diagonal().all():
            return
        for bucket in range(int(batch.bucket.max()) + 1):
            self._count(value_order_count(batch.sensitive[batch.bucket == bucket].tolist()))
        everyone = np.arange(len(could))
        for worlds, chance in draws_of(batch, self.settings.ell, ring=self.settings.worlds == "ring"):
            if could[everyone, worlds.images].all():
                yield worlds, chance

    def _count(self, steps: int) -> None:
        """Stop where there is too much to compute."""
        self.steps += steps
        if self.steps > STEPS:
            raise TooLarge

    def _share_of_orders(self, public: PublicTable, seen: Seen) -> Fraction:
        """The share of the orders of worlds in which the release shows the same rows; they are equally likely.

        The order of people only decides who of several people with equal values is matched, and no row shows that.
        """
        try:
            people = shown_people(public, self.settings)
        except Unpublishable:
            return Fraction(0)
        if not np.array_equal(public.table.persons[people.published], seen.persons):
            return Fraction(0)
        same = total = 0
        for rows in self._releases(people):
            self._count(1)
            boxes, _ = boxes_of(public.table.schema, people.shown, rows, people.measure)
            total += 1
            same += _bag(_rows(public.table, people, boxes)) == seen.bag
        return Fraction(same, total)

    def _releases(self, people: ShownPeople) -> Iterator[GeneralizedRows]:
        """The release of every order of the worlds."""
        places, images, measure = people.places, people.images, people.measure
        if self.settings.approach == "homogeneous":
            yield homogeneous(places, images, images[-1], people.bucket, measure)
        elif self.settings.approach == "non-sequential":
            yield non_sequential(places, images, images[-1], measure)
        else:
            everyone = np.arange(images.shape[1], dtype=np.int32)
            for order in permutations(range(len(images))):
                orders = MatchingOrders(np.array(order, dtype=np.int32), everyone)
                yield generalize_in_order(places, people.suffix, images, measure, orders)


def _suffixes(ledger: Ledger, persons: Int64) -> Int32:
    """The sensitive value and the non-identifiers of each person, [1 + o, n]: the last that any table has."""
    found = np.full((1 + len(ledger.entries[-1].snapshot.schema.other), len(persons)), UNPUBLISHED, dtype=np.int32)
    for entry in ledger.entries:
        table = entry.snapshot
        _, mine, theirs = np.intersect1d(persons, table.persons, assume_unique=True, return_indices=True)
        now = np.vstack([table.sensitive[None], table.other])[:, theirs]
        found[:, mine] = np.where(now == UNPUBLISHED, found[:, mine], now)
    return found


def _arranged(snapshot: Snapshot, persons: Int64, suffix: Int32) -> Snapshot:
    """The snapshot in which these people have these suffixes; a column that the source does not have stays empty."""
    _, here, theirs = np.intersect1d(snapshot.persons, persons, assume_unique=True, return_indices=True)
    sensitive, other = snapshot.sensitive.copy(), snapshot.other.copy()
    sensitive[here] = suffix[0, theirs]
    known = (snapshot.other != UNPUBLISHED).any(axis=1)
    other[np.ix_(known, here)] = suffix[1:, theirs][known]
    return replace(snapshot, sensitive=sensitive, other=other)


def _rows(table: Snapshot, people: ShownPeople, boxes: Boxes) -> Int32:
    """The published rows, as columns: ends, where the schema puts them; sensitive value; non-identifiers."""
    low, high = boxes.low.copy(), boxes.high.copy()
    for attribute in people.shown:
        column = table.schema.quasi_identifiers[attribute]
        if column.ends is Ends.GRID:
            widen(low[attribute], high[attribute], boxes.missing[attribute], column)
    return np.vstack([low, high, _shown_suffixes(table)[:, people.published]])


def _shown_suffixes(table: Snapshot) -> Int32:
    """The sensitive value and the non-identifiers that the release shows of each row, [1 + o, n]."""
    named = ((table.schema.sensitive.name, table.sensitive), *zip(table.schema.other, table.other, strict=True))
    return np.stack(
        [
            codes if table.columns is None or name in table.columns else np.full_like(codes, UNPUBLISHED)
            for name, codes in named
        ]
    )


def _bag(rows: Int32) -> bytes:
    """The same for the same columns in any order."""
    return np.ascontiguousarray(rows[:, np.lexsort(rows)]).tobytes()
