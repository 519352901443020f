"""Queries, dirty records, people who left, invented ones, and partitioners of other people."""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from builders.bpg import entries, histories, published, shown, table
from oracles.atoms import subsets_breached

from reanon_core.checks.atoms import Atoms
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.model.errors import InvalidParameter, Refused, Unpublishable
from reanon_core.model.ledger import Entry
from reanon_core.model.publication import Publication
from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.snapshot import INVENTED, REMEMBERED, Snapshot
from reanon_core.publishing import publish
from reanon_core.techniques.bpg.state import BpgState
from reanon_core.techniques.bpg.technique import Bpg

FOUR = table([1, 2, 3, 4], [0, 1, 2, 3])
THREE = table([1, 2, 3], [0, 1, 2])


def asking(snapshot: Snapshot, people: set[int]) -> Snapshot:
    return replace(snapshot, selected=np.isin(snapshot.persons, list(people)))


def test_people_who_are_not_selected_are_published_only_if_needed() -> None:
    found = published(Bpg(k=2, ell=2, reserve=1), [FOUR, asking(FOUR, {1, 2})])
    assert shown(found[1][1]) == [{1, 2}]
    assert entries(found)[1].dirty == 0


def test_a_dirty_record_is_added_where_one_alone_would_stay() -> None:
    found = published(Bpg(k=2, ell=2, reserve=1), [FOUR, asking(FOUR, {1, 2, 3})])
    assert shown(found[1][1]) == [{1, 2, 3, 4}]
    assert entries(found)[1].dirty == 1


def test_max_dirty_binds_and_the_reason_names_it() -> None:
    rest = {"k": 2, "ell": 2, "reserve": 1}
    two = asking(table([1, 2, 3, 5, 6], [0, 1, 2, 0, 1]), {1, 2, 5, 6})
    assert shown(published(Bpg(**rest, max_dirty=0.34), [THREE, two])[1][1]) == [{1, 2, 3}, {5, 6}]
    tight = published(Bpg(**rest, max_dirty=0.33), [THREE, two])[1][1]
    assert shown(tight) == [{5, 6}]
    ((reason, count),) = tight.withheld.items()
    assert count == 2
    assert reason.startswith("too dirty: more than max_dirty = 0.33")


def test_where_an_extension_is_too_dirty_some_selected_people_are_held_back_instead() -> None:
    people = list(range(8))
    everyone = table(people, [i % 4 for i in people])
    rest = {"k": 3, "ell": 2, "reserve": 1, "max_dirty": 0.0}
    publication = published(Bpg(**rest), [everyone, asking(everyone, set(range(7)))])[1][1]
    assert len(publication.trace.persons) == 5
    assert [reason.split(":")[0] for reason in publication.withheld] == ["held back"]


def test_people_who_were_never_published_and_are_not_selected_are_not_touched() -> None:
    more = table([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 0, 1])
    publication = published(Bpg(k=2, ell=2, reserve=1), [FOUR, asking(more, {1, 2, 3, 4, 5})])[1][1]
    assert shown(publication) == [{1, 2, 3, 4}]


def test_a_query_that_selects_no_one_gives_an_empty_release() -> None:
    publication = published(Bpg(k=2, ell=2), [asking(FOUR, set())])[0][1]
    assert publication.release.size == 0
    assert not publication.withheld


def test_a_person_who_left_is_published_once_more_with_their_last_values() -> None:
    """3 had the value 2, then 3; the place of 3 widens the box."""
    first, second = table([1, 2, 3], [0, 1, 2], [0, 0, 5]), table([1, 2, 3], [0, 1, 3], [0, 0, 9])
    left = table([1, 2], [0, 1])
    found = published(Bpg(k=2, ell=2, reserve=1, pool="stored"), [first, second, left])
    assert shown(found[2][1]) == [{1, 2, 3}]
    entry = entries(found)[2]
    place = entry.snapshot.persons.tolist().index(3)
    assert entry.snapshot.origin is not None
    assert entry.snapshot.origin[place] == REMEMBERED
    assert entry.snapshot.sensitive[place] == 3
    assert entry.release.boxes.high[0].tolist() == [9]
    assert (entry.dirty, entry.auxiliary.total) == (1, 0)
    alive = published(Bpg(k=2, ell=2, reserve=1, pool="alive"), [first, second, left])
    assert len(alive) == 2  # nothing can be published without 3


def test_a_person_who_returned_has_their_own_value_again() -> None:
    away, back = table([1, 2], [0, 1]), table([1, 2, 3], [0, 1, 3])
    found = published(Bpg(k=2, ell=2, reserve=1, pool="stored"), [THREE, away, back, away])
    values = [
        dict(zip(e.snapshot.persons.tolist(), e.snapshot.sensitive.tolist(), strict=True))[3] for e in entries(found)
    ]
    assert values == [2, 2, 3, 3]


