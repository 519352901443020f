"""The running example of [XT07], phase by phase, with the golden results of Figure 2 and Table 3."""

import numpy as np
import pytest

from papers.XT07.example import BRO, DYS, FLU, GAS, NAMES, PERSON, SECOND, snapshot, state_after_table_1b
from reanon_core.bucketing.assignment import assign
from reanon_core.bucketing.balancing import balance
from reanon_core.bucketing.division import NEW, divide
from reanon_core.bucketing.signatures import Signatures
from reanon_core.publishing import publish
from reanon_core.techniques.m_invariance.technique import MInvariance

BUC1, BUC2, BUC3, BUC4 = (GAS, FLU), (GAS, DYS), (DYS, BRO), (GAS, DYS, FLU)


TABLE_3A = {("Bob",), ("David", "Emily"), ("Gary", "Mary"), ("Jane", "Linda"), ("Ray", "Steve"), ("Tom", "Vince")}


def counts(*, flu: int = 0, gas: int = 0, dys: int = 0, bro: int = 0) -> np.ndarray:
    return np.array([gas, dys, flu, bro], dtype=np.int64)


def after_division() -> tuple[Signatures, np.ndarray]:
    """The buckets of Figure 2a and how many old rows each slot holds."""
    table, state = snapshot(SECOND), state_after_table_1b()
    division = divide(table, state.roster, state.signatures)
    old = division.entry != NEW
    slot = state.signatures.slots(state.roster.signature[division.entry[old]], table.sensitive[old])
    return state.signatures, np.bincount(slot, minlength=len(state.signatures.values))


def by_signature(signatures: Signatures, per_slot: np.ndarray) -> dict[tuple[int, ...], dict[int, int]]:
    listed: dict[tuple[int, ...], dict[int, int]] = {}
    for number, signature in enumerate(signatures.tuples):
        part = per_slot[signatures.offsets[number] : signatures.offsets[number + 1]]
        listed[signature] = {value: int(n) for value, n in zip(signature, part, strict=True) if n}
    return listed


def test_division_puts_the_old_rows_into_the_buckets_of_figure_2a() -> None:
    signatures, old = after_division()
    assert by_signature(signatures, old) == {
        BUC1: {FLU: 1, GAS: 1},  # Gary, David
        BUC2: {GAS: 1},  # Steve
        BUC3: {DYS: 1},  # Bob
        BUC4: {DYS: 1, GAS: 1},  # Jane, Linda
    }


def test_balancing_takes_ray_and_adds_the_two_counterfeits_of_figure_2b() -> None:
    signatures, old = after_division()
    taken, counterfeits = balance(signatures, old, counts(flu=2, gas=2, dys=1), 2)
    assert by_signature(signatures, taken) == {BUC1: {}, BUC2: {DYS: 1}, BUC3: {}, BUC4: {}}  # Ray
    assert by_signature(signatures, counterfeits) == {BUC1: {}, BUC2: {}, BUC3: {BRO: 1}, BUC4: {FLU: 1}}


def test_balancing_in_the_order_buc1_buc4_buc2_buc3_gives_the_other_golden_result() -> None:
    """With values numbered flu, gas, dys, bro the ascending order of buckets is that one."""
    flu, gas, dys, bro = range(4)
    signatures = Signatures.of([(flu, gas), (gas, dys), (dys, bro), (flu, gas, dys)])
    old = np.array([1, 1, 1, 0, 1, 0, 0, 1, 1])
    taken, counterfeits = balance(signatures, old, np.array([2, 2, 1, 0]), 2)
    assert by_signature(signatures, taken)[(flu, gas, dys)] == {flu: 1}  # the real flu, Emily
    assert by_signature(signatures, counterfeits)[(gas, dys)] == {dys: 1}  # a counterfeit dyspepsia
    assert by_signature(signatures, counterfeits)[(dys, bro)] == {bro: 1}
    assert int(counterfeits.sum()) == 2


def test_assignment_needs_one_iteration_with_alpha_2_and_beta_2() -> None:
    signatures = Signatures.of([BUC3, BUC4, BUC2, BUC1])
    for how in ("paper", "stable", "deep"):
        extended, layers = assign(signatures, np.array([1, 1, 1, 1]), counts(flu=2, gas=2), 2, how)
        assert extended.count == 4
        assert layers.tolist() == [0, 0, 0, 2]


def names(people: np.ndarray) -> tuple[str, ...]:
    return tuple(sorted(NAMES[person] for person in people))


@pytest.mark.parametrize("assignment", ["paper", "stable", "deep"])
def test_the_second_release_has_the_groups_of_table_3a(assignment: str) -> None:
    table = snapshot(SECOND)
    for seed in range(10):
        technique = MInvariance(m=2, assignment=assignment, balancing="filled")
        publication = publish(technique, table, state_after_table_1b(), np.random.default_rng(seed))
        group = publication.release.group[publication.trace.rows]
        hosted = {names(publication.trace.persons[group == one]): one for one in np.unique(group)}
        assert set(hosted) == TABLE_3A
        assert sorted(publication.auxiliary.group) == sorted([hosted["Bob",], hosted["Jane", "Linda"]])
        assert publication.auxiliary.count.tolist() == [1, 1]


def test_with_blind_balancing_the_second_release_is_one_of_four_with_three_counterfeits() -> None:
    """Ray no longer fills Steve's group; the groups of Bob, and of David and Emily, come up in some of the draws."""
    releases = set()
    for seed in range(40):
        publication = publish(MInvariance(m=2), snapshot(SECOND), state_after_table_1b(), np.random.default_rng(seed))
        group = publication.release.group[publication.trace.rows]
        releases.add(frozenset(names(publication.trace.persons[group == one]) for one in np.unique(group)))
        assert publication.auxiliary.total == 3
    assert len(releases) == 4
    assert all(("Bob",) in groups for groups in releases)
    assert sum(("David", "Emily") in groups for groups in releases) == 2


def test_a_person_alone_among_counterfeits_gets_an_interval_of_the_least_width() -> None:
    publication = publish(MInvariance(m=2), snapshot(SECOND), state_after_table_1b(), np.random.default_rng(0))
    row = publication.trace.rows[publication.trace.persons == PERSON["Bob"]][0]
    group = publication.release.group[row]
    boxes = publication.release.boxes
    assert [int(boxes.low[0, group]), int(boxes.high[0, group])] == [21, 22]
    assert [int(boxes.low[1, group]), int(boxes.high[1, group])] == [12, 13]
