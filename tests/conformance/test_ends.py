"""Every technique publishes boxes that are functions of bins, if the series' ends are on the grid."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from oracles.bins import bin_of, bins

from conformance.population import series
from conformance.test_techniques import few, run, weakest
from reanon_core.catalog import TECHNIQUES, own_checks
from reanon_core.model.arrays import MISSING
from reanon_core.model.ledger import Entry
from reanon_core.model.schema import Ends
from reanon_core.model.snapshot import Snapshot

REACH = 300


def on_grid(snapshots: list[Snapshot]) -> list[Snapshot]:
    return [replace(snapshot, schema=snapshot.schema.with_ends(Ends.GRID)) for snapshot in snapshots]


def hulls(entry: Entry) -> set[tuple[int, int, int, int]]:
    """Each attribute and group with the hull of its people's bins."""
    group = entry.release.group[entry.trace.rows]
    codes = entry.snapshot.qi[:, entry.snapshot.persons.searchsorted(entry.trace.persons)]
    found = set()
    for attribute, column in enumerate(entry.snapshot.schema.quasi_identifiers):
        listed = bins(column, REACH)
        for own in range(entry.release.boxes.count):
            members = [code for code in codes[attribute, group == own].tolist() if code != MISSING]
            ends = [bin_of(code, listed) for code in members]
            low = min((first for first, _ in ends), default=MISSING)
            found.add((attribute, own, low, max((last for _, last in ends), default=MISSING)))
    return found


@pytest.mark.parametrize("name", TECHNIQUES)
@given(snapshots=series())
@few
def test_boxes_are_hulls_of_bins_and_the_own_checks_hold(name: str, snapshots: list[Snapshot]) -> None:
    checks = own_checks(weakest(name))
    memories = [check.initial_memory() for check in checks]
    for snapshot, publication in run(name, on_grid(snapshots)):
        entry = publication.entry(snapshot)
        boxes = entry.release.boxes
        shown = {
            (attribute, own, int(boxes.low[attribute, own]), int(boxes.high[attribute, own]))
            for attribute, own in np.ndindex(boxes.low.shape)
        }
        if entry.release.grouped:
            assert shown == hulls(entry)
        for i, check in enumerate(checks):
            verdict, memories[i] = check.examine(entry, memories[i])
            assert verdict.holds, verdict


@pytest.mark.parametrize("name", TECHNIQUES)
@given(snapshots=series())
@few
def test_the_grid_changes_no_group(name: str, snapshots: list[Snapshot]) -> None:
    """Who is published with whom is as with exact ends, except where a technique publishes rows without groups."""
    exact, aligned = run(name, snapshots), run(name, on_grid(snapshots))
    assert len(exact) == len(aligned)
    for (_, one), (_, other) in zip(exact, aligned, strict=True):
        if one.release.grouped:
            assert np.array_equal(one.release.group, other.release.group)
        assert np.array_equal(one.trace.rows, other.trace.rows)
