"""BPG: releases that stay safe together, whatever is compared, and an honest account of who is withheld."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from builders.bpg import COLUMNS, VALUES, histories, published, shown, table

from reanon_core.checks.atoms import Atoms
from reanon_core.model.errors import InvalidParameter, InvalidSchema
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.replay import replay
from reanon_core.techniques.bpg.technique import Bpg
from reanon_core.techniques.mondrian.technique import Mondrian

RNG = np.random.default_rng(0)


def test_mondrian_alone_fails_what_bpg_keeps() -> None:
    snapshots = histories(1, change=0.0, subset=0.9, leave=0.1)
    check = Atoms(k=3, ell=2)
    memory = check.initial_memory()
    holds = []
    for entry in replay(Mondrian(k=3, ell=2), snapshots, np.random.default_rng(0)).entries:
        verdict, memory = check.examine(entry, memory)
        holds.append(verdict.holds)
    assert holds[0]
    assert not holds[-1]


def test_an_atom_of_fewer_than_2k_people_that_lost_one_member_is_frozen() -> None:
    found = published(Bpg(k=2, ell=2, reserve=1), [table([1, 2, 3], [0, 1, 2]), table([1, 2, 4, 5], [0, 1, 0, 1])])
    assert shown(found[1][1]) == [{4, 5}]
    ((reason, count),) = found[1][1].withheld.items()
    assert count == 2
    assert "frozen: members of their atom left" in reason
    assert "a larger reserve" in reason


def test_a_member_of_an_atom_is_held_back_to_hide_a_person_who_left() -> None:
    found = published(
        Bpg(k=2, ell=2, reserve=1), [table([1, 2, 3, 4, 5], [0, 1, 0, 1, 2]), table([1, 2, 3, 4], [0, 1, 0, 1])]
    )
    (group,) = shown(found[1][1])
    assert len(group) == 3
    assert [reason.split(": ")[0].split(", ")[-1] for reason in found[1][1].withheld] == ["held back"]


def test_an_atom_stays_whole_as_long_as_few_enough_of_it_left() -> None:
    """Two of eight left, and could be separated: with `together: 0.25` they are published once more."""
    first, second = table([*range(8)], [0, 1] * 4), table([*range(6)], [0, 1] * 3)
    rest = {"k": 2, "ell": 2, "reserve": 4, "pool": "stored"}
    apart, less, whole = (published(Bpg(together=share, **rest), [first, second])[1][1] for share in (0.0, 0.24, 0.25))
    assert shown(apart) == shown(less) == [{*range(6)}]
    assert shown(whole) == [{*range(8)}]
    for instead in ({"pool": "alive"}, {"variant": "nodirty"}, {"max_dirty": 0.2}):
        assert shown(published(Bpg(together=1.0, **rest | instead), [first, second])[1][1]) == [{*range(6)}]


def test_whether_an_atom_stays_whole_depends_on_no_value() -> None:
    """All arrangements of the values give the same groups, as long as all of them satisfy the principle."""
    present = [[*range(12)], [*range(9)], [*range(7), 9], [0, 1, 2, 9, 10]]
    for seed in range(20):
        value = np.random.default_rng(seed).permutation([0, 1, 2] * 4)
        tables = [table(people, value[people].tolist()) for people in present]
        found = published(Bpg(k=2, ell=1, reserve=6, pool="stored", together=0.6, max_dirty=0.6), tables)
        assert [shown(publication) for _, publication in found] == [[{*range(12)}]] * 4


def test_nodirty_rejects_where_middle_extends() -> None:
    """People 1 to 4 are one atom; the second table has 4 far away from the others."""
    first, second = table([1, 2, 3, 4], [0, 1, 2, 3]), table([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 0, 1], [0, 0, 0, 9, 9, 9])
    rest = {"k": 2, "ell": 2, "reserve": 1}
    for variant in ("middle", "union"):
        assert {1, 2, 3, 4} in shown(published(Bpg(variant=variant, **rest), [first, second])[1][1])
    again = published(Bpg(variant="nodirty", **rest), [first, table([1, 2, 3], [0, 1, 2])])
    assert len(again) == 1  # nothing can be published without 4


def test_people_who_were_never_published_are_a_piece_of_their_own() -> None:
    found = published(Bpg(k=2, ell=2), [table([1, 2, 3], [0, 1, 2]), table([1, 2, 3, 4], [0, 1, 2, 3])])
    assert shown(found[1][1]) == [{1, 2, 3}]
    ((reason, count),) = found[1][1].withheld.items()
    assert (count, "new: the new people like them" in reason) == (1, True)


def test_a_split_is_tested_on_a_value_that_was_published_long_ago() -> None:
    first = table([1, 2, 3, 4], [0, 0, 1, 1])
    later = table([1, 2, 3, 4], [0, 1, 0, 1], [0, 0, 9, 9])  # near each other: 1 and 2, who had the same value
    found = published(Bpg(k=2, ell=2, reserve=1), [first, later])
    assert shown(found[1][1]) == [{1, 2, 3, 4}]


def test_more_than_a_fifth_withheld_says_so_in_every_release_and_little_does_not() -> None:
    def notes(leave: int) -> str:
        people = list(range(40))
        values = [i % 4 for i in people]
        found = published(Bpg(k=3, ell=2, reserve=13), [table(people, values), table(people[leave:], values[leave:])])
        return " ".join(found[1][1].notes)

    assert "WITHHELD" not in notes(1)
    assert not notes(4)
    first, later = table([1, 2, 3], [0, 1, 2]), table([1, 2, 4, 5, 6], [0, 1, 0, 1, 2])
    found = published(Bpg(k=3, ell=2, reserve=1), [first, later, later])
    for _, publication in found[1:]:
        assert publication.notes[0].startswith("WITHHELD: 2 OF 5 PEOPLE (40%)")
        assert "a larger reserve" in publication.notes[0]


def test_a_cause_of_withholding_is_explained_once_where_it_first_occurs() -> None:
    first, later = table([1, 2, 3], [0, 1, 2]), table([1, 2, 4, 5, 6], [0, 1, 0, 1, 2])
    found = published(Bpg(k=3, ell=2, reserve=1), [first, later, later])
    said = [[note for note in publication.notes if "for the first time" in note] for _, publication in found]
    assert [len(notes) for notes in said] == [0, 1, 0]
    assert "members of their atom left" in said[1][0]
    narrow = replace(table([1, 2, 3, 4, 5, 6], [0, 1, 2, 0, 1, 2]), selected=np.arange(6) != 2)
    found = published(Bpg(k=3, ell=2, reserve=1, max_dirty=0.1), [first, narrow, narrow])
    said = [[note for note in publication.notes if "for the first time" in note] for _, publication in found]
    assert [len(notes) for notes in said] == [0, 1, 0]
    assert "max_dirty = 0.1" in said[1][0]


def test_a_reserve_withholds_fewer_people_of_a_series_that_people_leave() -> None:
    rng = np.random.default_rng(0)
    qi, value = rng.integers(0, 10, (2, 4000)).astype(np.int32), rng.integers(0, VALUES, 4000).astype(np.int32)
    here, snapshots = np.arange(2000), []
    for turn in range(5):
        snapshots.append(Snapshot(COLUMNS, here, qi[:, here], value[here]))
        here = np.concatenate([np.sort(rng.permutation(here)[400:]), np.arange(2000 + 400 * turn, 2400 + 400 * turn)])
    share = {
        reserve: [
            len(publication.trace.persons) / snapshot.size
            for snapshot, publication in published(Bpg(k=10, ell=3, reserve=reserve), snapshots)
        ]
        for reserve in (1, 5, 15)
    }
    assert all(shares[0] == 1 for shares in share.values())
    assert all(less[-1] < more[-1] for less, more in pairwise(share.values()))
    assert share[15][-1] > 0.9


def test_the_automatic_reserve_grows_with_the_table_and_never_shrinks() -> None:
    def crowd(people: int) -> Snapshot:
        return table(list(range(people)), [i % 4 for i in range(people)], [i % 10 for i in range(people)])

    found = published(Bpg(k=2, ell=2), [crowd(54), crowd(2000), crowd(54)])
    assert [publication.state.reserve for _, publication in found] == [3, 10, 10]
    assert [publication.state.reserve for _, publication in published(Bpg(k=2, reserve=7), [crowd(54)])] == [7]
    huge = Bpg(k=2).reserve_of(crowd(20_000), found[0][1].state)
    assert huge == 20
    changed = publish(Bpg(k=2, ell=2), crowd(54), published(Bpg(k=2, reserve=7), [crowd(54)])[0][1].state, RNG)
    assert changed.state.reserve == 7


def test_groups_of_atoms_have_boxes_within_those_of_classes() -> None:
    snapshots = histories(3, change=0.0, subset=0.9, leave=0.0, people=200)
    sizes = [
        len(published(Bpg(k=3, ell=2, reserve=1, groups=groups), snapshots)[-1][1].release.boxes.low[0])
        for groups in ("atoms", "classes")
    ]
    assert sizes[0] >= sizes[1]


def test_a_principle_that_is_not_monotonous_is_refused() -> None:
    with pytest.raises(InvalidParameter) as caught:
        Bpg(k=2, ell=2, diversity="frequency", t=0.2)
    assert [problem.what for problem in caught.value.problems] == ["diversity", "t"]
    assert all("not monotonous" in problem.sentence() for problem in caught.value.problems)


def test_all_wrong_parameters_are_named_at_once() -> None:
    with pytest.raises(InvalidParameter) as caught:
        Bpg(k=1, ell=0, variant="x", pool="x", reject="x", max_dirty=2, reserve=0, over="x", groups="x")
    assert len(caught.value.problems) == 9


def test_columns_published_as_they_are_do_not_go_with_bpg() -> None:
    columns = Schema(quasi_identifiers=(QuasiIdentifier(name="a"),), sensitive=Sensitive(name="s"), other=("ward",))
    with pytest.raises(InvalidSchema, match="tell the rows of a group apart"):
        Bpg(k=2).accepts(columns)
