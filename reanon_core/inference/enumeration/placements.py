"""Placements: in how many ways people can be assigned to the rows of a few connected groups.

Once each person has a value (and a signature, where the principle requires one), releases are independent of each
other: for each such choice the placements are counted release by release and multiplied.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from reanon_core.model.arrays import AnyArray
from reanon_core.model.errors import InvalidParameter, Problem

Cell = tuple[int, int, int]
"""Release, group and sensitive value: rows that agree in all three are interchangeable."""
Group = tuple[int, int]
"""Release and group."""
Signature = frozenset[int]
Need = tuple[int, int, Signature] | tuple[int, Signature]
"""Of a release: a row of a value, or room for a person, in groups of a signature."""


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
