"""Small releases with the truth behind them, written by hand or drawn at random."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from reanon_core.model.arrays import MISSING
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace

Box = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Member:
    """A person, their values, and the group that shows them; no group if they are withheld."""

    person: int
    qi: tuple[int, ...]
    value: int
    group: int | None


def plain_schema(columns: int = 2, values: int = 4, **options: object) -> Schema:
    """Numeric columns a, b, ... and sensitive values v0, v1, ..."""
    return Schema(
        quasi_identifiers=tuple(QuasiIdentifier(name=chr(97 + i), **options) for i in range(columns)),  # type: ignore[arg-type]
        sensitive=Sensitive(name="s", values=tuple(f"v{i}" for i in range(values))),
    )


def entry_of(
    schema: Schema,
    members: Iterable[Member],
    *,
    counterfeits: Iterable[tuple[int, int]] = (),
    boxes: Mapping[int, Box] | None = None,
    random: Random | None = None,
) -> Entry:
    """A release with the truth behind it; boxes are the smallest that cover, rows are shuffled by `random`."""
    people = sorted(members, key=lambda member: member.person)
    shown = [member for member in people if member.group is not None]
    rows = [(member.group, member.value) for member in shown] + list(counterfeits)
    places = list(range(len(rows)))
    if random:
        random.shuffle(places)
    public = [(0, 0)] * len(rows)
    for row, place in zip(rows, places, strict=True):
        public[place] = row  # type: ignore[assignment]
    groups = 1 + max((group for group, _ in public), default=-1)
    fakes = [sum(1 for group, _ in counterfeits if group == g) for g in range(groups)]
    return Entry(
        Snapshot(
            schema,
            np.array([member.person for member in people], np.int64),
            np.array([member.qi for member in people], np.int32).reshape(len(people), len(schema.names)).T,
            np.array([member.value for member in people], np.int32),
        ),
        Release(
            np.array([group for group, _ in public], np.int32),
            np.array([value for _, value in public], np.int32),
            box_arrays([boxes[g] for g in range(groups)]) if boxes is not None else _smallest(schema, shown, groups),
        ),
        Auxiliary(
            np.array([g for g in range(groups) if fakes[g]], np.int32),
            np.array([count for count in fakes if count], np.int32),
        ),
        Trace(np.array([m.person for m in shown], np.int64), np.array(places[: len(shown)], np.int32)),
    )


def box_arrays(boxes: Sequence[Box]) -> Boxes:
    """Boxes without missing values, from intervals."""
    sides = np.array(boxes, np.int32)  # [g, d, 2]
    return Boxes(sides[:, :, 0].T, sides[:, :, 1].T, np.zeros((sides.shape[1], len(boxes)), np.int8))


def _smallest(schema: Schema, shown: list[Member], groups: int) -> Boxes:
    low = np.zeros((len(schema.names), groups), np.int32)
    high, missing = low.copy(), np.zeros(low.shape, np.int8)
    for group in range(groups):
        for i, column in enumerate(schema.quasi_identifiers):
            codes = [member.qi[i] for member in shown if member.group == group]
            present = [code for code in codes if code != MISSING]
            if codes and not present:
                low[i, group] = high[i, group] = MISSING
                missing[i, group] = 2
                continue
            missing[i, group] = len(present) < len(codes)
            low[i, group] = min(present, default=column.domain[0] if column.domain else 0)
            high[i, group] = max(max(present, default=0), low[i, group] + column.min_width - 1)
            if column.domain and high[i, group] > column.domain[1]:
                high[i, group] = column.domain[1]
                low[i, group] = min(low[i, group], high[i, group] - column.min_width + 1)
    return Boxes(low, high, missing)


def random_entry(random: Random, schema: Schema, *, people: int = 12, groups: int = 4, missing: bool = False) -> Entry:
    """A well-formed release of random people in random groups with random counterfeits."""
    members = []
    for person in random.sample(range(3 * people), random.randint(0, people)):
        qi = tuple(MISSING if missing and random.random() < 0.3 else random.randint(0, 6) for _ in schema.names)
        group = random.randrange(groups) if random.random() < 0.9 else None
        members.append(Member(person, qi, random.randrange(len(schema.sensitive.values)), group))
    return compact_entry(random, schema, members, counterfeits=random.randint(0, 3))


def compact_entry(random: Random, schema: Schema, members: list[Member], *, counterfeits: int = 0) -> Entry:
    """The members under group numbers without gaps, with counterfeits in groups that have a member."""
    used = sorted({member.group for member in members if member.group is not None})
    number = {group: new for new, group in enumerate(used)}
    renamed = [replace(m, group=None if m.group is None else number[m.group]) for m in members]
    fakes = [
        (random.randrange(len(used)), random.randrange(len(schema.sensitive.values)))
        for _ in range(counterfeits if used else 0)
    ]
    return entry_of(schema, renamed, counterfeits=fakes, random=random)


def random_ledger(random: Random, *, releases: int = 3, people: int = 5, groups: int = 2, values: int = 3) -> Ledger:
    """People with a fixed value and changing QI who come, go and return; groups at random."""
    schema = plain_schema(values=values)
    value = [random.randrange(values) for _ in range(people)]
    entries = []
    for _ in range(releases):
        members = [
            Member(person, (random.randint(0, 3), random.randint(0, 3)), value[person], random.randrange(groups))
            for person in range(people)
            if random.random() < 0.7
        ]
        entries.append(compact_entry(random, schema, members, counterfeits=random.randint(0, 1)))
    return Ledger(tuple(entries))


def invariant_ledger(random: Random, *, m: int, releases: int = 2, people: int = 6) -> Ledger:
    """An m-invariant history made without any algorithm: everybody has a signature for life.

    In each release the people of one signature are dealt out to groups, one of each value at most, and
    counterfeits fill the gaps.
    """
    signatures = [tuple(range(m)), tuple(range(1, m + 1)), tuple(range(m + 1))]
    schema = plain_schema(values=m + 1)
    home = [random.choice(signatures) for _ in range(people)]
    value = [random.choice(home[person]) for person in range(people)]
    entries = []
    for _ in range(releases):
        present = [person for person in range(people) if random.random() < 0.7]
        members: list[Member] = []
        fakes: list[tuple[int, int]] = []
        start = 0
        for signature in signatures:
            mine = [person for person in present if home[person] == signature]
            lists = {v: [person for person in mine if value[person] == v] for v in signature}
            depth = max(map(len, lists.values()), default=0)
            for v, owners in lists.items():
                members += [
                    Member(person, (random.randint(0, 2), random.randint(0, 2)), v, start + i)
                    for i, person in enumerate(owners)
                ]
                fakes += [(start + i, v) for i in range(len(owners), depth)]
            start += depth
        entries.append(entry_of(schema, members, counterfeits=fakes, random=random))
    return Ledger(tuple(entries))
