"""k over the history, against sets of people: every box, every intersection, one person at a time."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders.random_series import small_series

from reanon_core.catalog import build_technique
from reanon_core.checks.k_over_history import KOverHistory
from reanon_core.checks.point_index import Sides, count_inside, index_people
from reanon_core.checks.shared_boxes import SharedBoxes
from reanon_core.judgement import history_verdicts
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple

BLOCKS = {"m": 2, "not_eligible": "blocks"}


def aged(series: list[Snapshot]) -> list[Snapshot]:
    """The same people, a year older at each release on the first attribute; every third ages on the second too."""
    return [
        replace(
            one,
            qi=one.qi + np.array([[year], [0]], np.int32) + (one.persons % 3 == 0) * np.array([[0], [year]], np.int32),
        )
        for year, one in enumerate(series)
    ]


def ledgers(*, k: int, memory: bool = True, form: str = "decoupled") -> list[Ledger]:
    inner = build_technique("m-invariance", BLOCKS)
    technique = decouple(inner, k) if form == "decoupled" else inner
    found = []
    for seed in range(12):
        series = small_series(seed)[1]
        try:
            found.append(
                replay(technique, aged(series) if seed % 2 else series, np.random.default_rng(seed), memory=memory)
            )
        except Unpublishable:
            continue
    return found


def few_by_hand(ledger: Ledger, k: int) -> list[int]:
    """After each release, how many people have fewer than k people of the table in all of their boxes."""
    intervals: dict[int, list[tuple[int, int]]] = {}
    last: dict[int, list[int]] = {}
    answers = []
    for entry in ledger.entries:
        now = dict(zip(entry.snapshot.persons.tolist(), entry.snapshot.qi.T.tolist(), strict=True))
        shown = {person: box_of(entry, at) for at, person in enumerate(entry.trace.persons.tolist())}
        again = [person for person in shown if person in last]
        attributes = range(len(entry.snapshot.qi))
        often = [Counter(now[person][a] - last[person][a] for person in again) for a in attributes]
        few = 0
        for person, box in shown.items():
            if person in last:
                for a in attributes:
                    change = now[person][a] - last[person][a]
                    change = change if often[a][change] >= k else 0
                    low, high = intervals[person][a]
                    box[a] = (max(box[a][0], low + change), min(box[a][1], high + change))
            intervals[person] = box
            inside = sum(
                all(low <= code <= high for code, (low, high) in zip(values, box, strict=True))
                for values in now.values()
            )
            few += inside < k
        last |= {person: now[person] for person in shown}
        answers.append(few)
    return answers


def box_of(entry: Entry, at: int) -> list[tuple[int, int]]:
    rows, shown = entry.release.person_rows, entry.trace.person_rows
    if rows is None or shown is None:
        number, boxes = entry.release.group[entry.trace.rows[at]], entry.release.boxes
    else:
        number, boxes = rows.box[shown[at]], rows.boxes
    return list(zip(boxes.low[:, number].tolist(), boxes.high[:, number].tolist(), strict=True))


@pytest.mark.parametrize("form", ["decoupled", "boxes"])
def test_people_whose_boxes_hold_too_few_are_those_that_are_found_by_hand(form: str) -> None:
    checked = 0
    for ledger in ledgers(k=3, form=form):
        verdicts = list(history_verdicts(KOverHistory(k=4), ledger.entries))
        few = [int(verdict.observed["people whose boxes hold fewer together"]) for verdict in verdicts]
        assert few == few_by_hand(ledger, 4)
        checked += sum(few)
    assert checked > 20


def test_boxes_that_are_cut_anew_hold_fewer_people_together_than_boxes_that_remember() -> None:
    def few(memory: bool) -> int:
        return sum(sum(few_by_hand(ledger, 3)) for ledger in ledgers(k=3, memory=memory))

    assert few(memory=True) < few(memory=False) / 2


def test_the_check_fails_where_the_boxes_of_too_few_people_hold_k() -> None:
    entries = ledgers(k=3)[0].entries
    assert next(iter(history_verdicts(KOverHistory(k=3), entries))).holds
    assert not next(iter(history_verdicts(KOverHistory(k=12), entries))).holds
    few_somewhere = 0
    for ledger in ledgers(k=3):
        for strict in history_verdicts(KOverHistory(k=3, share=1.0), ledger.entries):
            few = strict.observed["people whose boxes hold fewer together"]
            assert strict.holds == (few == 0)
            few_somewhere += few
    assert few_somewhere > 0


def test_boxes_are_shared_as_they_are_counted_by_hand() -> None:
    small = 0
    for ledger in [*ledgers(k=3), *ledgers(k=3, form="boxes")]:
        for entry in ledger.entries:
            rows = entry.release.person_rows
            sizes = Counter((entry.release.group if rows is None else rows.box).tolist())
            for k in (2, 3, 4):
                verdict, _ = SharedBoxes(k=k).examine(entry, {})
                by_hand = sum(size < k for size in sizes.values())
                assert (verdict.holds, verdict.violations) == (by_hand == 0, by_hand)
                small += by_hand
                assert rows is None or k > 3 or verdict.holds
    assert small > 20


def test_rows_that_refer_to_nothing_fail_the_check() -> None:
    entry = ledgers(k=3)[0].entries[0]
    rows = entry.release.person_rows
    assert rows is not None
    broken: list[Entry] = [
        replace(entry, trace=replace(entry.trace, person_rows=None)),
        replace(entry, release=replace(entry.release, person_rows=replace(rows, box=rows.box + rows.boxes.count))),
        replace(entry, release=replace(entry.release, person_rows=replace(rows, group=rows.group - 1000))),
        replace(entry, trace=replace(entry.trace, persons=entry.trace.persons + 100_000)),
    ]
    check = KOverHistory(k=3)
    for one in broken:
        assert not check.examine(one, check.initial_memory())[0].holds
    for one in broken[:3]:  # the last has rows that are whole, of strangers
        assert not SharedBoxes(k=3).examine(one, {})[0].holds


def test_the_tree_over_people_counts_as_a_loop_does() -> None:
    rng = np.random.default_rng(1)
    for people in (0, 1, 16, 17, 300):
        qi = rng.integers(0, 9, (3, people)).astype(np.int32)
        qi[rng.random(qi.shape) < 0.1] = MISSING
        low = rng.integers(0, 9, (3, 40)).astype(np.int32)
        high = (low + rng.integers(-1, 5, (3, 40))).astype(np.int32)
        lacking = rng.random((3, 40)) < 0.5
        counts = count_inside(index_people(qi), Sides(low, high, lacking), 7)
        for at, count in enumerate(counts.tolist()):
            missing = qi == MISSING
            inside = (missing & lacking[:, [at]]) | (~missing & (qi >= low[:, [at]]) & (qi <= high[:, [at]]))
            assert count == min(7, int(inside.all(axis=0).sum()))


@pytest.mark.parametrize("wrong", [{"k": 1}, {"k": 3, "share": 1.5}, {"k": 3, "share": 0.0}])
def test_parameters_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        KOverHistory(**wrong)
    with pytest.raises(InvalidParameter):
        SharedBoxes(k=1)
