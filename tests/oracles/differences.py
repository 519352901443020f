"""Difference attacks word for word: people in boxes, and groups taken out of groups."""

from collections import Counter
from itertools import chain, combinations, pairwise
from random import Random

from oracles.attacks import inside
from oracles.builders import Member, entry_of, plain_schema
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger

Trace = tuple[int | str, ...]


def traces(history: History, knowledge: Knowledge) -> dict[int, Trace]:
    """For each person and release: the only group whose box contains them, "unknown", or "absent"."""
    found: dict[int, list[int | str]] = {p: [] for one in knowledge.presences for p in one.persons.tolist()}
    for published, presence in zip(history.releases, knowledge.presences, strict=True):
        points = dict(zip(presence.persons.tolist(), presence.qi.T.tolist(), strict=True))
        for person, trace in found.items():
            boxes = published.release.boxes
            hosts = [g for g in range(boxes.count) if person in points and inside(boxes, g, tuple(points[person]))]
            trace.append("absent" if person not in points else hosts[0] if len(hosts) == 1 else "unknown")
    return {person: tuple(trace) for person, trace in found.items()}


def pairwise_exposed(history: History, knowledge: Knowledge) -> dict[int, int]:
    """Everybody exposed when any whole groups of one release are taken out of a group of another, just once."""
    trace = traces(history, knowledge)
    rows = [
        [
            Counter(v for g, v in zip(r.group.tolist(), r.sensitive.tolist(), strict=True) if g == group)
            for group in range(r.boxes.count)
        ]
        for r in (published.release for published in history.releases)
    ]
    members = [
        [{p for p, t in trace.items() if t[time] == group} for group in range(len(groups))]
        for time, groups in enumerate(rows)
    ]
    exposed: dict[int, int] = {}
    for i, groups in enumerate(rows):
        for g, values in enumerate(groups):
            for j, others in enumerate(rows):
                whole = [
                    h
                    for h, shown in enumerate(others)
                    if j != i and members[j][h] <= members[i][g] and len(members[j][h]) == shown.total()
                ]
                for taken in chain.from_iterable(combinations(whole, n) for n in range(len(whole) + 1)):
                    rest = members[i][g].difference(*(members[j][h] for h in taken))
                    left = values - sum((others[h] for h in taken), Counter())
                    if len(left) == 1:
                        exposed |= dict.fromkeys(rest, next(iter(left)))
    return exposed


def banded_ledger(
    random: Random, *, releases: int = 3, people: int = 6, values: int = 3, overlap: float = 0.2, change: float = 0.0
) -> Ledger:
    """People on a line, cut into bands at random places in each release; some bands reach into the next."""
    schema = plain_schema(columns=1, values=values)
    value = [random.randrange(values) for _ in range(people)]
    place = [random.randint(0, 8) for _ in range(people)]
    entries = []
    for _ in range(releases):
        cuts = [0, *sorted(random.sample(range(1, 9), random.randint(0, 3))), 9]
        bands = list(pairwise(cuts))
        here = [p for p in range(people) if random.random() < 0.8]
        value = [random.randrange(values) if random.random() < change else v for v in value]
        host = {p: next(b for b, (low, end) in enumerate(bands) if low <= place[p] < end) for p in here}
        used = sorted(set(host.values()))
        members = [Member(p, (place[p],), value[p], used.index(host[p])) for p in here]
        boxes = {new: [(bands[b][0], bands[b][1] - 1 + (random.random() < overlap))] for new, b in enumerate(used)}
        counterfeits = (
            [(random.randrange(len(used)), random.randrange(values))] if used and random.random() < 0.3 else []
        )
        entries.append(
            entry_of(schema, members, counterfeits=counterfeits, boxes=boxes if used else None, random=random)
        )
    return Ledger(tuple(entries))
