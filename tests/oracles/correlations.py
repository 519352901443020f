"""Historical and derived correlations by definition: subsets, signed sums, rational null spaces, whole worlds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

from reanon_core.model.ledger import Entry

Token = object
"""A person (an int), or a counterfeit (a tuple that no other group has)."""


@dataclass(frozen=True)
class Group:
    release: int
    number: int
    tokens: frozenset[Token]
    values: tuple[int, ...]

    @property
    def people(self) -> frozenset[int]:
        return frozenset(token for token in self.tokens if isinstance(token, int))

    @property
    def signature(self) -> frozenset[int]:
        return frozenset(self.values)


def groups_of(entries: Sequence[Entry]) -> list[Group]:
    """Every group of every release with its tokens and its multiset of values."""
    found = []
    for release, entry in enumerate(entries):
        owner = dict(zip(entry.trace.rows.tolist(), entry.trace.persons.tolist(), strict=True))
        for number in range(entry.release.boxes.count):
            rows = [row for row in range(entry.release.size) if int(entry.release.group[row]) == number]
            tokens = frozenset(owner.get(row, ("counterfeit", release, row)) for row in rows)
            found.append(Group(release, number, tokens, tuple(sorted(int(entry.release.sensitive[r]) for r in rows))))
    return found


def subsets(items: frozenset[Token]) -> Iterator[frozenset[Token]]:
    listed = list(items)
    for size in range(len(listed) + 1):
        for chosen in combinations(listed, size):
            yield frozenset(chosen)


def correlated_sizes(one: Group, other: Group) -> set[int]:
    """[RB09] Definition 3 by trying every pair of subsets: the sizes of R1 that satisfy c1, c2 and c3."""
    if one.release == other.release or one.tokens == other.tokens or one.values != other.values:
        return set()
    sizes = set()
    for first in subsets(one.tokens):
        for second in subsets(other.tokens):
            if first < one.tokens and second < other.tokens and one.tokens - first == other.tokens - second:
                sizes.add(len(first))
    return sizes


def hc_unsafe(entries: Sequence[Entry], n: int) -> int:
    """[RB09] Definition 7: how many groups of the last release are not hc-safe with degree n."""
    groups = groups_of(entries)
    last = len(entries) - 1
    return sum(
        any(0 < size < n for past in groups if past.release < last for size in correlated_sizes(group, past))
        for group in groups
        if group.release == last
    )


def refused_by_figure_6(entries: Sequence[Entry], n: int) -> int:
    """[RB09] Figure 6, line by line, over releases 1 to j."""
    groups = groups_of(entries)
    last, refused = len(entries) - 1, 0
    for group in (g for g in groups if g.release == last):
        safe = True
        for release in range(last):
            counts = Counter(
                past.number for past in groups if past.release == release for r in group.people if r in past.people
            )
            most = max(counts.values(), default=0)
            if len(group.tokens) - n < most < len(group.tokens):
                safe = False
        refused += not safe
    return refused


def smallest_signed_sum(groups: Sequence[Group], start: Group, left: int, most: int) -> int:
    """The least weight on the heavier side over all signed sums of up to `most` groups with `start`; 0 if none fits."""
    others = [g for g in groups if g is not start and g.signature == start.signature]
    best = 0
    for size in range(1, most):
        for chosen in combinations(others, size):
            for signs in product((1, -1), repeat=size):
                weight = Counter(dict.fromkeys(start.tokens, 1))
                for group, sign in zip(chosen, signs, strict=True):
                    for token in group.tokens:
                        weight[token] += sign
                plus = sum(w for w in weight.values() if w > 0)
                minus = -sum(w for w in weight.values() if w < 0)
                if 0 < plus == minus <= left:
                    best = min(best or left, max(plus, minus))
    return best


def null_space(groups: Sequence[Group]) -> tuple[list[Token], list[list[Fraction]]]:
    """The tokens, and a basis of the null space of the incidence of groups and tokens, in exact fractions."""
    tokens = sorted({token for group in groups for token in group.tokens}, key=repr)
    rows = [[Fraction(token in group.tokens) for token in tokens] for group in groups]
    pivots: list[int] = []
    for column in range(len(tokens)):
        top = len(pivots)
        found = next((r for r in range(top, len(rows)) if rows[r][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        rows[top] = [x / rows[top][column] for x in rows[top]]
        for r in range(len(rows)):
            if r != top and rows[r][column]:
                rows[r] = [x - rows[r][column] * y for x, y in zip(rows[r], rows[top], strict=True)]
        pivots.append(column)
    basis = []
    for free in (c for c in range(len(tokens)) if c not in pivots):
        vector = [Fraction(0)] * len(tokens)
        vector[free] = Fraction(1)
        for r, column in enumerate(pivots):
            vector[column] = -rows[r][free]
        basis.append(vector)
    return tokens, basis


def derived_correlations(groups: Sequence[Group], n: int) -> list[tuple[tuple[Token, ...], tuple[Token, ...]]]:
    """Every two distinct multisets of fewer than n people each that agree on the null space."""
    tokens, basis = null_space(groups)
    people = [i for i, token in enumerate(tokens) if isinstance(token, int)]
    found = []
    for size in range(1, n):
        sums: dict[tuple[Fraction, ...], list[tuple[int, ...]]] = {}
        for chosen in combinations_with_replacement(people, size):
            key = tuple(sum((vector[i] for i in chosen), Fraction(0)) for vector in basis)
            sums.setdefault(key, []).append(chosen)
        for alike in sums.values():
            found += [
                (tuple(tokens[i] for i in one), tuple(tokens[i] for i in two))
                for one, two in combinations(alike, 2)
                if not set(one) & set(two)
            ]
    return found


def worlds(groups: Sequence[Group], known: dict[int, int] | None = None, limit: int = 200_000) -> list[dict[int, int]]:
    """Every way to give each person one value so that every group shows its values; counterfeits have the rest."""
    people = sorted({person for group in groups for person in group.people})
    mine = {person: [i for i, group in enumerate(groups) if person in group.people] for person in people}
    left = [Counter(group.values) for group in groups]
    found: list[dict[int, int]] = []
    world: dict[int, int] = {}

    def place(turn: int) -> None:
        if len(found) > limit:
            raise OverflowError
        if turn == len(people):
            found.append(dict(world))
            return
        person = people[turn]
        options = set(left[mine[person][0]]) if not known or person not in known else {known[person]}
        for value in sorted(options):
            if all(left[i][value] > 0 for i in mine[person]):
                for i in mine[person]:
                    left[i][value] -= 1
                world[person] = value
                place(turn + 1)
                for i in mine[person]:
                    left[i][value] += 1

    place(0)
    return found


def possible(found: Sequence[dict[int, int]]) -> dict[int, set[int]]:
    """The values that each person has in some world."""
    values: dict[int, set[int]] = {}
    for world in found:
        for person, value in world.items():
            values.setdefault(person, set()).add(value)
    return values


def components(groups: Sequence[Group]) -> list[list[Group]]:
    """The connected components of groups that share people."""
    parts: list[list[Group]] = []
    for group in groups:
        near = [part for part in parts if any(group.people & other.people for other in part)]
        parts = [part for part in parts if part not in near]
        parts.append([group, *(other for part in near for other in part)])
    return parts
