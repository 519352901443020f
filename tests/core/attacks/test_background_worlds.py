"""The background attack against every sequence of values that its knowledge allows, on tiny histories."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random

import numpy as np
import pytest
from oracles.any_histories import OPTIONS, foreign_ledger, technique_ledger
from oracles.builders import Member, compact_entry, plain_schema
from oracles.consistent_worlds import possible_values

from reanon_core.adversary_knowledge import with_background
from reanon_core.attacks.background import BackgroundAttack
from reanon_core.model.background import Background
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger

VALUES, PEOPLE, RELEASES = 3, 4, 3
Sequences = dict[int, tuple[int, ...]]
"""The values of each person, one for each release that shows them."""


def chain(random: Random) -> np.ndarray:
    """Transitions of which some are impossible."""
    sizes = range(VALUES)
    allowed = np.array([[random.random() < 0.5 or to == (of + 1) % VALUES for to in sizes] for of in sizes])
    weights = allowed * np.array([[random.randint(1, 3) for _ in sizes] for _ in sizes])
    rows: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return rows


def known(step: np.ndarray) -> Background:
    """The chain as declared knowledge; every value is as likely at first."""
    emission = np.concatenate([np.zeros((1, VALUES)), step])[None]
    following = np.tile(np.arange(1, VALUES + 1), (VALUES + 1, 1))
    return Background(prior=np.full((1, VALUES), 1 / VALUES), following=following, emission=emission, source="domain")


def chained_ledger(random: Random, step: np.ndarray) -> Ledger:
    """People whose values follow the chain whenever a release shows them, in random groups."""
    value = [random.randrange(VALUES) for _ in range(PEOPLE)]
    entries = []
    for _ in range(RELEASES):
        here = [person for person in range(PEOPLE) if random.random() < 0.8]
        members = []
        for person in here:
            group = random.randrange(2)
            members.append(Member(person, (10 * group + random.randint(0, 3),), value[person], group))
            value[person] = random.choices(range(VALUES), step[value[person]])[0]
        schema = plain_schema(columns=1, values=VALUES)
        entries.append(compact_entry(random, schema, members, counterfeits=random.randint(0, 1)))
    return Ledger(tuple(entries))


def worlds(ledger: Ledger, step: np.ndarray) -> Iterator[Sequences]:
    """Every way to give each person a sequence that the chain allows, so that the groups show their values."""
    rows = [Counter(zip(e.release.group.tolist(), e.release.sensitive.tolist(), strict=True)) for e in ledger.entries]
    presences = [entry.presence() for entry in ledger.entries]
    hosts = [dict(zip(here.persons.tolist(), here.group.tolist(), strict=True)) for here in presences]
    everyone = sorted({person for host in hosts for person in host})
    places = [(person, at) for person in everyone for at, host in enumerate(hosts) if person in host]
    taken: dict[int, tuple[int, ...]] = dict.fromkeys(everyone, ())

    def extend(turn: int) -> Iterator[Sequences]:
        if turn == len(places):
            yield dict(taken)
            return
        person, at = places[turn]
        for value in range(VALUES):
            past, cell = taken[person], (hosts[at][person], value)
            if rows[at][cell] > 0 and (not past or step[past[-1], value] > 0):
                rows[at][cell] -= 1
                taken[person] = (*past, value)
                yield from extend(turn + 1)
                taken[person] = past
                rows[at][cell] += 1

    return extend(0)


def claims(found: Findings) -> dict[int, int]:
    rows = zip(found.persons.tolist(), found.inferred.tolist(), found.confidence.tolist(), strict=True)
    return {person: value for person, value, confidence in rows if confidence == 1}


@pytest.mark.parametrize("mode", ["product", "filter"])
def test_what_is_certain_is_true_in_every_world_that_the_declared_knowledge_allows(mode: str) -> None:
    certain = 0
    for seed in range(60):
        random = Random(seed)
        step = chain(random)
        ledger = chained_ledger(random, step)
        knowledge = Knowledge(ledger.knowledge(groups_known=bool(seed % 2)).presences, background=known(step))
        found = claims(BackgroundAttack(mode=mode).run(ledger.history(), knowledge))  # type: ignore[arg-type]
        certain += len(found)
        possible = list(worlds(ledger, step)) if found else []
        for person, value in found.items():
            releases = zip(*(world[person] for world in possible), strict=True)
            assert {value} in map(set, releases)
    assert certain > 60


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("kind", [*OPTIONS, "files of others"])
def test_what_is_certain_with_the_knowledge_that_audit_gives_is_true(kind: str, changing: bool) -> None:
    """Transitions that are counted in the original tables include those that happened."""
    for seed in range(12):
        random = Random(f"{kind} {seed}")
        make = partial(technique_ledger, kind) if kind in OPTIONS else foreign_ledger
        ledger = make(random, changing=changing)
        if not ledger.entries:
            continue
        knowledge = with_background(None, ledger, ledger.knowledge(groups_known=bool(seed % 2)))
        found = BackgroundAttack().run(ledger.history(), knowledge)
        assert "counted in the original tables" in found.note
        had = {
            (person, value)
            for entry in ledger.entries
            for person, value in zip(entry.snapshot.persons.tolist(), entry.snapshot.sensitive.tolist(), strict=True)
        }
        assert claims(found).items() <= had


@pytest.mark.parametrize("changing", [False, True])
def test_estimated_transitions_make_no_one_certain_whom_no_single_release_exposes(changing: bool) -> None:
    certain = 0
    for seed in range(60):
        ledger = foreign_ledger(Random(seed), changing=changing)
        history, knowledge = ledger.history(), ledger.knowledge(groups_known=bool(seed % 2))
        found = BackgroundAttack().run(history, knowledge)
        alone = [
            possible_values(History(history.schema, (published,)), Knowledge((presence,)))
            for published, presence in zip(history.releases, knowledge.presences, strict=True)
        ]
        assert "estimated from the releases" in found.note
        assert all({value} in [values.get(person) for values in alone] for person, value in claims(found).items())
        certain += len(claims(found))
    assert certain > 60