def test_a_ghost_replaces_a_person_who_left_and_counts_as_a_counterfeit() -> None:
    first, left = table([1, 2, 3], [0, 1, 2], [0, 0, 9]), table([1, 2], [0, 1])
    found = published(Bpg(k=2, ell=2, reserve=1, variant="ghost"), [first, left])
    entry = entries(found)[1]
    assert shown(found[1][1]) == [{1, 2, 3}]
    assert (entry.dirty, entry.auxiliary.total, entry.release.size) == (0, 1, 3)
    assert entry.release.boxes.high[0].tolist() == [0]  # it has no place of its own
    assert entry.presence().persons.tolist() == [1, 2]
    assert found[1][1].notes == (
        "1 row is invented (ghost): an adversary who knows who left can see through them (docs/guarantees.md)",
    )
    again = published(Bpg(k=2, ell=2, reserve=1, pool="stored"), [first, left, left])  # the ghost left no mark on 3
    mixed = publish(Bpg(k=2, ell=2, reserve=1, pool="stored"), left, found[1][1].state, np.random.default_rng(0))
    assert mixed.record_pool is not None
    assert mixed.record_pool.sensitive.tolist() == entries(again)[2].snapshot.sensitive.tolist() == [0, 1, 2]


def test_too_few_newcomers_are_joined_by_invented_ones_with_other_values() -> None:
    lonely = table([7, 8], [1, 1])
    found = published(Bpg(k=3, ell=2, reserve=1, variant="ghost"), [lonely])
    entry = entries(found)[0]
    assert (entry.release.size, entry.auxiliary.total) == (3, 1)
    assert len(set(entry.release.sensitive.tolist())) == 2
    later = published(Bpg(k=3, ell=2, reserve=1, variant="ghost"), [lonely, lonely, lonely])
    people = [entry.trace.persons.tolist() for entry in entries(later)]
    assert people[0] == people[1] == people[2]  # the invented one is met again
    assert subsets_breached(entries(later), 3, 2) == 0
    assert not published(Bpg(k=3, ell=2, reserve=1, variant="ghost", max_dirty=0.3), [lonely])


def test_an_invented_newcomer_never_comes_back_as_a_real_person() -> None:
    lonely = table([7, 8], [1, 1])
    rest = {"k": 3, "ell": 2, "reserve": 1}
    first = published(Bpg(variant="ghost", **rest), [lonely])[0][1]
    assert (first.state.last_value < 0).sum() == 1
    with pytest.raises(Unpublishable):
        publish(Bpg(pool="stored", **rest), lonely, first.state, np.random.default_rng(0))
    again = publish(Bpg(variant="ghost", **rest), lonely, first.state, np.random.default_rng(0))
    assert again.auxiliary.total == 1


def invented_values(found: list[tuple[Snapshot, Publication[BpgState]]]) -> list[dict[int, int]]:
    """The invented value of each person in each release."""
    return [
        {int(pool.persons[row]): int(pool.sensitive[row]) for row in np.flatnonzero(pool.invented)}
        for _, publication in found
        if (pool := publication.record_pool) is not None
    ]


def test_a_ghost_keeps_its_value_so_that_two_releases_do_not_tell_which_row_is_invented() -> None:
    people = list(range(1, 13))
    everyone, stayed = table(people, [i % 4 for i in people]), table(people[:8], [i % 4 for i in people[:8]])
    for technique, snapshots in (
        (Bpg(k=12, ell=2, reserve=1, variant="ghost"), [everyone, stayed, stayed, stayed]),
        (Bpg(k=5, ell=3, reserve=1, variant="ghost"), [table([7, 8, 9], [1, 1, 1])] * 4),
    ):
        releases = [values for values in invented_values(published(technique, snapshots)) if values]
        assert len(releases) >= 3
        assert all(values == releases[0] for values in releases)


def test_a_ghost_gets_another_value_only_where_its_atom_would_have_too_few() -> None:
    first, left = table([1, 2, 3], [0, 1, 2]), table([1, 2], [0, 1])
    technique = Bpg(k=2, ell=2, reserve=1, variant="ghost")
    (_, before), (_, after) = published(technique, [first, left])
    (value,) = invented_values([(left, after)])[0].values()
    same = table([1, 2], [value, value])  # now the atom has one value, with or without its ghost
    again = publish(technique, same, after.state, np.random.default_rng(1))
    (other,) = invented_values([(same, again)])[0].values()
    assert other != value
    assert not len(before.state.ghost_value)


def test_a_person_who_returns_has_no_ghost_any_more() -> None:
    left = table([1, 2], [0, 1])
    found = published(Bpg(k=2, ell=2, reserve=1, variant="ghost"), [THREE, left, THREE])
    assert (found[1][1].state.ghost_value >= 0).sum() == 1
    assert not len(found[2][1].state.ghost_value)


