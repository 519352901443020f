"""Rows that may show the same person in the next release, against a loop over all pairs of rows."""

from itertools import pairwise

import numpy as np
import pytest
from builders.random_series import small_series

from reanon_core.catalog import build_technique
from reanon_core.inference.view.linkage import successors
from reanon_core.model.release import Release
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple

Rows = list[tuple[frozenset[int], list[tuple[int, int]]]]


def rows_of(release: Release) -> Rows:
    own = release.person_rows
    group, box, boxes = (
        (release.group, release.group, release.boxes) if own is None else (own.group, own.box, own.boxes)
    )
    return [
        (
            frozenset(release.sensitive[release.group == number].tolist()),
            list(zip(boxes.low[:, at].tolist(), boxes.high[:, at].tolist(), strict=True)),
        )
        for number, at in zip(group, box, strict=True)
    ]


def overlap(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> bool:
    return all(max(a[0], b[0]) <= min(a[1], b[1]) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("decoupled", [True, False])
def test_successors_are_the_rows_with_the_same_signature_and_an_overlapping_box(decoupled: bool) -> None:
    technique = build_technique("m-invariance", {"m": 2, "not_eligible": "blocks"})
    for seed in range(4):
        ledger = replay(
            decouple(technique, 3) if decoupled else technique, small_series(seed)[1], np.random.default_rng(seed)
        )
        for one, two in pairwise(ledger.entries):
            found = successors(one.release, two.release)
            later = rows_of(two.release)
            expected = [sum(s == t and overlap(b, c) for t, c in later) for s, b in rows_of(one.release)]
            assert found.tolist() == expected


def test_whoever_stays_has_a_successor() -> None:
    technique = decouple(build_technique("m-invariance", {"m": 2, "not_eligible": "blocks"}), 3)
    for seed in range(6):
        entries = replay(technique, small_series(seed)[1], np.random.default_rng(seed)).entries
        for one, two in pairwise(entries):
            assert one.trace.person_rows is not None
            stays = np.isin(one.trace.persons, two.trace.persons)
            assert (successors(one.release, two.release)[one.trace.person_rows[stays]] >= 1).all()
