"""Every world that a history and the adversary's knowledge allow, by trying all values of all people."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from oracles.attacks import inside
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge, Presence

World = dict[int, int]
"""One value for each person, which they have in all releases."""


@dataclass(eq=False)
class Placement:
    """The rows of one release, and the groups in which each person may be."""

    rows: Counter[tuple[int, int]]
    people: Counter[int]
    """How many people each group has room for: its rows less its counterfeits."""
    groups: dict[int, list[int]]
    answers: dict[tuple[tuple[int, int], ...], bool] = field(default_factory=dict)

    @staticmethod
    def of(published: Published, presence: Presence) -> "Placement":
        release, auxiliary = published.release, published.auxiliary
        people = Counter(release.group.tolist())
        people.subtract(dict(zip(auxiliary.group.tolist(), auxiliary.count.tolist(), strict=True)))
        boxes, persons = range(release.boxes.count), presence.persons.tolist()
        if presence.group is not None:
            groups = {person: [group] for person, group in zip(persons, presence.group.tolist(), strict=True)}
        else:
            points = [tuple(point) for point in presence.qi.T.tolist()]
            groups = {
                person: [group for group in boxes if inside(release.boxes, group, point)]
                for person, point in zip(persons, points, strict=True)
            }
        return Placement(Counter(zip(release.group.tolist(), release.sensitive.tolist(), strict=True)), people, groups)

    def admits(self, world: World) -> bool:
        """Whether the people of a world who are in this release can be placed in its rows."""
        here = tuple((person, value) for person, value in world.items() if person in self.groups)
        if here not in self.answers:
            self.answers[here] = self._place(here, self.rows.copy(), self.people.copy())
        return self.answers[here]

    def _place(self, left: tuple[tuple[int, int], ...], rows: Counter[tuple[int, int]], people: Counter[int]) -> bool:
        if not left:
            return True
        (person, value), *others = left
        for group in self.groups[person]:
            if rows[group, value] > 0 and people[group] > 0:
                rows[group, value] -= 1
                people[group] -= 1
                if self._place(tuple(others), rows, people):
                    return True
                rows[group, value] += 1
                people[group] += 1
        return False


def worlds(history: History, knowledge: Knowledge) -> Iterator[World]:
    """Every world in which no value changes; rows beyond the people and counterfeits are of people unknown."""
    name = history.schema.sensitive.name
    placements = [
        Placement.of(published, presence)
        for published, presence in zip(history.releases, knowledge.presences, strict=True)
        if published.release.shows(name)
    ]
    people = sorted({person for placement in placements for person in placement.groups})
    compromised = knowledge.compromised
    known = dict(zip(compromised.persons.tolist(), compromised.values.tolist(), strict=True))
    values = sorted({value for placement in placements for _, value in placement.rows})

    def extend(world: World) -> Iterator[World]:
        if len(world) == len(people):
            yield dict(world)
            return
        person = people[len(world)]
        for value in [known[person]] if person in known else values:
            world[person] = value
            if all(placement.admits(world) for placement in placements if person in placement.groups):
                yield from extend(world)
            del world[person]

    return extend({})


def possible_values(history: History, knowledge: Knowledge) -> dict[int, set[int]]:
    """The values that each person has in some world; nothing if there is no world."""
    possible: dict[int, set[int]] = {}
    for world in worlds(history, knowledge):
        for person, value in world.items():
            possible.setdefault(person, set()).add(value)
    return possible


def is_complete(history: History, knowledge: Knowledge) -> bool:
    """Whether every row belongs to a person who is known to be there, or to a declared counterfeit."""
    return all(
        published.release.size == len(presence.persons) + published.auxiliary.total
        for published, presence in zip(history.releases, knowledge.presences, strict=True)
    )
