"""Reasonable surjections: every way in which the releases can have been produced, counted exactly.

A surjection maps each published row of each release to a person who is present there, or to one of the counterfeits of
the row's group. People who can never share a group are counted separately and the counts multiplied. Once each person
has a value (and a signature, where the principle requires one), releases are independent of each other: for each such
choice the placements of people on rows are counted release by release and multiplied.

Paper: [XT07] Definitions 9 to 14. QI values may differ from release to release; a person keeps one value.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import factorial, prod
from typing import Literal, NamedTuple

import numpy as np

from reanon_core.inference.view.value_sets import sensitive_releases
from reanon_core.model.arrays import AnyArray, Bool, Int32
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import Boxes, covers

Cell = tuple[int, int, int]
"""Release, group and sensitive value: rows that agree in all three are interchangeable."""
Group = tuple[int, int]
"""Release and group."""
Signature = frozenset[int]
Need = tuple[int, int, Signature] | tuple[int, Signature]
"""Of a release: a row of a value, or room for a person, in groups of a signature."""
Principle = Literal["m-invariance"] | None
"""What the adversary knows about the technique: nothing, or that a person has one signature in all releases."""


class Option(NamedTuple):
    """A value and signature that a person may have, and the cells that may contain them then."""

    value: int
    signature: Signature
    """Empty where no principle requires one."""
    releases: tuple[tuple[Cell, ...], ...]
    """For each release of the person's lifespan, the cells that may contain them."""


class Budget:
    """The number of steps that an enumeration may still take."""

    def __init__(self, limit: int) -> None:
        self.limit, self.left = limit, limit

    def require(self, steps: int) -> None:
        """Refuse at once what would take more steps than are left.

        Raises: InvalidParameter.
        """
        if steps > self.left:
            self.left = 0
            self.spend()

    def spend(self, steps: int = 1) -> None:
        """Use some steps.

        Raises: InvalidParameter if too few are left.
        """
        self.left -= steps
        if self.left < 0:
            raise InvalidParameter(
                Problem(
                    "the history",
                    f"be small enough to count its surjections in {self.limit} steps",
                    help="raise limit, or attack fewer releases or a sample of the people",
                )
            )


@dataclass(frozen=True, kw_only=True)
class RowCounts:
    """How many rows some groups have, by cell and by group."""

    rows: dict[Cell, int]
    """The number of rows of each cell."""
    people: dict[Group, int]
    """The number of people in each group."""
    counterfeits: dict[Group, int]
    """The number of counterfeits in each group, zeros included."""
    signatures: dict[Group, Signature]
    """The signature of each group; empty where no principle requires one."""


def count_placements(
    table: RowCounts, options: dict[int, list[Option]], budget: Budget
) -> tuple[int, dict[int, dict[int, int]]]:
    """The number of placements of all people in these rows, and for each person the number by assigned value."""
    times = sorted({time for time, _ in table.people})
    orders = prod((factorial(count) for count in table.counterfeits.values()), start=1)
    counts: dict[int, Counter[int]] = {person: Counter() for person in options}
    known: dict[tuple[int, tuple[tuple[Cell, ...], ...]], int] = {}
    total = 0
    for choice in _choices(table, list(options.values()), budget):
        ways = orders
        for time in times:
            key = time, tuple(cells for option in choice for cells in option.releases if cells[0][0] == time)
            if key not in known:
                known[key] = _count_in_release(table, *key, budget)
            ways *= known[key]
            if not ways:
                break
        else:
            total += ways
            for person, option in zip(options, choice, strict=True):
                counts[person][option.value] += ways
    return total, {person: dict(by_value) for person, by_value in counts.items()}


