"""Tiny histories of every technique, and histories that no technique of ours made."""

from dataclasses import replace
from random import Random

import numpy as np

from oracles.builders import Member, compact_entry, plain_schema
from reanon_core.catalog import build_technique
from reanon_core.model.arrays import MISSING
from reanon_core.model.background import Background
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.release import ALL_MISSING, Auxiliary, Boxes
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish

OPTIONS: dict[str, list[dict[str, object]]] = {
    "m-invariance": [
        {"m": 2},
        {"m": 2, "not_eligible": "pad"},
        {"m": 2, "not_eligible": "defer", "balancing": "filled"},
        {"m": 2, "balancing": "filled"},
    ],
    "cor-split": [
        {"m": 3, "n": 2, "not_eligible": "pad"},
        {"m": 3, "n": 2, "strict": False},
        {"m": 3, "n": 2, "balancing": "filled"},
    ],
    "bpg": [{"k": 2, "ell": 2}, {"k": 2, "ell": 2, "reserve": 1}, {"k": 2, "ell": 2, "reserve": 1, "variant": "ghost"}],
    "js-reduce": [{"k": 2, "t": 0.9, "j": 2.0}, {"k": 2, "t": 0.9, "j": 2.0, "leftovers": "suppress"}],
    "sequential": [{"ell": 2, "on_delete": "defer"}, {"ell": 2, "worlds": "ring"}, {"ell": 2, "bucket_size": 8}],
    "mondrian": [{"k": 2, "ell": 2}, {"k": 3, "ell": 2, "cuts": "relaxed"}],
}
EPISODES = {"on_sensitive_change": "episode"}
COLUMNS = [None, None, ("a", "s"), ("b", "s"), ("a",)]
FIXED = {"sequential"}
"""It refuses people who leave or change."""


def technique_ledger(name: str, random: Random, *, people: int = 7, changing: bool = False) -> Ledger:
    """What a technique publishes of a few people who come, leave and move; a snapshot that it refuses is left out.

    BPG answers queries, and `sequential` shows some of the columns. Some series are published without memory, as the
    naive baseline is.
    """
    options = random.choice(OPTIONS[name])
    if changing and name in ("m-invariance", "cor-split"):
        options = options | EPISODES
    technique = build_technique(name, options, Background())
    schema = plain_schema(values=random.choice([3, 4]))
    values = len(schema.sensitive.values)
    qi = np.array([[random.randint(0, 5) for _ in range(people)] for _ in range(2)], np.int32)
    value = np.array([person % values for person in range(people)], np.int32)
    random.shuffle(value)
    remembers = random.random() < 0.7
    state, rng, entries = technique.initial_state(), np.random.default_rng(random.randrange(2**32)), list[Entry]()
    for _ in range(3):
        stay = 1.0 if name in FIXED else 0.8
        here = np.array([person for person in range(people) if random.random() < stay], np.int64)
        snapshot = Snapshot(schema, here, qi[:, here], value[here])
        if name == "bpg":
            snapshot = replace(snapshot, selected=np.array([random.random() < 0.8 for _ in here], np.bool_))
        if name == "sequential":
            snapshot = replace(snapshot, columns=random.choice(COLUMNS))
        try:
            publication = publish(technique, snapshot, state, rng)
        except Unpublishable:
            continue
        state = publication.state if remembers else state
        entries.append(publication.entry(snapshot))
        if name not in FIXED:
            qi = qi + np.array([[random.random() < 0.2 for _ in range(people)] for _ in range(2)], np.int32)
        if changing:
            moved = np.array([random.random() < 0.3 for _ in range(people)])
            value = np.where(moved, (value + 1) % values, value).astype(np.int32)
    return Ledger(tuple(entries))


def foreign_ledger(random: Random, *, people: int = 6, releases: int = 3, changing: bool = False) -> Ledger:
    """Random groups of random people, counterfeits of any value, and boxes that may reach beyond their group.

    Some of these histories do not declare their counterfeits, as the files of other tools do not.
    """
    values = random.choice([2, 3, 4])
    schema = plain_schema(columns=1, values=values)
    value = [random.randrange(values) for _ in range(people)]
    apart, counterfeits, declared = random.random() < 0.5, random.choice([0, 0, 1, 2]), random.random() < 0.8
    entries = []
    for _ in range(random.randint(1, releases)):
        members = []
        for person in range(people):
            group = random.randrange(3)
            place = 10 * group + random.randint(0, 3) if apart else random.choice([MISSING, *range(6)])
            if random.random() < 0.85:
                members.append(Member(person, (place,), value[person], group))
        entry = compact_entry(random, schema, members, counterfeits=counterfeits)
        release = replace(entry.release, boxes=_wider(entry.release.boxes, random))
        entries.append(replace(entry, release=release, auxiliary=entry.auxiliary if declared else Auxiliary.none()))
        if changing:
            value = [random.randrange(values) if random.random() < 0.3 else v for v in value]
    return Ledger(tuple(entries))


def _wider(boxes: Boxes, random: Random) -> Boxes:
    """Boxes that begin or end a little further outside; those of missing values alone stay."""
    shown = boxes.missing != ALL_MISSING
    low, high = (np.array([[random.randint(0, 2) for _ in row] for row in boxes.low], np.int32) for _ in range(2))
    return Boxes(boxes.low - low * shown, boxes.high + high * shown, boxes.missing)
