"""Every possible world of a tiny history: tables that the releases leave possible, counted one by one.

A world gives every person one value of each column that is never generalized (the suffix). It is possible if, in each
release, the rows can be given to the people one by one, each covering its person and with the suffix that the world
gives them.

Paper: [ST15] Definition 3.1.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge, Presence

Suffix = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PossibleWorlds:
    """All worlds that explain a history."""

    persons: tuple[int, ...]
    worlds: tuple[tuple[Suffix, ...], ...]
    """For each world the suffix of each person; the sensitive value comes first."""

    def linkage(self) -> dict[int, dict[int, Fraction]]:
        """For each person and value the share of the worlds that link them.

        Paper: [ST15] Definition 3.2.
        """
        shares: dict[int, dict[int, Fraction]] = {}
        for at, person in enumerate(self.persons):
            counts = Counter(world[at][0] for world in self.worlds)
            shares[person] = {value: Fraction(count, len(self.worlds)) for value, count in sorted(counts.items())}
        return shares


@dataclass(eq=False)
class _Component:
    """The rows of one release that show one suffix, and which people each of them covers."""

    covers: list[int]
    """For each row a bit mask of people."""
    fits: dict[int, bool] = field(default_factory=dict)
    """Whether a set of people can be matched with the rows, as far as it was asked."""

    def matches(self, people: int) -> bool:
        """Whether the rows can be given to exactly these people, one to each."""
        if people not in self.fits:
            self.fits[people] = people.bit_count() == len(self.covers) and _matched(self.covers, people)
        return self.fits[people]


def _matched(covers: Sequence[int], people: int) -> bool:
    if not covers:
        return people == 0
    candidates = covers[0] & people
    while candidates:
        one = candidates & -candidates
        if _matched(covers[1:], people & ~one):
            return True
        candidates &= candidates - 1
    return False


def possible_worlds(history: History, knowledge: Knowledge, *, people: int, limit: int) -> PossibleWorlds:
    """Every possible world.

    Raises: InvalidParameter if there are more than so many people, or the search takes more than `limit` steps, or a
    release has counterfeits.
    """
    persons = tuple(sorted({int(person) for presence in knowledge.presences for person in presence.persons}))
    if len(persons) > people:
        rule = f"have at most {people} people, because every world is looked at"
        raise InvalidParameter(Problem("the history", rule, f"{len(persons):,}", "try it on a small extract"))
    if any(published.auxiliary.total for published in history.releases):
        raise InvalidParameter(
            Problem("the history", "have no counterfeits for this attack", help="`risk` counts them")
        )
    bit = {person: 1 << at for at, person in enumerate(persons)}
    boards = [
        _board(published, presence, history, bit)
        for published, presence in zip(history.releases, knowledge.presences, strict=True)
    ]
    search = _Search(boards, len(persons), _columns(history), limit)
    return PossibleWorlds(persons=persons, worlds=tuple(search.run()))


@dataclass(frozen=True, eq=False)
class _Board:
    """One release: which suffix columns it shows, its rows by shown suffix, and who is in it."""

    shown: tuple[int, ...]
    components: dict[Suffix, _Component]
    present: int


def _columns(history: History) -> list[list[int]]:
    """The values of each suffix column that occur in some release; one stand-in where a column never does."""
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


def _board(published: Published, presence: Presence, history: History, bit: dict[int, int]) -> _Board:
    release, schema = published.release, history.schema
    names = (schema.sensitive.name, *schema.other)
    shown = tuple(at for at, name in enumerate(names) if release.shows(name))
    codes = [release.sensitive, *release.other]
    who = [bit[int(person)] for person in presence.persons]
    components: dict[Suffix, _Component] = {}
    for row in range(release.size):
        mask = 0
        for at, one in enumerate(who):
            if _covers(published, int(release.group[row]), presence.qi[:, at].tolist()):
                mask |= one
        suffix = tuple(int(codes[column][row]) for column in shown)
        components.setdefault(suffix, _Component([])).covers.append(mask)
    return _Board(shown, components, sum(who))


def _covers(published: Published, group: int, point: list[int]) -> bool:
    boxes = published.release.boxes
    for attribute, code in enumerate(point):
        missing = int(boxes.missing[attribute, group])
        if code == MISSING:
            if missing == 0:
                return False
        elif missing == 2 or not boxes.low[attribute, group] <= code <= boxes.high[attribute, group]:
            return False
    return True


@dataclass(eq=False)
class _Search:
    """The suffixes of all people, one person after the other."""

    boards: Sequence[_Board]
    people: int
    columns: list[list[int]]
    limit: int
    steps: int = 0

    def run(self) -> Iterator[tuple[Suffix, ...]]:
        """Every world."""
        room = [{suffix: len(one.covers) for suffix, one in board.components.items()} for board in self.boards]
        yield from self._after([], room)

    def _after(self, given: list[Suffix], room: list[dict[Suffix, int]]) -> Iterator[tuple[Suffix, ...]]:
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
            taken = self._taken(person, suffix, room)
            if taken is None:
                continue
            yield from self._after([*given, suffix], room)
            for at, part in taken:
                room[at][part] += 1

    def _taken(self, person: int, suffix: Suffix, room: list[dict[Suffix, int]]) -> list[tuple[int, Suffix]] | None:
        """Take a row of that suffix in each release that shows the person; None, and nothing taken, if one has none."""
        taken: list[tuple[int, Suffix]] = []
        for at, board in enumerate(self.boards):
            if not board.present >> person & 1:
                continue
            part = tuple(suffix[column] for column in board.shown)
            covered = part in board.components and any(mask >> person & 1 for mask in board.components[part].covers)
            if not covered or room[at][part] == 0:
                for before, one in taken:
                    room[before][one] += 1
                return None
            room[at][part] -= 1
            taken.append((at, part))
        return taken

    def _explains(self, given: list[Suffix]) -> bool:
        for board in self.boards:
            people: dict[Suffix, int] = dict.fromkeys(board.components, 0)
            for person, suffix in enumerate(given):
                if board.present >> person & 1:
                    people[tuple(suffix[column] for column in board.shown)] |= 1 << person
            if not all(board.components[part].matches(mask) for part, mask in people.items()):
                return False
        return True
