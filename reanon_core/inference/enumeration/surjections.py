"""Reasonable surjections: every way in which the releases can have been produced, counted exactly.

A surjection maps each published row of each release to a person who is present there, or to one of the counterfeits of
the row's group. People who can never share a group are counted separately and the counts multiplied.

Paper: [XT07] Definitions 9 to 14. QI values may differ from release to release; a person keeps one value.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal

import numpy as np

from reanon_core.inference.enumeration.placements import (
    Budget,
    Cell,
    Group,
    Option,
    RowCounts,
    Signature,
    count_placements,
)
from reanon_core.inference.view.sensitive_releases import sensitive_releases
from reanon_core.model.arrays import Bool, Int32
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import Boxes, covers

Principle = Literal["m-invariance"] | None
"""What the adversary knows about the technique: nothing, or that a person has one signature in all releases."""


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
