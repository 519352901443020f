"""Every possible world of a tiny history, by enumeration.

A world assigns each person one value of each column that is never generalized (the suffix). It is possible if, in each
release, rows and people can be matched one to one, so that each row covers its person and has the suffix that the world
assigns to them.

Paper: [ST15] Definition 3.1.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from reanon_core.inference.enumeration.surjections import containment
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge, Presence

Suffix = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PossibleWorlds:
    """All worlds that are consistent with a history."""

    persons: tuple[int, ...]
    worlds: tuple[tuple[Suffix, ...], ...]
    """For each world the suffix of each person; the sensitive value comes first."""

    def linkage(self) -> dict[int, dict[int, Fraction]]:
        """For each person and value, the share of the worlds that link them.

        Paper: [ST15] Definition 3.2.
        """
        shares: dict[int, dict[int, Fraction]] = {}
        for at, person in enumerate(self.persons):
            counts = Counter(world[at][0] for world in self.worlds)
            shares[person] = {value: Fraction(count, len(self.worlds)) for value, count in sorted(counts.items())}
        return shares


@dataclass(eq=False)
class _Component:
    """The rows of one release with one suffix, and which people each of them covers."""

    covers: list[int]
    """For each row a bit mask of people."""
    known: dict[int, bool] = field(default_factory=dict)
    """Answers of `matches` so far, by the bit mask of people."""

    def matches(self, people: int) -> bool:
        """Whether the rows can be matched with exactly these people, one to one."""
        if people not in self.known:
            self.known[people] = people.bit_count() == len(self.covers) and _has_matching(self.covers, people)
        return self.known[people]


def _has_matching(covers: Sequence[int], people: int) -> bool:
    if not covers:
        return people == 0
    candidates = covers[0] & people
    while candidates:
        one = candidates & -candidates
        if _has_matching(covers[1:], people & ~one):
            return True
        candidates &= candidates - 1
    return False


def possible_worlds(history: History, knowledge: Knowledge, *, people: int, limit: int) -> PossibleWorlds:
    """Every possible world of the history, for an adversary with this knowledge.

    Paper: [ST15] Definition 3.1; Example 3.2 for what the knowledge rules out.

    Raises: InvalidParameter if there are more than `people` people, if the search takes more than `limit` steps, or if
    a release has counterfeits.
    """
    persons = tuple(sorted({int(person) for presence in knowledge.presences for person in presence.persons}))
    if len(persons) > people:
        rule = f"have at most {people} people, because every world is enumerated"
        raise InvalidParameter(Problem("the history", rule, f"{len(persons):,}", "try it on a small extract"))
    if any(published.auxiliary.total for published in history.releases):
        raise InvalidParameter(
            Problem("the history", "have no counterfeits for the attack worlds", help="use the attack risk")
        )
    bit = {person: 1 << at for at, person in enumerate(persons)}
    releases = [
        _release_rows(published, presence, history, bit)
        for published, presence in zip(history.releases, knowledge.presences, strict=True)
    ]
    search = _Search(releases, len(persons), _columns(history), limit)
    return PossibleWorlds(persons=persons, worlds=tuple(search.run()))


@dataclass(frozen=True, eq=False)
class _ReleaseRows:
    """One release: the suffix columns it shows, its rows by shown suffix, and the bit mask of the people in it."""

    shown: tuple[int, ...]
    components: dict[Suffix, _Component]
    present: int


def _columns(history: History) -> list[list[int]]:
    """The values of each suffix column that occur in some release; -1 alone for a column that is never shown."""
    names = (history.schema.sensitive.name, *history.schema.other)
    listed: list[list[int]] = []
    for at, name in enumerate(names):
        values: set[int] = set()
        for published in history.releases:
            release = published.release
            if release.shows(name):
                values.update((release.sensitive if at == 0 else release.other[at - 1]).tolist())
        listed.append(sorted(values) or [-1])
    return listed


def _release_rows(published: Published, presence: Presence, history: History, bit: dict[int, int]) -> _ReleaseRows:
    release, schema = published.release, history.schema
    names = (schema.sensitive.name, *schema.other)
    shown = tuple(at for at, name in enumerate(names) if release.shows(name))
    codes = [release.sensitive, *release.other]
    who = [bit[int(person)] for person in presence.persons]
    inside = containment(release.boxes, presence.qi)
    components: dict[Suffix, _Component] = {}
    for row in range(release.size):
        mask = sum(one for at, one in enumerate(who) if inside[at, release.group[row]])
        suffix = tuple(int(codes[column][row]) for column in shown)
        components.setdefault(suffix, _Component([])).covers.append(mask)
    return _ReleaseRows(shown, components, sum(who))


@dataclass(eq=False)
class _Search:
    """A depth-first search that assigns suffixes person by person."""

    releases: Sequence[_ReleaseRows]
    people: int
    columns: list[list[int]]
    limit: int
    steps: int = 0

    def run(self) -> Iterator[tuple[Suffix, ...]]:
        """Every possible world."""
        room = [{suffix: len(one.covers) for suffix, one in release.components.items()} for release in self.releases]
        yield from self._extend([], room)

    def _extend(self, given: list[Suffix], room: list[dict[Suffix, int]]) -> Iterator[tuple[Suffix, ...]]:
        person = len(given)
        if person == self.people:
            if self._explains(given):
                yield tuple(given)
            return
        for suffix in product(*self.columns):
            self.steps += 1
            if self.steps > self.limit:
                rule = f"be explored in {self.limit:,} steps"
                raise InvalidParameter(Problem("the history", rule, help="try fewer people, or raise limit"))
            taken = self._take_rows(person, suffix, room)
            if taken is None:
                continue
            yield from self._extend([*given, suffix], room)
            for at, part in taken:
                room[at][part] += 1

    def _take_rows(self, person: int, suffix: Suffix, room: list[dict[Suffix, int]]) -> list[tuple[int, Suffix]] | None:
        """Take a row with the suffix in each release of the person; None, with nothing taken, if one is missing."""
        taken: list[tuple[int, Suffix]] = []
        for at, release in enumerate(self.releases):
            if not release.present >> person & 1:
                continue
            part = tuple(suffix[column] for column in release.shown)
            covered = part in release.components and any(mask >> person & 1 for mask in release.components[part].covers)
            if not covered or room[at][part] == 0:
                for before, one in taken:
                    room[before][one] += 1
                return None
            room[at][part] -= 1
            taken.append((at, part))
        return taken

    def _explains(self, given: list[Suffix]) -> bool:
        for release in self.releases:
            people: dict[Suffix, int] = dict.fromkeys(release.components, 0)
            for person, suffix in enumerate(given):
                if release.present >> person & 1:
                    people[tuple(suffix[column] for column in release.shown)] |= 1 << person
            if not all(release.components[part].matches(mask) for part, mask in people.items()):
                return False
        return True
