"""Reasonable surjections: every way in which the releases can have come about, counted exactly.

A surjection gives each published row of each release to a person who is present there, or to one of the
counterfeits of the row's group. People who can never share a group are counted apart and the counts multiplied.
Within one such part people are placed one after the other; what is left of each group after some of them is the
state of a dynamic program, so that orders of the same placement are counted and not listed.

Paper: [XT07] Definitions 9 to 14. QI values may differ from release to release; a person keeps one value.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
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
    parts = [_counted_part(part, options, rows, history, budget) for part in _parts(options, rows)]
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


def _counted_part(
    part: _Part, options: dict[int, list[Option]], rows: Counter[Cell], history: History, budget: _Budget
) -> Surjections:
    """Count the placements of one part, forwards and backwards, so that every person's values are known.

    A state is what is left of each cell; a step takes one row for each release of a person's lifespan.
    """
    inside = set(part.groups)
    cells = [cell for cell in rows if cell[:2] in inside]
    index = {cell: place for place, cell in enumerate(cells)}
    spare = _counterfeits(history, part.groups)
    start = tuple(rows[cell] for cell in cells)
    ways: list[dict[tuple[int, ...], int]] = [{start: 1}]
    steps: list[list[tuple[tuple[int, ...], int, int, tuple[int, ...]]]] = []
    for person in part.persons:
        steps.append([])
        ways.append(defaultdict(int))
        for state, count in ways[-2].items():
            for value, weight, after in _placements(state, options[person], index, budget):
                steps[-1].append((state, value, weight, after))
                ways[-1][after] += count * weight
    orders = prod((factorial(count) for count in spare.values()), start=1)
    ends = {state: orders for state in ways[-1] if _left(state, cells) == spare}
    by_value: dict[int, dict[int, int]] = {}
    for turn in range(len(part.persons) - 1, -1, -1):
        counts: dict[int, int] = defaultdict(int)
        before: dict[tuple[int, ...], int] = defaultdict(int)
        for state, value, weight, after in steps[turn]:
            if onward := weight * ends.get(after, 0):
                before[state] += onward
                counts[value] += ways[turn][state] * onward
        by_value[part.persons[turn]] = dict(counts)
        ends = before
    return Surjections(total=ends.get(start, 0), by_value=by_value)


def _placements(
    state: tuple[int, ...], choices: list[Option], index: dict[Cell, int], budget: _Budget
) -> list[tuple[int, int, tuple[int, ...]]]:
    """Each way to place one person: the value it gives, the number of rows to choose from, what is left."""
    placements = []
    for value, releases in choices:
        for taken in product(*releases):
            budget.spend()
            left, weight = list(state), 1
            for cell in taken:
                weight *= left[index[cell]]  # any of the rows that are alike
                left[index[cell]] -= 1
            if weight:
                placements.append((value, weight, tuple(left)))
    return placements


def _counterfeits(history: History, groups: tuple[Group, ...]) -> dict[Group, int]:
    """How many rows of each group are counterfeits, zeros left out."""
    published = {
        (time, group): count
        for time, release in enumerate(history.releases)
        for group, count in zip(release.auxiliary.group.tolist(), release.auxiliary.count.tolist(), strict=True)
    }
    return {group: published[group] for group in groups if published.get(group, 0)}


def _left(state: tuple[int, ...], cells: list[Cell]) -> dict[Group, int]:
    """How many rows of each group nobody has taken, zeros left out."""
    left: dict[Group, int] = defaultdict(int)
    for count, cell in zip(state, cells, strict=True):
        if count:
            left[cell[:2]] += count
    return dict(left)
