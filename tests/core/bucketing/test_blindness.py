"""The lemmas of reanon_core/bucketing/PROOF.md: no step of blind balancing tells the values of a bucket apart."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reanon_core.bucketing import new_rows, phases
from reanon_core.bucketing.balancing import balance_blindly
from reanon_core.bucketing.bucket_split import split_buckets
from reanon_core.bucketing.count_plan import CountPlan, assign_new_rows, balance_buckets
from reanon_core.bucketing.division import NO_EPISODE, Roster, block_choice, partition_of_values
from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.layout import lay_out
from reanon_core.bucketing.new_rows import unblocked_rows
from reanon_core.bucketing.phases import DividedRows, divide_rows, move_rows
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.errors import Unpublishable
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.attribute_scales import grown_extent, length_scales
from reanon_core.techniques.cor_split.bucket_partition import Buckets, partition_buckets
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance, MInvarianceState

VALUES = 5


def schema() -> Schema:
    return Schema(
        quasi_identifiers=(QuasiIdentifier(name="age"), QuasiIdentifier(name="zip")),
        sensitive=Sensitive(name="disease", values=tuple(f"d{i}" for i in range(VALUES))),
    )


def snapshots(seed: int, *, episodes: bool, releases: int = 4, people: int = 24) -> list[Snapshot]:
    """People who come, leave and return; newcomers often have one value too often, and values may change."""
    rng = np.random.default_rng(seed)
    size = people * releases
    value = rng.choice(VALUES, size, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    qi = rng.integers(0, 12, (2, size)).astype(np.int32)
    listed = []
    for release in range(releases):
        here = np.sort(rng.choice((release + 1) * people, people, replace=False))
        if episodes:
            moved = rng.random(size) < 0.1
            value = np.where(moved, rng.integers(0, VALUES, size), value)
        listed.append(Snapshot(schema(), here, qi[:, here], value[here].astype(np.int32)))
    return listed


def relabelled(snapshot: Snapshot, signature: np.ndarray, bucket: int, mapping: np.ndarray) -> Snapshot:
    """The same people, those of one bucket with other values."""
    inside = signature == bucket
    return replace(snapshot, sensitive=np.where(inside, mapping[snapshot.sensitive], snapshot.sensitive))


def counts_of(technique: MInvariance, snapshot: Snapshot, state: MInvarianceState) -> tuple[DividedRows, CountPlan]:
    """Phases 1 to 3, always with the same draw of blocks."""
    divided = divide_rows(snapshot, state, technique, np.random.default_rng(0))
    balanced = balance_buckets(divided.counts, technique.m, technique.balancing)
    return divided, assign_new_rows(divided.counts, balanced, technique.m, technique.assignment)


@pytest.mark.parametrize("assignment", ["paper", "stable", "deep"])
@given(seed=st.integers(0, 2**32 - 1), episodes=st.booleans(), shift=st.integers(1, VALUES - 1))
@example(seed=1959, episodes=True, shift=1)
@settings(max_examples=25, deadline=None)
def test_phases_1_to_3_decide_the_same_for_a_relabelled_bucket(
    assignment: str, seed: int, episodes: bool, shift: int
) -> None:
    """Lemmas 1 to 5 and 8: one bucket of one release is relabelled, with all that the state remembers of it."""
    change = "episode" if episodes else "refuse"
    technique = MInvariance(
        m=2, assignment=assignment, not_eligible="blocks", on_sensitive_change=change, balancing="blind"
    )
    state, rng = technique.initial_state(), np.random.default_rng(seed)
    for snapshot in snapshots(seed, episodes=episodes):
        try:
            plan = technique.plan(snapshot, state, rng)
        except Unpublishable:
            return
        divided, counts = counts_of(technique, snapshot, state)
        in_layers = not divided.counts.blocked.any()  # otherwise the draw of blocks may differ: a lemma of its own
        for bucket in np.unique(plan.signature[plan.signature >= 0]) if in_layers else ():
            first, last = plan.signatures.offsets[bucket], plan.signatures.offsets[bucket + 1]
            values = plan.signatures.values[first:last]
            mapping = np.arange(VALUES, dtype=np.int32)
            mapping[values] = np.roll(values, shift)
            was_here = (state.roster.signature == bucket) & (state.roster.sensitive != NO_EPISODE)
            roster = replace(
                state.roster,
                sensitive=np.where(was_here, mapping[state.roster.sensitive], state.roster.sensitive),
            )
            other = relabelled(snapshot, plan.signature, bucket, mapping)
            divided_other, counts_other = counts_of(technique, other, replace(state, roster=roster))
            moved = np.arange(len(plan.signatures.values))
            moved[first:last] = first + np.searchsorted(values, mapping[values])
            assert divided_other.division.entry.tolist() == divided.division.entry.tolist()
            assert divided_other.stranded == divided.stranded
            assert counts_other.signatures.tuples == counts.signatures.tuples
            assert divided_other.counts.pool.tolist() == divided.counts.pool.tolist()
            assert counts_other.taken.tolist() == counts.taken.tolist()
            assert counts_other.counterfeits[moved].tolist() == counts.counterfeits.tolist()
        state = technique.advance(state, snapshot, plan)


@pytest.mark.parametrize("how", ["blind", "median"])
@given(counts=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_counterfeits_follow_a_permutation_of_the_counts_of_a_bucket(how: Any, counts: list[list[int]]) -> None:
    """Lemma 3, and the people who are withheld follow it too."""
    signatures = Signatures.of([tuple(range(3 * at, 3 * at + 3)) for at in range(len(counts))])
    old = np.array(counts, np.int64).ravel()
    balanced = balance_blindly(signatures, old, how)
    for order in permutations(range(3)):
        turned = old.copy()
        turned[:3] = old[list(order)]
        for before, after in zip(balanced, balance_blindly(signatures, turned, how), strict=True):
            assert after[:3].tolist() == before[list(order)].tolist()
            assert after[3:].tolist() == before[3:].tolist()
    lacking, surplus = balanced
    assert (lacking >= 0).all()
    assert how == "median" or not surplus.any()
    for three, low, high in zip(old.reshape(-1, 3), lacking.reshape(-1, 3), surplus.reshape(-1, 3), strict=True):
        assert set(three + low - high) == {max(three) if how == "blind" else sorted(three)[1]}


def ranks(order: tuple[int, ...]) -> np.ndarray:
    """Keys whose ascending order is this one."""
    keys = np.empty(len(order), np.uint64)
    keys[list(order)] = np.arange(len(order), dtype=np.uint64) << np.uint64(40)
    return keys


Slots = tuple[tuple[int, ...], ...]


def layouts(sensitive: list[int], old_slot: int, *, one_key: bool = False) -> Counter[Slots]:
    """What every slot may hold, in order, for every draw: the buckets {0, 1} and {0, 2} take one layer each.

    Row 0 is old and in this slot; the other four are new.
    """
    found: Counter[Slots] = Counter()
    rows = len(sensitive)
    for order in permutations(range(rows)):
        for allocation in permutations(range(1, rows)):
            layout = lay_out(
                values=np.array([0, 1, 0, 2], np.int32),
                old_slot=np.array([old_slot, *[-1] * (rows - 1)], np.int32),
                sensitive=np.array(sensitive, np.int32),
                withheld=np.zeros(3, np.int64),
                taken=np.ones(4, np.int64),
                pads=np.zeros(3, np.int64),
                counterfeits=np.zeros(4, np.int64),
                order=ranks(order),
                allocation=None if one_key else ranks((0, *allocation)),
                rng=np.random.default_rng(0),
            )
            found[tuple(tuple(part.tolist()) for part in np.split(layout.row, layout.starts[1:-1]))] += 1
            if one_key:
                break
    return found


def without_values(found: Counter[Slots]) -> Counter[tuple[object, ...]]:
    """The draws in which row 2 is in the first bucket, the two slots of the second one without their values."""
    seen: Counter[tuple[object, ...]] = Counter()
    for slots, draws in found.items():
        if slots[0] == (2,):
            seen[slots[1], frozenset(slots[2:])] += draws
    return seen


# Row 1 went to the bucket {0, 2}, together with the old row 0 and with row 4.
TRUE, OLD = [0, 0, 0, 1, 2], 2
# The same people, with 0 and 2 exchanged in that bucket.
RELABELLED, OLD_RELABELLED = [2, 2, 0, 1, 0], 3


def test_allocation_and_order_do_not_tell_the_values_of_a_bucket_apart() -> None:
    """Lemmas 6 and 7: the lists of a bucket are equally likely in the relabelled world."""
    seen = without_values(layouts(TRUE, OLD))
    assert len(seen) == 2  # row 0 before or after row 1
    assert seen == without_values(layouts(RELABELLED, OLD_RELABELLED))


def test_one_key_for_both_would_tell_the_values_of_a_bucket_apart() -> None:
    seen = without_values(layouts(TRUE, OLD, one_key=True))
    assert seen != without_values(layouts(RELABELLED, OLD_RELABELLED, one_key=True))


def test_the_slots_of_a_bucket_come_in_every_order_equally_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 7."""
    signatures = Signatures.of([(0, 1, 2), (1, 3)])
    found: Counter[tuple[int, ...]] = Counter()
    for order in permutations(range(5)):
        drawn = np.array(order, np.int32)
        monkeypatch.setattr(phases, "keyed_permutation", lambda _count, _rng, drawn=drawn: drawn)
        found[tuple(phases.shuffled_slots(signatures, np.random.default_rng(0)).tolist())] += 1
    assert set(found) == {(*a, *b) for a in permutations(range(3)) for b in permutations((3, 4))}
    assert set(found.values()) == {120 // 12}


@given(seed=st.integers(0, 2**32 - 1), strict=st.booleans(), partition=st.sampled_from(["repair", "paper"]))
@settings(max_examples=25, deadline=None)
def test_phase_4_makes_the_same_groups_whatever_the_values_of_the_slots_are(
    seed: int, strict: bool, partition: str
) -> None:
    """Lemma 8: the split, and Cor-Split's two partitions, never read them."""
    technique = CorSplit(m=3, n=2, strict=strict, partition=partition, not_eligible="blocks", balancing="blind")
    state, rng = technique.initial_state(), np.random.default_rng(seed)
    for snapshot in snapshots(seed, episodes=False, releases=3):
        divided = divide_rows(snapshot, state, technique, rng)
        balanced = balance_buckets(divided.counts, technique.m, "blind")
        assigned = assign_new_rows(divided.counts, balanced, technique.m, technique.assignment)
        layout = move_rows(snapshot, divided, assigned, "blind", rng)
        hidden = replace(layout, values=np.full(len(layout.values), -9, np.int32))
        extent = grown_extent(snapshot, state.extent)
        scales = length_scales(extent[1] - extent[0], layout.deepest)
        one, two = (
            split_buckets(snapshot.qi, each, assigned.signatures, extent[0], scales) for each in (layout, hidden)
        )
        assert one.tolist() == two.tolist()
        plan = technique.plan(snapshot, state, np.random.default_rng(seed))
        number = np.where(divided.division.entry >= 0, divided.division.entry, -1).astype(np.int32)
        number[number < 0] = state.membership.people + np.arange(np.count_nonzero(number < 0))
        made = [
            partition_buckets(
                snapshot,
                Buckets(layout=each, signatures=assigned.signatures, number=number, extent=extent),
                state,
                technique._safety,
                partition,
                np.random.default_rng(1),
            ).entry_group.tolist()
            for each in (layout, hidden)
        ]
        assert made[0] == made[1]
        state = technique.advance(state, snapshot, plan)


@pytest.mark.parametrize(
    ("pool", "known"),
    [
        ([4, 1, 1, 0, 0], [1, 1, 1, 1, 1]),
        ([9, 3, 3, 1, 1], [0, 0, 0, 0, 0]),
        ([9, 5, 1, 1, 1], [0, 0, 0, 0, 0]),
        ([2, 0, 0, 0, 0], [1, 1, 1, 0, 1]),
    ],
)
@pytest.mark.parametrize("m", [2, 3])
def test_blocks_are_equally_likely_after_a_permutation_inside_one_of_them(
    monkeypatch: pytest.MonkeyPatch, pool: list[int], known: list[int], m: int
) -> None:
    """Lemma 2: every order in which chance may put the values is tried."""

    def shares(counts: list[int]) -> Counter[frozenset[tuple[int, ...]]]:
        found: Counter[frozenset[tuple[int, ...]]] = Counter()
        for order in permutations(range(VALUES)):

            def drawn(count: int, _: object, order: tuple[int, ...] = order) -> np.ndarray:
                return np.array([place for place in order if place < count], np.int32)

            monkeypatch.setattr(new_rows, "keyed_permutation", drawn)
            made = new_rows.value_blocks(np.array(counts), np.array(known, bool), m, np.random.default_rng(0))
            found[frozenset(made)] += 1
        return found

    true = shares(pool)
    for made, draws in true.items():
        assert all(len(block) >= m for block in made)
        left = unblocked_rows(np.array([pool]), [list(made)])[0]
        assert is_eligible(left, m) or not made
        for block in made:
            for order in permutations(block):
                turned = list(pool)
                for value, source in zip(block, order, strict=True):
                    turned[value] = pool[source]
                assert shares(turned)[made] == draws


@given(
    had=st.frozensets(st.integers(0, 8), max_size=4),
    listed=st.lists(st.frozensets(st.integers(0, 8), min_size=2, max_size=4), max_size=5, unique=True),
    m=st.integers(2, 3),
    depths=st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_every_value_of_an_episodes_signature_leads_to_it(
    had: frozenset[int], listed: list[frozenset[int]], m: int, depths: list[int]
) -> None:
    """Lemma 1: and who is stranded does not depend on the new value."""
    signatures = Signatures.of([tuple(sorted(one)) for one in listed])
    known = np.arange(10) < 9
    choose = block_choice(signatures, np.array(depths[: len(listed)], np.int64), known, m)
    allowed = [value for value in range(9) if value not in had]
    for value in allowed:
        signature = choose(had, value)
        if len(allowed) < m:
            assert signature is None
            continue
        assert signature is not None
        assert len(signature) >= m
        assert value in signature
        assert had.isdisjoint(signature)
        assert all(choose(had, other) == signature for other in signature)
    assert choose(had, 9) is None  # a value that no release has shown


def test_a_partition_leaves_no_value_alone() -> None:
    assert partition_of_values([1, 2, 3, 4, 5], [(1, 2, 3), (1, 2)], 2) == [(1, 2, 3), (4, 5)]
    assert partition_of_values([1, 2, 3, 4], [(1, 2, 3)], 2) == [(1, 2), (3, 4)]
    assert partition_of_values([1, 2, 3, 4, 5, 6, 7], [], 3) == [(1, 2, 3), (4, 5, 6, 7)]
    assert partition_of_values([1], [], 2) == []


def test_the_roster_keeps_the_latest_value_only_to_notice_a_change() -> None:
    """Lemma 9: a state whose values are relabelled inside a signature divides the rows alike."""
    roster = Roster(np.array([1, 2]), np.array([0, 0]), np.array([0, 1]))
    other = replace(roster, sensitive=np.array([1, 0], np.int32))
    state = replace(MInvarianceState.initial(), time=1, signatures=Signatures.of([(0, 1)]), roster=roster)
    technique, qi = MInvariance(m=2, balancing="blind", not_eligible="refuse"), np.zeros((2, 2), np.int32)
    one = divide_rows(
        Snapshot(schema(), np.array([1, 2]), qi, np.array([0, 1])), state, technique, np.random.default_rng(0)
    )
    two = divide_rows(
        Snapshot(schema(), np.array([1, 2]), qi, np.array([1, 0])),
        replace(state, roster=other),
        technique,
        np.random.default_rng(0),
    )
    assert one.division.entry.tolist() == two.division.entry.tolist()
    assert one.counts.old.tolist() == two.counts.old.tolist() == [1, 1]