def _choices(table: RowCounts, options: list[list[Option]], budget: Budget) -> Iterator[tuple[Option, ...]]:
    """Every choice of one option per person for which each value and each signature has enough rows."""
    rows: Counter[tuple[int, int, Signature]] = Counter()
    room: Counter[tuple[int, Signature]] = Counter()
    for (time, group, value), count in table.rows.items():
        rows[time, value, table.signatures[time, group]] += count
    for (time, group), people in table.people.items():
        room[time, table.signatures[time, group]] += people
    needs = [[_needs(option) for option in of_person] for of_person in options]
    # What no row shows has a place too: with none left.
    place = {need: at for at, need in enumerate(dict.fromkeys((*rows, *room, *chain(*chain(*needs)))))}
    counts = np.array([max(0, rows[need] if len(need) == 3 else room[need]) for need in place], dtype=np.int64)
    # A lifespan is long, so its needs are compared all at once: each place is a field of one number, and the highest
    # bit of a field stays set until the field is taken from although it is empty.
    field = np.min_scalar_type(2 * int(counts.max(initial=0)) + 1)
    bit = 1 << (8 * field.itemsize - 1)
    highest, everything = _number(np.full(len(place), bit, field)), _number((counts + bit).astype(field))
    fields = [
        [_number(np.bincount([place[need] for need in own], minlength=len(place)).astype(field)) for own in of_person]
        for of_person in needs
    ]
    chosen: list[Option] = []
    # For everyone so far and the next person: the option to try next, and what is left before it. No recursion, because
    # thousands of people may be connected.
    following, left = [0], [everything]
    while following:
        turn = len(chosen)
        if turn == len(options):
            yield tuple(chosen)
        elif following[-1] < len(options[turn]):
            option, own = options[turn][following[-1]], fields[turn][following[-1]]
            following[-1] += 1
            budget.spend(len(option.releases))  # a choice is a placement in each release of the lifespan
            after = left[-1] - own  # each place is there once: a person is once in a release
            if after & highest == highest:
                chosen.append(option)
                following.append(0)
                left.append(after)
            continue
        following.pop()
        left.pop()
        if chosen:
            chosen.pop()


def _number(fields: AnyArray) -> int:
    """One number with these fields side by side."""
    return int.from_bytes(fields.tobytes(), sys.byteorder)


def _needs(option: Option) -> list[Need]:
    """What an option needs in each release: a row of its value, and room among its signature."""
    times = [cells[0][0] for cells in option.releases]
    return [*((time, option.value, option.signature) for time in times), *((time, option.signature) for time in times)]


def _count_in_release(table: RowCounts, time: int, choices: tuple[tuple[Cell, ...], ...], budget: Budget) -> int:
    """In how many ways people can be assigned to the rows of one release, each in one of their cells.

    A dynamic program over the people. Its state is the number of rows left in each cell, followed by the number of
    people still missing from each group: the rows that remain are the group's counterfeits.
    """
    cells = [cell for cell in table.rows if cell[0] == time]
    groups = [group for group in table.people if group[0] == time]
    place = {cell: at for at, cell in enumerate(cells)}
    room = {group: len(cells) + at for at, group in enumerate(groups)}
    ways = {(*(table.rows[cell] for cell in cells), *(table.people[group] for group in groups)): 1}
    for choice in choices:
        after: dict[tuple[int, ...], int] = defaultdict(int)
        for state, count in ways.items():
            for cell in choice:
                budget.spend()
                rows = state[place[cell]]  # any of the interchangeable rows
                if rows and state[room[cell[:2]]] > 0:
                    left = list(state)
                    left[place[cell]] -= 1
                    left[room[cell[:2]]] -= 1
                    after[tuple(left)] += count * rows
        ways = after
    return sum(count for state, count in ways.items() if not any(state[len(cells) :]))


@dataclass(frozen=True, kw_only=True)
class Surjections:
    """The number of reasonable surjections, and how many of them assign each value to each person."""

    total: int
    """The paper's n_total."""
    by_value: dict[int, dict[int, int]]
    """For each person and each possible value, the number of surjections that assign it."""

    def share(self, person: int, value: int) -> Fraction:
        """The share of surjections that assign this value to the person: the risk, if it is the true one.

        Paper: [XT07] Definition 14.
        """
        return Fraction(self.by_value[person].get(value, 0), self.total)


