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
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.kernels.arrangements import arrangements
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.reading import Reading
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.attribute_scales import grown_extent
from reanon_core.recoding.mondrian import Table
from reanon_core.recoding.mondrian_reading import (
    Groups,
    class_readings,
    left_to_chance,
    people_by_group,
    published_groups,
)
from reanon_core.recoding.mondrian_record import CutRecord

if TYPE_CHECKING:
    from reanon_core.techniques.bpg.technique import Bpg

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


@dataclass(eq=False)
class Replay:
    """The series again, in worlds where some people have other values."""

    technique: "Bpg"
    snapshots: list[Snapshot]
    published: list[Groups]
    plans: int = MOST_PLANS
    """How many releases may still be planned."""

    def likelihood(self, persons: Int64, values: Int32) -> float:
        """The probability of the published groups if these people had these values, over all orders of pseudonyms.

        Raises: UndecidedError if there are too many orders, or too few plans left.
        """
        people: set[int] = set()
        while True:
            orders = math.factorial(len(people))
            if orders > MOST_ORDERS or orders * len(self.snapshots) > self.plans:
                raise UndecidedError
            results = [self._published_again(persons, values, order) for order in _orders(people)]
            found = people.union(*(by_order for _, by_order in results))
            if found == people:
                return sum(same for same, _ in results) / len(results)
            people = found

    def _published_again(self, persons: Int64, values: Int32, order: dict[int, int]) -> tuple[bool, set[int]]:
        """Whether the groups are those that were published, and the people about whom the order may have decided."""
        state, rng, by_order = self.technique.initial_state(), np.random.default_rng(0), set[int]()
        former = {new: old for old, new in order.items()}
        for snapshot, groups in zip(self.snapshots, self.published, strict=True):
            self.plans -= 1
            world = _with_order(_with_values(snapshot, persons, values), order)
            try:
                plan = self.technique.plan(world, state, rng)
            except Unpublishable:
                return False, by_order
            state = self.technique.advance(state, world, plan)
            by_order |= {former.get(person, person) for person in plan.by_order.tolist()}
            table = plan.record_pool or world
            found = people_by_group(table.persons, plan.group)
            if frozenset(frozenset(former.get(person, person) for person in group) for group in found) != groups:
                return False, by_order
        return True, by_order


def history_readings(technique: "Bpg", ledger: Ledger) -> Iterator[Reading]:
    """For each set of people whom all releases leave alike: the arrangements of their values, and how likely each is.

    A history is left out if a relaxed cut may have divided people at random, or if other parameters made it. A set is
    left out if a member's value has changed, or if MOST_PLANS are used up. An arrangement that is not decided is left
    out, and the reading is not complete. Of a history with a table of more than MOST_ROWS, the first release is read.

    Ensures: likelihoods are exact for an adversary who knows the algorithm, who is in each table, and all values but
    those of the set.
    """
    if any(entry.snapshot.size > MOST_ROWS for entry in ledger.entries):
        yield from _first_release_readings(technique, ledger.entries[0])
        return
    snapshots = [entry.snapshot.in_table() for entry in ledger.entries]
    replay = Replay(technique, snapshots, [published_groups(entry) for entry in ledger.entries])
    strict = technique.cuts == "strict"
    if any(left_to_chance(table.qi, strict=strict) for table in snapshots):
        return
    for persons in _alike(replay.published):
        truth = _constant_values(persons, snapshots)
        if truth is None or (truth == truth[0]).all():
            continue
        try:
            likely = replay.likelihood(persons, truth)
        except UndecidedError:
            continue
        if not likely:  # made with other parameters
            return
        reading = _reading(replay, persons, truth, likely)
        if reading is not None:
            yield reading


def _first_release_readings(technique: "Bpg", entry: Entry) -> Iterator[Reading]:
    """What the first release alone tells: its table is cut once, by Mondrian.

    Ensures: nothing is said unless Mondrian alone decided the groups.
    """
    table, initial = entry.snapshot.in_table(), technique.initial_state()
    extent = grown_extent(table, initial.extent)
    options, table = technique.mondrian_options(extent, technique.reserve_of(table, initial)), table.answer()
    if not 0 < table.size <= MOST_ROWS_OF_FIRST or left_to_chance(table.qi, strict=options.cuts.strict):
        return
    rows = Table(table.qi, table.sensitive, table.schema, options.extent)
    record = CutRecord.of(rows, options.principle, options.cuts)
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


def _orders(people: set[int]) -> Iterator[dict[int, int]]:
    """Every exchange of these people's pseudonyms."""
    own = sorted(people)
    return (dict(zip(own, order, strict=True)) for order in permutations(own))
