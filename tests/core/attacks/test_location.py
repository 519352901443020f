"""The places that are left for a person, against loops over all rows and against every assignment of signatures."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from builders.random_series import small_series, tiny_ledgers

from reanon_core.attacks.location import FEW, LOCATED, NEIGHBOUR, PEOPLE, REPLAY, LocationAttack
from reanon_core.catalog import build_technique
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple

Signature = frozenset[int]
Place = tuple[int, int]  # a group and a box
INNER = build_technique("m-invariance", {"m": 2, "not_eligible": "blocks"})


def rows(entry: Entry) -> list[Place]:
    """The place of each published row."""
    own = entry.release.person_rows
    if own is None:
        return [(group, group) for group in entry.release.group.tolist()]
    return list(zip(own.group.tolist(), own.box.tolist(), strict=True))


def signature(entry: Entry, group: int) -> Signature:
    return frozenset(entry.release.sensitive[entry.release.group == group].tolist())


def signatures_by_box(entry: Entry) -> dict[int, Counter[Signature]]:
    found: dict[int, Counter[Signature]] = {}
    for group, box in rows(entry):
        found.setdefault(box, Counter())[signature(entry, group)] += 1
    return found


def box_of(entry: Entry) -> dict[int, int]:
    """Each person's own box."""
    own, shown = entry.release.person_rows, entry.trace.person_rows
    assert own is not None
    assert shown is not None
    return dict(zip(entry.trace.persons.tolist(), own.box[shown].tolist(), strict=True))


def around(entry: Entry, person: int) -> set[int]:
    """The boxes that contain a person."""
    own = entry.release.person_rows
    boxes = entry.release.boxes if own is None else own.boxes
    point = entry.snapshot.qi[:, int(entry.snapshot.persons.searchsorted(person))]
    return {box for box in range(boxes.count) if boxes.contains(box, point)}


def expected(entries: tuple[Entry, ...], boxes: dict[int, set[int]], allowed: dict[int, set[Signature]]) -> list[int]:
    """How many people of the latest release have one place left, and how many fewer rows than the smallest box."""
    latest = entries[-1]
    smallest = min(Counter(box for _, box in rows(latest)).values())
    one = few = 0
    for person in latest.trace.persons.tolist():
        mine = [at for at in rows(latest) if at[1] in boxes[person] and signature(latest, at[0]) in allowed[person]]
        one, few = one + (len(set(mine)) == 1), few + (0 < len(mine) < smallest)
    return [one, few]


def told(ledger: Ledger, adversary: str, *, groups_known: bool = False) -> list[int]:
    found = LocationAttack().run(ledger.history(), ledger.knowledge(groups_known=groups_known))
    assert found.extra[PEOPLE] == len(ledger.entries[-1].trace.persons)
    return [int(found.extra[f"{what}, {adversary}"]) for what in (LOCATED, FEW)]


def assignments(entries: tuple[Entry, ...]) -> Iterator[dict[int, Signature]]:
    """Every signature for every person so that each box of each release has the signatures that it shows."""
    people = sorted({person for entry in entries for person in entry.trace.persons.tolist()})
    in_box = [box_of(entry) for entry in entries]
    left = [signatures_by_box(entry) for entry in entries]

    def assign(at: int, chosen: dict[int, Signature]) -> Iterator[dict[int, Signature]]:
        if at == len(people):
            yield dict(chosen)
            return
        cells = [shown[where[people[at]]] for shown, where in zip(left, in_box, strict=True) if people[at] in where]
        for one in {one for cell in cells for one in cell}:
            if all(cell[one] > 0 for cell in cells):
                for cell in cells:
                    cell[one] -= 1
                yield from assign(at + 1, {**chosen, people[at]: one})
                for cell in cells:
                    cell[one] += 1

    yield from assign(0, {})


@pytest.mark.parametrize("form", ["boxes", "decoupled"])
def test_a_neighbour_is_left_with_the_places_that_a_loop_over_all_rows_leaves(form: str) -> None:
    technique = decouple(INNER, 2) if form == "decoupled" else INNER
    located = 0
    for seed in range(8):
        ledger = replay(technique, small_series(seed)[1], np.random.default_rng(seed))
        boxes = {person: around(ledger.entries[-1], person) for person in ledger.entries[-1].trace.persons.tolist()}
        allowed = {}
        for person in boxes:
            seen = [
                {signature(entry, group) for group, box in rows(entry) if box in around(entry, person)}
                for entry in ledger.entries
                if person in entry.trace.persons
            ]
            allowed[person] = set.intersection(*seen)
        by_hand = expected(ledger.entries, boxes, allowed)
        assert told(ledger, NEIGHBOUR) == by_hand
        located += by_hand[0]
    assert located > 5


def test_a_replay_never_leaves_fewer_places_than_all_assignments_do_and_mostly_as_many() -> None:
    compared = exact = located = 0
    for ledger in tiny_ledgers(decouple(INNER, 2), 60):
        boxes = {person: {box} for person, box in box_of(ledger.entries[-1]).items()}
        allowed: dict[int, set[Signature]] = {person: set() for person in boxes}
        for one in assignments(ledger.entries):
            for person in boxes:
                allowed[person].add(one[person])
        by_hand, found = expected(ledger.entries, boxes, allowed), told(ledger, REPLAY)
        assert all(attack <= every for attack, every in zip(found, by_hand, strict=True))
        compared, exact, located = compared + 1, exact + (found == by_hand), located + found[0]
    assert exact > 0.9 * compared
    assert located > 20


def test_whatever_is_known_of_groups_changes_nothing_and_without_boxes_there_is_no_replay() -> None:
    ledger = replay(decouple(INNER, 2), small_series(1)[1], np.random.default_rng(1))
    assert told(ledger, REPLAY, groups_known=True) == told(ledger, REPLAY)
    known = ledger.knowledge()
    unknown = replace(known, presences=tuple(replace(one, box=None) for one in known.presences))
    assert f"{LOCATED}, {REPLAY}" not in LocationAttack().run(ledger.history(), unknown).extra


def test_someone_in_a_place_of_one_value_is_exposed() -> None:
    """Where each person has a group of their own with their value, a person who is located is exposed."""
    ledger = replay(decouple(INNER, 2), small_series(2)[1], np.random.default_rng(2))
    entries = []
    for entry in ledger.entries:
        own, shown = entry.release.person_rows, entry.trace.person_rows
        assert own is not None
        assert shown is not None
        values = np.empty(len(shown), np.int32)
        values[shown] = entry.release.sensitive[entry.trace.rows]
        single = np.arange(len(shown), dtype=np.int32)
        boxes = replace(
            own.boxes,
            low=own.boxes.low[:, own.box],
            high=own.boxes.high[:, own.box],
            missing=own.boxes.missing[:, own.box],
        )
        release = replace(
            entry.release, group=single, sensitive=values, boxes=boxes, person_rows=replace(own, group=single)
        )
        entries.append(replace(entry, release=release, trace=replace(entry.trace, rows=shown)))
    found = LocationAttack().run(Ledger(tuple(entries)).history(), ledger.knowledge(groups_known=False))
    truth = dict(zip(entries[-1].snapshot.persons.tolist(), entries[-1].snapshot.sensitive.tolist(), strict=True))
    assert found.exposed > 0
    assert [truth[person] for person in found.persons.tolist()] == found.inferred.tolist()


def test_releases_of_a_technique_without_signatures_are_refused() -> None:
    mondrian = replay(build_technique("mondrian", {"k": 5}), small_series(0)[1], np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="show each of their values equally often"):
        LocationAttack().run(mondrian.history(), mondrian.knowledge())
