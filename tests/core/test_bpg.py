"""BPG: releases that stay safe together, whatever is compared, and an honest account of who is withheld."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.atoms import subsets_breached

from reanon_core.algorithms.bpg.publisher import Bpg
from reanon_core.algorithms.bpg.state import BpgState
from reanon_core.algorithms.mondrian.publisher import Mondrian
from reanon_core.checks.atoms import Atoms
from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Unpublishable
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack, unpack
from reanon_core.model.publication import Publication
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.replay import replay

PEOPLE, VALUES = 40, 4
COLUMNS = Schema(
    quasi_identifiers=(QuasiIdentifier(name="a", domain=(0, 9)), QuasiIdentifier(name="b", domain=(0, 9))),
    sensitive=Sensitive(name="s", values=tuple("uvwx")),
)


def histories(seed: int, *, change: float, subset: float, leave: float, people: int = PEOPLE) -> list[Snapshot]:
    """Five tables: people come, some leave for good, random subsets are asked for, values change."""
    rng = np.random.default_rng(seed)
    qi = rng.integers(0, 10, (2, people)).astype(np.int32)
    value = rng.integers(0, VALUES, people).astype(np.int32)
    alive = rng.random(people) < 0.7
    found = []
    for _ in range(5):
        here = np.flatnonzero(alive & (rng.random(people) < subset))
        found.append(Snapshot(COLUMNS, here, qi[:, here], value[here]))
        alive = (alive | (rng.random(people) < 0.3)) & (rng.random(people) >= leave)
        value = np.where(rng.random(people) < change, rng.integers(0, VALUES, people), value).astype(np.int32)
    return found


def published(publisher: Bpg, snapshots: list[Snapshot]) -> list[tuple[Snapshot, Publication[BpgState]]]:
    """What can be published of the series; the state goes through bytes, as in a store."""
    state, rng, found = publisher.initial_state(), np.random.default_rng(0), []
    for snapshot in snapshots:
        try:
            publication = publish(publisher, snapshot, state, rng)
        except Unpublishable:
            continue
        found.append((snapshot, publication))
        state = publisher.restored(unpack(pack(publication.state.packed())))
    return found


def entries(found: list[tuple[Snapshot, Publication[BpgState]]]) -> list[Entry]:
    return [Entry(snapshot, p.release, p.auxiliary, p.trace) for snapshot, p in found]


def require_invariants(state: BpgState, history: list[Entry], publisher: Bpg) -> None:
    """I1, I2 and I4 of the spec, with the columns taken from what was published, not from the state."""
    shown: list[dict[int, int]] = [
        dict(zip(e.trace.persons.tolist(), e.release.sensitive[e.trace.rows].tolist(), strict=True)) for e in history
    ]
    assert sorted(set().union(*shown)) == state.persons.tolist()  # I4
    starts = state.value_starts()
    for number in range(state.neighbourhoods):
        places = np.flatnonzero(state.neighbourhood == number)
        people = state.persons[places].tolist()
        assert len(people) >= publisher.k  # I1
        signature = state.releases[state.offsets[number] : state.offsets[number + 1]].tolist()
        columns = set()
        for release, values in enumerate(shown, start=1):
            assert all((person in values) == (release in signature) for person in people)  # I2
            if release in signature:
                column = tuple(values[person] for person in people)
                assert len(set(column)) >= publisher.ell  # I1
                columns.add(column)
        kept = [
            tuple(int(state.values[starts[place] + column]) for place in places)
            for column in range(state.columns[number])
        ]
        assert len(kept) == len(set(kept))
        assert set(kept) == columns


@given(
    seed=st.integers(0, 2**32 - 1),
    change=st.sampled_from([0.0, 0.1, 0.5]),
    subset=st.sampled_from([0.6, 0.9, 1.0]),
    leave=st.sampled_from([0.0, 0.1, 0.3]),
    variant=st.sampled_from(["union", "middle", "nodirty"]),
    reject=st.sampled_from(["atom", "class"]),
    groups=st.sampled_from(["atoms", "classes"]),
    reserve=st.sampled_from([1, 2, 4]),
    k=st.integers(2, 4),
    ell=st.integers(1, 3),
    cuts=st.sampled_from(["strict", "relaxed"]),
)
@settings(max_examples=400, deadline=None)
def test_no_releases_compared_give_anybody_away(  # type: ignore[no-untyped-def]
    seed, change, subset, leave, variant, reject, groups, reserve, k, ell, cuts
) -> None:
    publisher = Bpg(
        k=k, ell=ell, variant=variant, reject=reject, groups=groups, reserve=reserve, cuts=cuts, heuristic="distinct"
    )
    found = published(publisher, histories(seed, change=change, subset=subset, leave=leave))
    history = entries(found)
    assert subsets_breached(history, k, ell) == 0
    checks = [WellFormedness(), KAnonymity(k=k), Atoms(k=k, ell=ell)]
    for check in checks:
        memory = check.initial_memory()
        for entry in history:
            verdict, memory = check.examine(entry, memory)
            assert verdict.holds, verdict
    for end, (snapshot, publication) in enumerate(found, start=1):
        require_invariants(publication.state, history[:end], publisher)
        assert publication.auxiliary.total == 0
        assert len(publication.trace.persons) + sum(publication.withheld.values()) == snapshot.size


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


def table(people: list[int], values: list[int], place: list[int] | None = None) -> Snapshot:
    qi = np.array([place or [0] * len(people), [0] * len(people)], np.int32)
    return Snapshot(COLUMNS, np.array(people, np.int64), qi, np.array(values, np.int32))


def shown(publication: Publication[BpgState]) -> list[set[int]]:
    """The people of each group, in the order of their least member."""
    release, trace = publication.release, publication.trace
    groups: dict[int, set[int]] = {}
    for person, row in zip(trace.persons.tolist(), trace.rows.tolist(), strict=True):
        groups.setdefault(int(release.group[row]), set()).add(person)
    return sorted(groups.values(), key=min)


def test_a_neighbourhood_that_lost_one_member_is_frozen_below_two_k() -> None:
    found = published(Bpg(k=2, ell=2, reserve=1), [table([1, 2, 3], [0, 1, 2]), table([1, 2, 4, 5], [0, 1, 0, 1])])
    assert shown(found[1][1]) == [{4, 5}]
    ((reason, count),) = found[1][1].withheld.items()
    assert count == 2
    assert "frozen: neighbours of theirs left" in reason
    assert "a larger reserve" in reason


def test_a_neighbour_is_held_back_to_hide_somebody_who_left() -> None:
    found = published(
        Bpg(k=2, ell=2, reserve=1), [table([1, 2, 3, 4, 5], [0, 1, 0, 1, 2]), table([1, 2, 3, 4], [0, 1, 0, 1])]
    )
    (group,) = shown(found[1][1])
    assert len(group) == 3
    assert [reason.split(": ")[0].split(", ")[-1] for reason in found[1][1].withheld] == ["held back"]


def test_nodirty_rejects_where_middle_extends() -> None:
    """People 1 to 4 are one neighbourhood; the second table has 4 far away from the others."""
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
    assert (count, "new: those like them" in reason) == (1, True)


def test_a_split_is_tested_on_a_value_that_was_published_long_ago() -> None:
    first = table([1, 2, 3, 4], [0, 0, 1, 1])
    later = table([1, 2, 3, 4], [0, 1, 0, 1], [0, 0, 9, 9])  # near each other: 1 and 2, who had the same value
    found = published(Bpg(k=2, ell=2, reserve=1), [first, later])
    assert shown(found[1][1]) == [{1, 2, 3, 4}]


def test_more_than_a_fifth_withheld_says_so_and_little_does_not() -> None:
    def withheld(leave: int) -> str:
        people = list(range(40))
        values = [i % 4 for i in people]
        found = published(Bpg(k=3, ell=2, reserve=13), [table(people, values), table(people[leave:], values[leave:])])
        return " ".join(found[1][1].withheld)

    assert "MORE THAN 20%" not in withheld(1)
    assert not withheld(4)
    few = published(Bpg(k=3, ell=2, reserve=1), [table([1, 2, 3], [0, 1, 2]), table([1, 2, 4, 5, 6], [0, 1, 0, 1, 2])])
    assert next(iter(few[1][1].withheld)).startswith("MORE THAN 20% OF THE TABLE IS WITHHELD")


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


def test_groups_of_atoms_have_boxes_within_those_of_classes() -> None:
    snapshots = histories(3, change=0.0, subset=0.9, leave=0.0, people=200)
    sizes = [
        len(published(Bpg(k=3, ell=2, reserve=1, groups=groups), snapshots)[-1][1].release.boxes.low[0])
        for groups in ("atoms", "classes")
    ]
    assert sizes[0] >= sizes[1]


def test_what_needs_people_outside_the_table_is_refused_for_now() -> None:
    with pytest.raises(InvalidParameter, match="comes with select:"):
        Bpg(k=2, pool="stored")
    with pytest.raises(InvalidParameter, match="comes with select:"):
        Bpg(k=2, variant="ghost")


def test_a_principle_that_is_not_monotonous_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="unions are not safe"):
        Bpg(k=2, ell=2, diversity="frequency")


def test_all_wrong_parameters_are_named_at_once() -> None:
    with pytest.raises(InvalidParameter) as caught:
        Bpg(k=1, ell=0, variant="x", pool="x", reject="x", max_dirty=2, reserve=0, over="x", groups="x")
    assert len(caught.value.problems) == 9


def test_columns_published_as_they_are_do_not_go_with_bpg() -> None:
    columns = Schema(quasi_identifiers=(QuasiIdentifier(name="a"),), sensitive=Sensitive(name="s"), other=("ward",))
    with pytest.raises(InvalidSchema, match="tells the rows of a group apart"):
        Bpg(k=2).accepts(columns)