class Keys:
    """A generator that draws keys of 128 bits and nothing else: its own numbers cannot be published."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def integers(self, low: int, high: int, *, size: int, dtype: type) -> np.ndarray:
        assert (low, high, size, dtype) == (0, 2**64, 2, np.uint64)
        return self._rng.integers(low, high, size=size, dtype=dtype)


def test_no_number_of_the_generator_is_published_only_functions_of_fresh_keys() -> None:
    people = list(range(1, 13))
    everyone, stayed = table(people, [i % 4 for i in people]), table(people[:8], [i % 4 for i in people[:8]])
    technique = Bpg(k=12, ell=2, reserve=1, variant="ghost")
    seen = set()
    for seed in range(8):
        first = publish(technique, everyone, technique.initial_state(), cast("np.random.Generator", Keys(seed)))
        second = publish(technique, stayed, first.state, cast("np.random.Generator", Keys(seed + 100)))
        seen.add(tuple(invented_values([(stayed, second)])[0].values()))
    assert len(seen) >= 6  # of 256
    lonely = table([7, 8], [1, 1])
    found = publish(
        Bpg(k=6, ell=2, reserve=1, variant="ghost", max_dirty=1.0),
        lonely,
        technique.initial_state(),
        cast("np.random.Generator", Keys(0)),
    )
    assert found.auxiliary.total == 4


def test_a_ghost_that_is_not_counted_is_seen() -> None:
    found = published(Bpg(k=2, ell=2, reserve=1, variant="ghost"), [THREE, table([1, 2], [0, 1])])
    entry = entries(found)[1]
    assert WellFormedness().examine(entry, {})[0].holds
    silent = Entry(entry.snapshot, entry.release, Auxiliary.none(), entry.trace)
    assert WellFormedness().examine(silent, {})[0].observed["groups with a wrong number of counterfeits"] == 1
    assert entry.snapshot.origin is not None
    real = replace(entry.snapshot, origin=np.where(entry.snapshot.origin == INVENTED, REMEMBERED, 0))
    assert not WellFormedness().examine(Entry(real, entry.release, entry.auxiliary, entry.trace), {})[0].holds


def test_a_remembered_row_with_a_value_never_published_is_seen() -> None:
    found = published(Bpg(k=2, ell=2, reserve=1, pool="stored"), [THREE, table([1, 2], [0, 1])])
    check = Atoms(k=2, ell=2)
    first, second = entries(found)
    _, memory = check.examine(first, check.initial_memory())
    assert check.examine(second, memory)[0].holds
    row = second.trace.rows[second.trace.persons.tolist().index(3)]
    values = second.release.sensitive.copy()
    values[row] = 3
    forged = Entry(
        second.snapshot, Release(second.release.group, values, second.release.boxes), second.auxiliary, second.trace
    )
    verdict = check.examine(forged, memory)[0]
    assert verdict.violations == verdict.observed["people not in the table with a value never published of them"] == 1


def test_a_technique_that_publishes_from_another_table_is_refused() -> None:
    ((snapshot, publication),) = published(Bpg(k=2, ell=2), [FOUR])
    assert publication.entry(snapshot).snapshot.size == 4
    forged = replace(snapshot, sensitive=snapshot.sensitive[::-1])
    with pytest.raises(Refused, match="not made from its snapshot"):
        replace(publication, record_pool=forged).entry(snapshot)
    with pytest.raises(Refused, match="not made from its snapshot"):
        replace(publication, record_pool=asking(snapshot, {1})).entry(snapshot)


@pytest.mark.parametrize("pool", ["alive", "stored"])
def test_an_odd_partitioner_is_made_safe(pool: str) -> None:
    def by_parity(snapshot: Snapshot, rng: np.random.Generator) -> list[int]:
        """Neither connected, nor large enough, nor the same from one release to the next; and some are left out."""
        odd, left_out = rng.integers(5, 900), rng.random(snapshot.size) < 0.2
        return [-1 if out else int(code) % 7 * odd for code, out in zip(snapshot.qi.sum(axis=0), left_out, strict=True)]

    technique = Bpg(k=3, ell=2, reserve=1, over=by_parity, pool=pool)
    reasons: list[str] = []
    for seed in range(25):
        found = published(technique, histories(seed, change=0.1, subset=0.9, leave=0.1, ask=None if seed % 2 else 0.7))
        assert subsets_breached(entries(found), 3, 2) == 0
        for snapshot, publication in found:
            assert publication.entry(snapshot).withheld == sum(publication.withheld.values())
        reasons += [reason for _, publication in found for reason in publication.withheld]
    assert any(reason.startswith("left out") for reason in reasons)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda s, _: np.zeros(s.size), "float64 of shape"),
        (lambda s, _: np.zeros(s.size + 1, int), "shape (5,)"),
        (lambda s, _: ["a"] * s.size, "must return one whole number for each of the 4 rows"),
        (lambda _, __: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_partitioner_that_breaks_its_contract_gives_a_clear_error(given, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter) as caught:
        published(Bpg(k=2, over=given), [FOUR])
    assert said in str(caught.value)
    assert "over: " in str(caught.value)
