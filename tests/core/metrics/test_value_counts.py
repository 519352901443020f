"""What becomes of the people with each value: against counting one by one, and the brakes that rest on it."""

from random import Random

import numpy as np
import pytest
from oracles.builders import plain_schema, random_entry

from reanon_core import brakes
from reanon_core.brakes import Limits
from reanon_core.catalog import METRICS, build_technique
from reanon_core.metrics.value_counts import ValueCounts, value_counts
from reanon_core.model.ledger import Entry
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple


def wave(balancing: str, *, decoupled: bool = False) -> Entry:
    """The second release of 600 people, in which half of 300 newcomers have the first of six values."""
    technique = build_technique("m-invariance", {"m": 3, "balancing": balancing, "regions": "none"})
    rng = np.random.default_rng(3)
    qi, values = rng.integers(0, 60, (2, 600)).astype(np.int32), np.arange(600, dtype=np.int32) % 6
    values[300:450] = 0
    schema, people = plain_schema(values=6), np.arange(600)
    tables = [Snapshot(schema, people[:size], qi[:, :size], values[:size]) for size in (300, 600)]
    return replay(decouple(technique, 5) if decoupled else technique, tables, rng).entries[-1]


def one_by_one(entry: Entry) -> list[tuple[int, int, int, float]]:
    """People, withheld, invented and counted of each value, from the rows of each group."""
    snapshot, release, trace = entry.snapshot, entry.release, entry.trace
    fakes = dict(zip(entry.auxiliary.group.tolist(), entry.auxiliary.count.tolist(), strict=True))
    groups = release.group.tolist()
    found = []
    for value in range(len(snapshot.schema.sensitive.values)):
        people = [one for one, own in zip(snapshot.persons, snapshot.sensitive, strict=True) if own == value]
        shown = [one for one in people if one in trace.persons]
        rows = [group for group, own in zip(groups, release.sensitive, strict=True) if own == value]
        reader = sum(1 - fakes.get(group, 0) / groups.count(group) for group in rows)
        found.append((len(people), len(people) - len(shown), len(rows) - len(shown), reader))
    return found


def of(counts: ValueCounts) -> list[tuple[int, int, int, float]]:
    columns = (counts.people, counts.withheld, counts.invented, counts.counted)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_every_number_is_what_counting_one_by_one_gives(seed: int) -> None:
    entry = random_entry(Random(seed), plain_schema())
    assert np.allclose(of(value_counts(entry)), one_by_one(entry))


@pytest.mark.parametrize("balancing", ["median", "blind"])
@pytest.mark.parametrize("decoupled", [False, True], ids=["boxes", "decoupled"])
def test_a_value_is_lost_where_people_are_withheld_and_where_counterfeits_outnumber_it(
    balancing: str, decoupled: bool
) -> None:
    entry = wave(balancing, decoupled=decoupled)
    counts = value_counts(entry)
    assert np.allclose(of(counts), one_by_one(entry))
    assert counts.withheld.sum() == entry.withheld == (0 if balancing == "blind" else counts.withheld[0])
    assert counts.counted.sum() == pytest.approx(600 - entry.withheld)
    assert counts.lost[0] == counts.worst_loss == METRICS["value-loss"]().measure(entry, np.random.default_rng(0))
    assert counts.worst_loss > 0.2  # with `blind` no one is withheld, and a reader still misses them
    assert counts.changed[0] < -0.1
    assert counts.rows()[0]["value"] == "v0"


def test_a_release_that_loses_much_trips_every_brake_at_once_and_says_what_may_still_be_done() -> None:
    entry = wave("median")
    given = entry, value_counts(entry), Limits()
    tripped, notes = brakes.losses(*given, begins=True, error=0.2, error_before=0.09)
    assert [brake.sentence.split(":")[0].split(",")[0] for brake in tripped] == [
        "more than 20% of the people with some value of s would be lost",
        f"the release would withhold {entry.withheld} of 600 people",
        "a typical count would be off by 20.0%",
    ]
    assert notes == ()
    assert all("v0" not in brake.redacted for brake in tripped)
    assert "weaker parameters" in tripped[-1].advice
    tripped, _ = brakes.losses(*given, begins=False)
    assert "weaker parameters" not in tripped[-1].advice
    assert "accept it" in tripped[-1].advice
    assert sum(bool(brake.advice) for brake in tripped) == 1


def test_no_limit_trips_nothing_and_little_is_no_loss() -> None:
    entry = wave("median")
    assert brakes.losses(entry, value_counts(entry), Limits(None, None, None), begins=True)[0] == ()
    limits = Limits(None, None)
    for error, before, tripped in ((0.049, 0.01, 0), (0.051, 0.01, 1), (0.2, 0.1, 0), (0.2, None, 0), (None, 0.1, 0)):
        found, _ = brakes.losses(entry, None, limits, begins=False, error=error, error_before=before)
        assert len(found) == tripped


def test_what_few_people_lose_is_a_note_without_the_value() -> None:
    few = wave("median")
    counts = value_counts(few)
    small = ValueCounts(counts.values, counts.people // 20, counts.withheld // 20, counts.invented, counts.counted / 20)
    assert small.people[0] < 50
    assert small.worst_loss == small.worst_change == 0.0
    tripped, notes = brakes.losses(few, small, Limits(withheld=None), begins=False)
    assert tripped == ()
    assert notes == ("more than 20% of the people with some value of s would be lost (1 value)",)