def count_surjections(
    history: History, knowledge: Knowledge, *, principle: Principle = None, limit: int = 200_000
) -> Surjections:
    """Count the reasonable surjections of a small history.

    The counterfeits of a group are different rows of B(n), so their orders count.

    Paper: [XT07] Definition 13.

    Raises: InvalidParameter if more than `limit` steps were needed.
    """
    budget = Budget(limit)
    history, knowledge = sensitive_releases(history, knowledge)
    pairs = (
        len(here.persons) * one.release.boxes.count
        for here, one in zip(knowledge.presences, history.releases, strict=True)
    )
    budget.require(sum(pairs))  # comparing every person with every box alone takes that many steps
    table = historical_union(history, principle)
    options = _options(history, knowledge, table)
    parts = [count_placements(*part, budget) for part in _parts(table, options)]
    total = prod((of_part for of_part, _ in parts), start=1)
    return Surjections(
        total=total,
        by_value={
            person: {value: count * (total // of_part) for value, count in counts.items()} if total else {}
            for of_part, by_value in parts
            for person, counts in by_value.items()
        },
    )


def containment(boxes: Boxes, points: Int32) -> Bool:
    """Whether each box contains each point of codes [d, n], bool[n, boxes].

    Paper: [XT07] Definition 10, condition 3.3.
    """
    sides = boxes.low[:, None, :], boxes.high[:, None, :], boxes.missing[:, None, :]
    return np.asarray(np.all(covers(*sides, points[:, :, None]), axis=0))


def historical_union(history: History, principle: Principle) -> RowCounts:
    """The rows of all releases, counted.

    Paper: [XT07] Definition 9, the generalized historical union.
    """
    rows: Counter[Cell] = Counter()
    counterfeits: dict[Group, int] = {}
    for time, published in enumerate(history.releases):
        release, auxiliary = published.release, published.auxiliary
        rows.update((time, *pair) for pair in zip(release.group.tolist(), release.sensitive.tolist(), strict=True))
        counterfeits.update({(time, group): 0 for group in range(release.boxes.count)})
        for group, count in zip(auxiliary.group.tolist(), auxiliary.count.tolist(), strict=True):
            counterfeits[time, group] = count
    people = {group: -count for group, count in counterfeits.items()}
    values: dict[Group, set[int]] = {group: set() for group in counterfeits}
    for (time, group, value), count in rows.items():
        people[time, group] += count
        values[time, group].add(value)
    return RowCounts(
        rows=rows,
        people=people,
        counterfeits=counterfeits,
        # Without a principle signatures are ignored.
        signatures={group: frozenset(own) if principle else frozenset() for group, own in values.items()},
    )


def _options(history: History, knowledge: Knowledge, table: RowCounts) -> dict[int, list[Option]]:
    """For each person, every value and signature with the cells that can contain them in each release of the lifespan.

    Paper: [XT07] Definition 13, conditions 1.1, 1.2 and, for a principle, 2.
    """
    cells_of: dict[Group, list[Cell]] = defaultdict(list)
    for cell in table.rows:
        cells_of[cell[:2]].append(cell)
    lifespans: dict[int, list[dict[tuple[int, Signature], list[Cell]]]] = defaultdict(list)
    for time, (published, presence) in enumerate(zip(history.releases, knowledge.presences, strict=True)):
        inside = containment(published.release.boxes, presence.qi)
        for person, containing in zip(presence.persons.tolist(), inside, strict=True):
            open_to: dict[tuple[int, Signature], list[Cell]] = defaultdict(list)
            for group in ((time, number) for number in containing.nonzero()[0].tolist()):
                for cell in cells_of[group]:
                    open_to[cell[2], table.signatures[group]].append(cell)
            lifespans[person].append(open_to)
    return {person: _consistent(lifespan) for person, lifespan in lifespans.items()}


def _consistent(lifespan: list[dict[tuple[int, Signature], list[Cell]]]) -> list[Option]:
    """The options that are possible in all releases of a lifespan."""
    common = set(lifespan[0]).intersection(*lifespan[1:])
    return [
        Option(value, signature, tuple(tuple(cells[value, signature]) for cells in lifespan))
        for value, signature in sorted(common, key=lambda pair: (pair[0], sorted(pair[1])))
    ]


def _parts(table: RowCounts, options: dict[int, list[Option]]) -> list[tuple[RowCounts, dict[int, list[Option]]]]:
    """The connected parts of the rows and people: no person can be in groups of two parts."""
    reach = {
        person: {cell[:2] for option in choices for cells in option.releases for cell in cells}
        for person, choices in options.items()
    }
    people_of: dict[Group, list[int]] = {group: [] for group in table.people}
    for person, groups in reach.items():
        for group in groups:
            people_of[group].append(person)
    seen: set[Group] = set()
    parts = [_connected(start, people_of, reach, seen) for start in people_of if start not in seen]
    # A person whom no row can contain makes the whole history impossible: a part of their own, without any placement.
    parts += [({person}, set()) for person, groups in reach.items() if not groups]
    return [
        (_restrict(table, groups), {person: choices for person, choices in options.items() if person in persons})
        for persons, groups in parts
    ]


def _connected(
    start: Group, people_of: dict[Group, list[int]], reach: dict[int, set[Group]], seen: set[Group]
) -> tuple[set[int], set[Group]]:
    """The people and groups that are connected with `start`; the groups are added to `seen`."""
    persons: set[int] = set()
    groups, queue = {start}, [start]
    while queue:
        for person in people_of[queue.pop()]:
            if person in persons:
                continue
            persons.add(person)
            fresh = reach[person] - groups
            groups |= fresh
            queue.extend(fresh)
    seen |= groups
    return persons, groups


def _restrict(table: RowCounts, groups: set[Group]) -> RowCounts:
    """The rows of these groups alone."""
    return RowCounts(
        rows={cell: count for cell, count in table.rows.items() if cell[:2] in groups},
        people={group: count for group, count in table.people.items() if group in groups},
        counterfeits={group: count for group, count in table.counterfeits.items() if group in groups},
        signatures={group: signature for group, signature in table.signatures.items() if group in groups},
    )
