"""Placements: in how many ways people can have been shown by the rows of a few connected groups.

Once everybody has a value (and a signature, where the principle asks for one), releases have nothing to do with
each other any more: for each such choice the ways to place people are counted release by release and multiplied.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial, prod
from typing import NamedTuple

from reanon_core.model.errors import InvalidParameter, Problem

Cell = tuple[int, int, int]
"""Release, group and sensitive value: the rows with all three are alike."""
Group = tuple[int, int]
"""Release and group."""
Signature = frozenset[int]


class Option(NamedTuple):
    """What a person may be, and which rows may show them then."""

    value: int
    signature: Signature
    """Empty where no principle asks for one."""
    releases: tuple[tuple[Cell, ...], ...]
    """For each release of the person's lifespan, the cells that may show them."""


class Budget:
    """How many steps a count may still take."""

    def __init__(self, limit: int) -> None:
        self.limit, self.left = limit, limit

    def require(self, steps: int) -> None:
        """Refuse at once what would take more steps than there are, without taking any.

        Raises: InvalidParameter.
        """
        if steps > self.left:
            self.left = 0
            self.spend()

    def spend(self) -> None:
        """Take one step.

        Raises: InvalidParameter if there is none left.
        """
        self.left -= 1
        if self.left < 0:
            raise InvalidParameter(
                Problem(
                    "the history",
                    f"be small enough to count its surjections in {self.limit} steps",
                    help="raise limit, or attack fewer releases or a sample of the people",
                )
            )


@dataclass(frozen=True, kw_only=True)
class Board:
    """The published rows of some groups."""

    rows: dict[Cell, int]
    """How many rows each cell has."""
    people: dict[Group, int]
    """How many rows of each group are people's."""
    counterfeits: dict[Group, int]
    """How many rows of each group are not, zeros included."""
    signatures: dict[Group, Signature]
    """The signature of each group; empty where no principle asks for one."""


def counted_placements(
    board: Board, options: dict[int, list[Option]], budget: Budget
) -> tuple[int, dict[int, dict[int, int]]]:
    """The number of placements of all people on the board, and for each person by the value it gives them."""
    times = sorted({time for time, _ in board.people})
    orders = prod((factorial(count) for count in board.counterfeits.values()), start=1)
    counts: dict[int, Counter[int]] = {person: Counter() for person in options}
    known: dict[tuple[int, tuple[tuple[Cell, ...], ...]], int] = {}
    total = 0
    for choice in _choices(board, list(options.values()), budget):
        ways = orders
        for time in times:
            key = time, tuple(cells for option in choice for cells in option.releases if cells[0][0] == time)
            if key not in known:
                known[key] = _placed(board, *key, budget)
            ways *= known[key]
            if not ways:
                break
        else:
            total += ways
            for person, option in zip(options, choice, strict=True):
                counts[person][option.value] += ways
    return total, {person: dict(by_value) for person, by_value in counts.items()}


def _choices(board: Board, options: list[list[Option]], budget: Budget) -> Iterator[tuple[Option, ...]]:
    """Every choice of one option for each person for which there are rows and room enough."""
    rows: Counter[tuple[int, int, Signature]] = Counter()
    room: Counter[tuple[int, Signature]] = Counter()
    for (time, group, value), count in board.rows.items():
        rows[time, value, board.signatures[time, group]] += count
    for (time, group), people in board.people.items():
        room[time, board.signatures[time, group]] += people
    chosen: list[Option] = []

    def chosen_from(turn: int) -> Iterator[tuple[Option, ...]]:
        if turn == len(options):
            yield tuple(chosen)
            return
        for option in options[turn]:
            budget.spend()
            times = [cells[0][0] for cells in option.releases]
            of_value = [(time, option.value, option.signature) for time in times]
            of_signature = [(time, option.signature) for time in times]
            if all(rows[need] > 0 for need in of_value) and all(room[need] > 0 for need in of_signature):
                rows.subtract(of_value)
                room.subtract(of_signature)
                chosen.append(option)
                yield from chosen_from(turn + 1)
                chosen.pop()
                rows.update(of_value)
                room.update(of_signature)

    return chosen_from(0)


def _placed(board: Board, time: int, choices: tuple[tuple[Cell, ...], ...], budget: Budget) -> int:
    """In how many ways people can take the rows of one release, each one of their cells.

    A dynamic program over the people. Its state is how many rows are left of each cell, and, after those, how
    many people each group still has to show: the last rows of a group are its counterfeits'.
    """
    cells = [cell for cell in board.rows if cell[0] == time]
    groups = [group for group in board.people if group[0] == time]
    place = {cell: at for at, cell in enumerate(cells)}
    room = {group: len(cells) + at for at, group in enumerate(groups)}
    ways = {(*(board.rows[cell] for cell in cells), *(board.people[group] for group in groups)): 1}
    for choice in choices:
        after: dict[tuple[int, ...], int] = defaultdict(int)
        for state, count in ways.items():
            for cell in choice:
                budget.spend()
                rows = state[place[cell]]  # any of the rows that are alike
                if rows and state[room[cell[:2]]] > 0:
                    left = list(state)
                    left[place[cell]] -= 1
                    left[room[cell[:2]]] -= 1
                    after[tuple(left)] += count * rows
        ways = after
    return sum(count for state, count in ways.items() if not any(state[len(cells) :]))
