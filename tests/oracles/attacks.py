"""What an adversary can conclude, word for word: candidate sets, and every surjection listed."""

from collections import Counter
from itertools import permutations, product

from reanon_core.model.arrays import MISSING
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import Boxes


def inside(boxes: Boxes, group: int, point: tuple[int, ...]) -> bool:
    """Whether the box contains the point on every attribute."""
    for i, code in enumerate(point):
        flag = int(boxes.missing[i, group])
        if code == MISSING:
            if flag == 0:
                return False
        elif flag == 2 or not int(boxes.low[i, group]) <= code <= int(boxes.high[i, group]):
            return False
    return True


def values_of(published: Published, group: int) -> set[int]:
    release = published.release
    return {int(release.sensitive[row]) for row in range(release.size) if int(release.group[row]) == group}


def candidate_set(published: Published, point: tuple[int, ...]) -> set[int]:
    """[XT07] Definition 15."""
    candidates: set[int] = set()
    for group in range(published.release.boxes.count):
        if inside(published.release.boxes, group, point):
            candidates |= values_of(published, group)
    return candidates


def candidates_left(history: History, knowledge: Knowledge) -> dict[int, set[int]]:
    """The intersection of each person's candidate sets over their lifespan."""
    left: dict[int, set[int]] = {}
    for published, presence in zip(history.releases, knowledge.presences, strict=True):
        for person, point in zip(presence.persons.tolist(), presence.qi.T.tolist(), strict=True):
            now = candidate_set(published, tuple(point))
            left[person] = left[person] & now if person in left else now
    return left


def reasonable_surjections(
    history: History, knowledge: Knowledge, *, one_signature: bool
) -> tuple[int, dict[int, Counter[int]]]:
    """[XT07] Definitions 10 and 13: list every mapping of rows to B(n), and keep the reasonable ones."""
    per_release = []
    for time, (published, presence) in enumerate(zip(history.releases, knowledge.presences, strict=True)):
        people = [
            ("person", p, tuple(q)) for p, q in zip(presence.persons.tolist(), presence.qi.T.tolist(), strict=True)
        ]
        auxiliary = zip(published.auxiliary.group.tolist(), published.auxiliary.count.tolist(), strict=True)
        counterfeits = [("counterfeit", (time, group, i), group) for group, count in auxiliary for i in range(count)]
        b_rows = people + counterfeits
        rows = list(zip(published.release.group.tolist(), published.release.sensitive.tolist(), strict=True))
        mappings = []
        if len(b_rows) == len(rows):  # condition 1.2: one row for each person and counterfeit of this release
            for order in permutations(b_rows):
                if all(
                    inside(published.release.boxes, group, b[2]) if b[0] == "person" else b[2] == group
                    for (group, _), b in zip(rows, order, strict=True)
                ):
                    mappings.append(
                        {
                            b[1]: (value, frozenset(values_of(published, group)))
                            for (group, value), b in zip(rows, order, strict=True)
                            if b[0] == "person"
                        }
                    )
        per_release.append(mappings)
    total = 0
    by_value: dict[int, Counter[int]] = {
        p: Counter() for presence in knowledge.presences for p in presence.persons.tolist()
    }
    for choice in product(*per_release):
        options: dict[int, set[tuple[int, frozenset[int]]]] = {}
        for mapping in choice:
            for person, (value, signature) in mapping.items():
                options.setdefault(person, set()).add((value, signature if one_signature else frozenset()))
        if all(len(kept) == 1 for kept in options.values()):
            total += 1
            for person, kept in options.items():
                by_value[person][next(iter(kept))[0]] += 1
    return total, by_value
