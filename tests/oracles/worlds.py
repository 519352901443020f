"""Possible worlds by brute force: all assignments, all matchings, all draws of the constructions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations

World = tuple[int, ...]
"""The sensitive value of each person."""
Row = tuple[tuple[frozenset[object], ...], int]
"""For each shown attribute the values that a row leaves possible, and the row's sensitive value."""


def matches(points: Sequence[tuple[object, ...]], values: World, rows: Sequence[Row]) -> bool:
    """Whether some order of the rows covers all people with the values that the world assigns."""
    return any(
        all(
            value == row[1] and all(code in part for code, part in zip(point, row[0], strict=True))
            for point, value, row in zip(points, values, ordered, strict=True)
        )
        for ordered in permutations(rows)
    )


def worlds_of(releases: Sequence[tuple[Sequence[tuple[object, ...]], Sequence[Row]]]) -> set[World]:
    """Every possible world: releases are given as (points of all people in the shown attributes, rows)."""
    values = [row[1] for row in releases[0][1]]
    return {
        world for world in set(permutations(values)) if all(matches(points, world, rows) for points, rows in releases)
    }


def greatest_linkage(worlds: set[World]) -> Fraction:
    """The greatest share of the worlds that link a person to one value."""
    return max(
        Fraction(count, len(worlds)) for person in zip(*worlds, strict=True) for count in Counter(person).values()
    )


def value_orders(values: World) -> Iterator[tuple[int, ...]]:
    """Every order of the people that Lemma 8.1 may begin with: frequent values first, chance among equals."""
    count = Counter(values)
    for people in permutations(range(len(values))):
        sequence = [values[person] for person in people]
        blocks = [value for at, value in enumerate(sequence) if not at or sequence[at - 1] != value]
        if len(blocks) == len(count) and [count[v] for v in blocks] == sorted(count.values(), reverse=True):
            yield people


def cells_of(people: Sequence[int], ell: int) -> tuple[tuple[int, ...], ...]:
    """The lines of the array of Lemma 8.1."""
    height = len(people) // ell
    return tuple(tuple(people[line::height]) for line in range(height))


def symmetric_draws(values: World, ell: int) -> Iterator[frozenset[World]]:
    """The set of worlds of every draw of the symmetric construction; all draws are equally likely."""
    for people in value_orders(values):
        yield from _rotations(values, cells_of(people, ell), ell)


def _rotations(values: World, cells: Sequence[tuple[int, ...]], ell: int) -> Iterator[frozenset[World]]:
    """Every circle and every list of rotations for each cell."""
    draws: list[list[list[dict[int, int]]]] = []
    for cell in cells:
        of_cell = []
        for rest in permutations(cell[1:]):
            circle = (cell[0], *rest)
            for turns in permutations(range(1, len(cell)), ell - 1):
                of_cell.append(
                    [
                        {one: values[circle[(at + turn) % len(circle)]] for at, one in enumerate(circle)}
                        for turn in turns
                    ]
                )
        draws.append(of_cell)
    for combined in _product(draws):
        false_worlds = [
            tuple(
                next(part[world][person] for part in combined if person in part[world]) for person in range(len(values))
            )
            for world in range(ell - 1)
        ]
        yield frozenset([values, *false_worlds])


def _product(parts: Sequence[Sequence[object]]) -> Iterator[tuple[object, ...]]:
    if not parts:
        yield ()
        return
    for one in parts[0]:
        for rest in _product(parts[1:]):
            yield (one, *rest)


def ring_chances(values: World, points: Sequence[int], ell: int) -> dict[frozenset[World], Fraction]:
    """How likely the ring construction draws each set of worlds, for ell = 2, where the permutation is forced.

    One attribute, whose intervals lose their length: each place takes, of the people with its value, one who is nearest
    to the one before, all of those with the same chance.
    """
    assert ell == 2
    chances: dict[frozenset[World], Fraction] = defaultdict(Fraction)
    orders = list({tuple(values[person] for person in people) for people in value_orders(values)})
    for sequence in orders:
        for ring, chance in _greedy(cells_of(sequence, ell), values, points):
            false_world = [0] * len(values)
            for at, person in enumerate(ring):
                false_world[person] = values[ring[(at + 1) % len(ring)]]
            chances[frozenset([values, tuple(false_world)])] += chance / len(orders)
    return chances


def _greedy(
    lines: Sequence[tuple[int, ...]], values: World, points: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every ring over these values with its chance."""
    places = [value for line in lines for value in line]
    open_rings: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    for value in places:
        longer = []
        for ring, chance in open_rings:
            free = [person for person, own in enumerate(values) if own == value and person not in ring]
            cost = {person: abs(points[person] - points[ring[-1]]) if ring else 0 for person in free}
            best = [person for person in free if cost[person] == min(cost.values())]
            longer += [((*ring, person), chance / len(best)) for person in best]
        open_rings = longer
    yield from open_rings


def symmetric_chances(values: World, ell: int) -> dict[frozenset[World], Fraction]:
    """How likely the symmetric construction draws each set of worlds."""
    drawn = Counter(symmetric_draws(values, ell))
    return {worlds: Fraction(count, sum(drawn.values())) for worlds, count in drawn.items()}


def posteriors(
    values: World, chances: Callable[[World], dict[frozenset[World], Fraction]]
) -> dict[frozenset[World], dict[World, Fraction]]:
    """For each set of worlds, how likely each of them is the truth, if all tables with these values were as likely."""
    chance: dict[frozenset[World], dict[World, Fraction]] = defaultdict(dict)
    for truth in set(permutations(values)):
        for worlds, likely in chances(truth).items():
            chance[worlds][truth] = likely
    return {
        worlds: {world: likely / sum(given.values()) for world, likely in given.items()}
        for worlds, given in chance.items()
    }


def factorizations(size: int, ell: int) -> set[tuple[tuple[int, ...], ...]]:
    """Every ordered list of ell - 1 permutations that move each person by each of 1 to ell - 1 places once."""
    allowed = [
        image for image in permutations(range(size)) if all(1 <= (image[h] - h) % size <= ell - 1 for h in range(size))
    ]
    return {
        chosen
        for several in combinations(allowed, ell - 1)
        if all(len({image[h] for image in several}) == ell - 1 for h in range(size))
        for chosen in permutations(several)
    }


def cheapest(costs: Sequence[Sequence[int]]) -> int:
    """The least total cost of a perfect matching."""
    size = len(costs)
    return min(sum(costs[i][image[i]] for i in range(size)) for image in permutations(range(size)))
