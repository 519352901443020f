"""What a reader of the source learns from the releases of BPG, found by publishing other worlds again.

The people whom all releases leave alike can exchange their values, and every group still shows the same. For each such
arrangement the technique itself plans all releases again. Two things are left to chance, and to the adversary: the
order of pseudonyms, which decides between people who are equally near and about whom to hold back, and relaxed cuts.
The plan names the people about whom the first may have decided, and their orders are all tried.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.reading import Reading
from reanon_core.model.snapshot import Snapshot
from reanon_core.readers.arrangements import arrangements
from reanon_core.readers.mondrian import (
    CutRecord,
    Groups,
    class_readings,
    left_to_chance,
    people_by_group,
    published_groups,
)
from reanon_core.recoding.attribute_scales import grown_extent
from reanon_core.recoding.mondrian import Table
from reanon_core.techniques.bpg.technique import Bpg

Classes = dict[int, int]
"""The class of each person."""
MOST_ROWS = 1_000
"""The greatest table of a history that is read."""
MOST_ROWS_OF_FIRST = 5_000
"""The greatest first table that is read by itself, if the history is too large."""
MOST_PLANS = 3_000
"""How many releases are planned again at most for one history: about three seconds."""
MOST_ORDERS = 120
"""How many orders of pseudonyms are tried at most for one arrangement: those of five people."""


class UndecidedError(Exception):
    """There is not enough room to decide how likely an arrangement is."""


class Outcome(NamedTuple):
    """What became of the series in another world, with one order of pseudonyms."""

    published: bool
    """Whether the groups are those that were published."""
    by_order: set[int]
    """The people about whom the order may have decided, up to the first release that differs."""
    classes: list[Classes]
    """The classes before correction, up to the same release."""


@dataclass(eq=False)
class Replay:
    """The series again, in worlds where some people have other values."""

    technique: Bpg
    snapshots: list[Snapshot]
    published: list[Groups]
    truth: Outcome
    plans: int
    """How many releases may still be planned."""

    @staticmethod
    def of(technique: Bpg, ledger: Ledger) -> "Replay":
        """The series as it was published."""
        snapshots = [entry.snapshot.in_table() for entry in ledger.entries]
        nothing = Outcome(published=False, by_order=set(), classes=[])
        replay = Replay(
            technique, snapshots, [published_groups(entry) for entry in ledger.entries], nothing, MOST_PLANS
        )
        replay.truth = replay.outcome(np.empty(0, np.int64), np.empty(0, np.int32), {})
        return replay

    def likelihood(self, persons: Int64, values: Int32) -> float:
        """How likely the groups are published if these people had these values, over all orders of pseudonyms.

        The people of other atoms keep their true order. It has the same part in every likelihood, as long as classes
        are the same: a piece is corrected by the order within its atom alone.

        Raises: UndecidedError if the order of others may matter, if there are too many orders, or too few plans left.
        """
        family, people = self._family(int(persons[0])), set[int]()
        while True:
            orders = math.factorial(len(people))
            if orders > MOST_ORDERS or orders * len(self.snapshots) > self.plans:
                raise UndecidedError
            outcomes = [self.outcome(persons, values, order) for order in _orders(people)]
            if any(self._others_matter(outcome, family) for outcome in outcomes):
                raise UndecidedError
            found = people.union(*(outcome.by_order & family for outcome in outcomes))
            if found == people:
                return sum(outcome.published for outcome in outcomes) / len(outcomes)
            people = found

    def outcome(self, persons: Int64, values: Int32, order: dict[int, int]) -> Outcome:
        """Publish the series again, up to the first release that differs."""
        state, rng = self.technique.initial_state(), np.random.default_rng(0)
        former, by_order, classes = {new: old for old, new in order.items()}, set[int](), list[Classes]()
        for snapshot, groups in zip(self.snapshots, self.published, strict=True):
            self.plans -= 1
            world = _with_order(_with_values(snapshot, persons, values), order)
            try:
                plan = self.technique.corrected_plan(world, state, rng)
            except Unpublishable:
                return Outcome(published=False, by_order=by_order, classes=[])
            state = self.technique.advance(state, world, plan)
            by_order |= _renamed(plan.by_order, former)
            classes.append(dict(zip(_renamed_each(world.persons, former), plan.class_of.tolist(), strict=True)))
            table = plan.record_pool or world
            persons_now = np.array(_renamed_each(table.persons, former), dtype=np.int64)
            if people_by_group(persons_now, plan.group) != groups:
                return Outcome(published=False, by_order=by_order, classes=classes)
        return Outcome(published=True, by_order=by_order, classes=classes)

    def _family(self, person: int) -> set[int]:
        """The first atom of a person, with which all their later ones are filled; everyone, if pieces are mixed."""
        if self.technique.groups == "atoms" and self.technique.reject == "atom":
            return set(next(group for groups in self.published for group in groups if person in group))
        return {one for snapshot in self.snapshots for one in snapshot.persons.tolist()}

    def _others_matter(self, outcome: Outcome, family: set[int]) -> bool:
        """Whether the order of other people may have another part than in the truth."""
        if outcome.classes and outcome.classes == self.truth.classes[: len(outcome.classes)]:
            return False
        return bool(outcome.by_order - family) or (outcome.published and bool(self.truth.by_order - family))


def bpg_readings(technique: Bpg, ledger: Ledger) -> Iterator[Reading]:
    """For each set of people whom all releases leave alike: the arrangements of their values, and how likely each is.

    A history is left out if a relaxed cut may have divided people at random, or if other parameters made it. A set is
    left out if a member's value has changed, or if MOST_PLANS are used up. An arrangement that is not decided is left
    out, and the reading is not complete. A single release is read by its cuts; so is the first one, alone, of a history
    with a table of more than MOST_ROWS. A partitioner of your own, and invented rows (ghost), are not read.

    Ensures: likelihoods are exact for an adversary who knows the algorithm, who is in each table, and all values but
    those of the set.
    """
    if callable(technique.over) or technique.variant == "ghost":
        return
    large = any(entry.snapshot.size > MOST_ROWS for entry in ledger.entries)
    if large or len(ledger.entries) == 1:
        first = list(_first_release_readings(technique, ledger.entries[0]))
        yield from first
        if large or first:
            return
    if any(left_to_chance(entry.snapshot.qi, strict=technique.cuts == "strict") for entry in ledger.entries):
        return
    replay = Replay.of(technique, ledger)
    if not replay.truth.published:
        return
    for persons in _alike(replay.published):
        truth = _constant_values(persons, replay.snapshots)
        if truth is None or (truth == truth[0]).all():
            continue
        try:
            likely = replay.likelihood(persons, truth)
        except UndecidedError:
            continue
        reading = _reading(replay, persons, truth, likely)
        if reading is not None:
            yield reading


def _first_release_readings(technique: Bpg, entry: Entry) -> Iterator[Reading]:
    """What the first release alone tells: its table is cut once, by Mondrian.

    Ensures: nothing is said unless Mondrian alone decided the groups.
    """
    table, initial = entry.snapshot.in_table(), technique.initial_state()
    extent = grown_extent(table, initial.extent)
    options, table = technique.mondrian_options(extent, technique.reserve_of(table, initial)), table.answer()
    if not 0 < table.size <= MOST_ROWS_OF_FIRST or left_to_chance(table.qi, strict=options.cuts.strict):
        return
    rows = Table(table.qi, table.sensitive, table.schema, options.extent)
    cuts = options.cuts if options.cuts.failing == "merge" else replace(options.cuts, failing="withhold")
    record = CutRecord.of(rows, options.principle, cuts)  # of newcomers, Listing 1 withholds the classes that fail
    if people_by_group(table.persons, record.class_of) == published_groups(entry):
        yield from class_readings(record, table.persons)


def _reading(replay: Replay, persons: Int64, truth: Int32, likely: float) -> Reading | None:
    most = max(1, replay.plans // len(replay.snapshots))
    values, complete = arrangements(truth, most)
    if len(values) > most:
        return None
    decided, logs = [0], [0.0]
    for own in range(1, len(values)):
        try:
            chance = replay.likelihood(persons, values[own])
        except UndecidedError:
            continue
        decided.append(own)
        logs.append(math.log(chance / likely) if chance else -math.inf)
    return Reading(
        persons=persons,
        place=np.arange(len(persons), dtype=np.int32),
        values=values[decided],
        log_likelihood=np.array(logs),
        complete=complete and len(decided) == len(values),
    )


def _alike(published: list[Groups]) -> Iterator[Int64]:
    """The sets of people who are in the same group, or absent, in every release, each ascending."""
    trace: dict[int, list[int]] = {}
    for number, groups in enumerate(published):
        for own, group in enumerate(sorted(groups, key=min)):
            for person in group:
                trace.setdefault(person, []).extend([number, own])
    sets: dict[tuple[int, ...], list[int]] = {}
    for person in sorted(trace):
        sets.setdefault(tuple(trace[person]), []).append(person)
    yield from (np.array(people, dtype=np.int64) for people in sets.values())


def _constant_values(persons: Int64, snapshots: list[Snapshot]) -> Int32 | None:
    """The value of each person in all tables; None if one has changed."""
    values = np.full(len(persons), -1, dtype=np.int32)
    for snapshot in snapshots:
        _, at, here = np.intersect1d(persons, snapshot.persons, return_indices=True)
        now = snapshot.sensitive[here]
        if ((values[at] >= 0) & (values[at] != now)).any():
            return None
        values[at] = now
    return values


def _with_values(snapshot: Snapshot, persons: Int64, values: Int32) -> Snapshot:
    """The table in the world where these people have these values."""
    _, at, here = np.intersect1d(persons, snapshot.persons, return_indices=True)
    sensitive = snapshot.sensitive.copy()
    sensitive[here] = values[at]
    return replace(snapshot, sensitive=sensitive)


def _with_order(snapshot: Snapshot, order: dict[int, int]) -> Snapshot:
    """The table with other pseudonyms."""
    if not order:
        return snapshot
    persons = np.array([order.get(person, person) for person in snapshot.persons.tolist()], dtype=np.int64)
    rows = np.argsort(persons)
    return replace(
        snapshot,
        persons=persons[rows],
        qi=snapshot.qi[:, rows],
        sensitive=snapshot.sensitive[rows],
        selected=snapshot.selection[rows],
        origin=None,
    )


def _renamed_each(persons: Int64, former: dict[int, int]) -> list[int]:
    return [former.get(person, person) for person in persons.tolist()]


def _renamed(persons: Int64, former: dict[int, int]) -> set[int]:
    return set(_renamed_each(persons, former))


def _orders(people: set[int]) -> Iterator[dict[int, int]]:
    """Every exchange of these people's pseudonyms."""
    own = sorted(people)
    return (dict(zip(own, order, strict=True)) for order in permutations(own))
