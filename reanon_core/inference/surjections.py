"""Reasonable surjections: every way in which the releases can have come about, counted exactly.

A surjection gives each published row of each release to a person who is present there, or to one of the
counterfeits of the row's group. People who can never share a group are counted apart and the counts multiplied.
Once everybody has a value (and a signature, where the principle asks for one), releases have nothing to do with
each other any more: for each such choice the ways to place people are counted release by release and multiplied.

Paper: [XT07] Definitions 9 to 14. QI values may differ from release to release; a person keeps one value.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod
from typing import Literal

from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import Boxes

Principle = Literal["m-invariance"] | None
"""What the adversary knows of the technique: nothing, or that a person has one signature in all releases."""

Cell = tuple[int, int, int]
"""Release, group and sensitive value: the rows with all three are alike."""
Group = tuple[int, int]
"""Release and group."""
Option = tuple[int, tuple[tuple[Cell, ...], ...]]
"""A value a person may have, and for each release of their lifespan the cells that may then show them."""


@dataclass(frozen=True, kw_only=True)
class Surjections:
    """How many reasonable surjections there are, and how many give each person each value."""

    total: int
    """n_total of the paper."""
    by_value: dict[int, dict[int, int]]
    """For each person, for each value that is possible, the number of surjections that give it."""

    def share(self, person: int, value: int) -> Fraction:
        """The share of surjections that give the person this value: the risk, if it is the true one.

        Paper: [XT07] Definition 14.
        """
        return Fraction(self.by_value[person].get(value, 0), self.total)


def count_surjections(
    history: History, knowledge: Knowledge, *, principle: Principle = None, limit: int = 200_000
) -> Surjections:
    """Count the reasonable surjections of a small history.

    Paper: [XT07] Definition 13. The counterfeits of a group are different rows of B(n), so their orders count.
    Raises: InvalidParameter if more than `limit` steps were needed.
    """
    rows = _cells(history)
    options = _options(history, knowledge, rows, principle)
    budget = _Budget(limit)
    fakes = _counterfeits(history)
    parts = [_counted_part(part, options, rows, fakes, budget) for part in _parts(options, rows)]
    total = prod((part.total for part in parts), start=1)
    by_value: dict[int, dict[int, int]] = {}
    for part in parts:
        for person, counts in part.by_value.items():
            by_value[person] = {v: n * (total // part.total) for v, n in counts.items()} if total else {}
    return Surjections(total=total, by_value=by_value)


def contains(boxes: Boxes, group: int, point: list[int]) -> bool:
    """Whether the group's box contains the point.

    Paper: [XT07] Definition 10, condition 3.3.
    """
    for code, low, high, missing in zip(
        point, boxes.low[:, group], boxes.high[:, group], boxes.missing[:, group], strict=True
    ):
        inside = missing != 0 if code == MISSING else missing != 2 and low <= code <= high
        if not inside:
            return False
    return True


class _Budget:
    """How many steps may still be taken."""

    def __init__(self, limit: int) -> None:
        self.limit, self.left = limit, limit

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


@dataclass(frozen=True)
class _Part:
    """People and groups that have nothing to do with the others."""

    persons: tuple[int, ...]
    groups: tuple[Group, ...]


def _cells(history: History) -> Counter[Cell]:
    """The number of rows of each cell."""
    cells: Counter[Cell] = Counter()
    for time, published in enumerate(history.releases):
        pairs = zip(published.release.group.tolist(), published.release.sensitive.tolist(), strict=True)
        cells.update((time, group, value) for group, value in pairs)
    return cells


def _options(
    history: History, knowledge: Knowledge, rows: Counter[Cell], principle: Principle
) -> dict[int, list[Option]]:
    """For each person, every value with the cells that can show it in each release of the lifespan.

    Paper: [XT07] Definition 13, conditions 1.1, 1.2 and, for a principle, 2.
    """
    values: dict[Group, set[int]] = defaultdict(set)
    for time, group, value in rows:
        values[time, group].add(value)
    open_to: dict[int, list[dict[tuple[int, frozenset[int]], list[Cell]]]] = defaultdict(list)
    for time, (published, presence) in enumerate(zip(history.releases, knowledge.presences, strict=True)):
        for person, point in zip(presence.persons.tolist(), presence.qi.T.tolist(), strict=True):
            cells: dict[tuple[int, frozenset[int]], list[Cell]] = defaultdict(list)
            for group in _containing(published, point):
                # Without a principle every signature is as good as any other.
                signature = frozenset(values[time, group]) if principle else frozenset()
                for value in values[time, group]:
                    cells[value, signature].append((time, group, value))
            open_to[person].append(cells)
    return {person: _consistent(releases) for person, releases in open_to.items()}


def _containing(published: Published, point: list[int]) -> list[int]:
    boxes = published.release.boxes
    return [group for group in range(boxes.count) if contains(boxes, group, point)]


def _consistent(releases: list[dict[tuple[int, frozenset[int]], list[Cell]]]) -> list[Option]:
    """The (value, signature) pairs that all releases allow."""
    common = set(releases[0]).intersection(*releases[1:])
    return [
        (value, tuple(tuple(cells[value, signature]) for cells in releases))
        for value, signature in sorted(common, key=lambda pair: (pair[0], sorted(pair[1])))
    ]


def _parts(options: dict[int, list[Option]], rows: Counter[Cell]) -> list[_Part]:
    """People and groups, connected where a person may be shown by a group; people in order of acquaintance."""
    reach = {
        person: {cell[:2] for _, releases in choices for cells in releases for cell in cells}
        for person, choices in options.items()
    }
    met: dict[Group, list[int]] = {(time, group): [] for time, group, _ in rows}
    for person, groups in reach.items():
        for group in groups:
            met[group].append(person)
    lost = [_Part((person,), ()) for person, groups in reach.items() if not groups]
    seen: set[Group] = set()
    return lost + [_connected(start, met, reach, seen) for start in met if start not in seen]


def _connected(start: Group, met: dict[Group, list[int]], reach: dict[int, set[Group]], seen: set[Group]) -> _Part:
    persons: dict[int, None] = {}
    groups, queue = [], [start]
    seen.add(start)
    while queue:
        group = queue.pop()
        groups.append(group)
        for person in met[group]:
            persons[person] = None
            fresh = sorted(reach[person] - seen)
            seen.update(fresh)
            queue.extend(fresh)
    return _Part(tuple(persons), tuple(groups))


@dataclass(frozen=True)
class _Board:
    """The published rows of one part, and how many of each group are counterfeits."""

    rows: dict[Cell, int]
    counterfeits: dict[Group, int]
    """Zeros included."""

    def placed(self, time: int, choices: tuple[tuple[Cell, ...], ...], budget: _Budget) -> int:
        """In how many ways people can take the rows of one release, each one of their cells.

        What is left of each cell is the state of a dynamic program over the people.
        """
        cells = [cell for cell in self.rows if cell[0] == time]
        index = {cell: place for place, cell in enumerate(cells)}
        ways = {tuple(self.rows[cell] for cell in cells): 1}
        for choice in choices:
            after: dict[tuple[int, ...], int] = defaultdict(int)
            for left, count in ways.items():
                for cell in choice:
                    budget.spend()
                    if rows := left[at := index[cell]]:  # any of the rows that are alike
                        after[*left[:at], rows - 1, *left[at + 1 :]] += count * rows
            ways = after
        return sum(count for left, count in ways.items() if self._is_done(cells, left))

    def _is_done(self, cells: list[Cell], left: tuple[int, ...]) -> bool:
        """Whether what is left of each group is as many rows as it has counterfeits."""
        rest: Counter[Group] = Counter()
        for cell, rows in zip(cells, left, strict=True):
            rest[cell[:2]] += rows
        return all(self.counterfeits[group] == rows for group, rows in rest.items())


def _counted_part(
    part: _Part, options: dict[int, list[Option]], rows: Counter[Cell], fakes: dict[Group, int], budget: _Budget
) -> Surjections:
    """Count the placements of one part, one choice of everybody's value after the other."""
    inside = set(part.groups)
    board = _Board(
        {cell: count for cell, count in rows.items() if cell[:2] in inside},
        {group: fakes.get(group, 0) for group in part.groups},
    )
    orders = prod((factorial(count) for count in board.counterfeits.values()), start=1)
    counts: dict[int, Counter[int]] = {person: Counter() for person in part.persons}
    known: dict[tuple[int, tuple[tuple[Cell, ...], ...]], int] = {}
    total = 0
    for choice in _choices(part.persons, options, board, budget):
        ways = orders
        for time in sorted({time for time, _ in part.groups}):
            key = time, tuple(cells for _, releases in choice for cells in releases if cells[0][0] == time)
            if key not in known:
                known[key] = board.placed(*key, budget)
            ways *= known[key]
        if ways:
            total += ways
            for person, (value, _) in zip(part.persons, choice, strict=True):
                counts[person][value] += ways
    return Surjections(total=total, by_value={person: dict(by_value) for person, by_value in counts.items()})


def _choices(
    persons: tuple[int, ...], options: dict[int, list[Option]], board: _Board, budget: _Budget
) -> Iterator[tuple[Option, ...]]:
    """Every choice of one option for each person that has rows enough of each value in each release."""
    left: Counter[tuple[int, int]] = Counter()
    for (time, _, value), count in board.rows.items():
        left[time, value] += count
    chosen: list[Option] = []

    def chosen_from(turn: int) -> Iterator[tuple[Option, ...]]:
        if turn == len(persons):
            yield tuple(chosen)
            return
        for option in options[persons[turn]]:
            budget.spend()
            value, releases = option
            needed = [(cells[0][0], value) for cells in releases]
            if all(left[need] for need in needed):
                left.subtract(needed)
                chosen.append(option)
                yield from chosen_from(turn + 1)
                chosen.pop()
                left.update(needed)

    return chosen_from(0)


def _counterfeits(history: History) -> dict[Group, int]:
    """How many rows of each group are counterfeits, zeros left out."""
    return {
        (time, group): count
        for time, published in enumerate(history.releases)
        for group, count in zip(published.auxiliary.group.tolist(), published.auxiliary.count.tolist(), strict=True)
    }
