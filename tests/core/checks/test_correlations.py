"""hc-safety, alone, with m and strict, against the definitions, on small random histories."""

from random import Random

import numpy as np
import pytest
from oracles.builders import Member, entry_of, plain_schema
from oracles.correlations import (
    components,
    derived_correlations,
    groups_of,
    hc_unsafe,
    refused_by_figure_6,
    smallest_signed_sum,
)
from oracles.histories import ledger_of, weak_ledger

from reanon_core.checks.hc_safety import CLOSE, HcSafety
from reanon_core.checks.weak_m_invariance import WeakMInvariance
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit

SEEDS = range(60)


def verdicts(check: Check, ledger: Ledger) -> list[Verdict]:
    memory, found = check.initial_memory(), []
    for entry in ledger.entries:
        verdict, memory = check.examine(entry, memory)
        found.append(verdict)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_hc_safety_agrees_with_every_pair_of_subsets(seed: int) -> None:
    random = Random(seed)
    m = random.choice([2, 3])
    ledger = weak_ledger(random, m=m, people=8, releases=4, stay=0.85)
    for n in range(1, m + 1):
        for at, verdict in enumerate(verdicts(HcSafety(n=n), ledger)):
            so_far = ledger.entries[: at + 1]
            assert verdict.violations == hc_unsafe(so_far, n)
            assert verdict.observed[CLOSE] == refused_by_figure_6(so_far, n)
            # Figure 6 is stricter: a group that passes it is safe by the definition (specification, C2).
            assert verdict.violations <= verdict.observed[CLOSE]


@pytest.mark.parametrize("seed", SEEDS)
def test_strict_hc_safety_finds_a_small_sum_exactly_where_there_is_one(seed: int) -> None:
    random = Random(seed)
    m = random.choice([2, 3])
    ledger = weak_ledger(random, m=m, people=3 * m, releases=3, stay=0.85, signatures=random.choice([1, 2]))
    n = random.randint(2, m)
    for at, verdict in enumerate(verdicts(HcSafety(n=n, strict=True), ledger)):
        groups = groups_of(ledger.entries[: at + 1])
        # A short sum counts counterfeits as Figure 6 does; the row space is searched for people alone.
        summed = any(smallest_signed_sum(groups, g, n - 1, 4) for g in groups if g.release == at)
        correlated = any(
            derived_correlations(part, n) for part in components(groups) if any(g.release == at for g in part)
        )
        assert verdict.holds == (not summed and not correlated), (summed, correlated, verdict)


def test_a_merge_undone_is_safe_by_the_paper_and_found_by_strict_hc_safety() -> None:
    """Specification, C3 (a)."""
    letters = {letter: at for at, letter in enumerate("abcdefg")}
    values = {"a": 0, "b": 1, "c": 2, "d": 2, "e": 0, "f": 1, "g": 2}
    ledger = ledger_of([["abc", "efg"], ["abdefg"]], values, letters)
    assert all(verdict.holds for verdict in verdicts(HcSafety(m=3, n=2), ledger))
    assert [verdict.holds for verdict in verdicts(HcSafety(n=2, strict=True), ledger)] == [True, False]


def test_a_transitive_chain_is_safe_by_the_paper_and_found_by_strict_hc_safety() -> None:
    """Specification, C3 (b)."""
    letters = {letter: at for at, letter in enumerate("abcdefghi")}
    values = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 2, "f": 3, "g": 0, "h": 1, "i": 1}
    ledger = ledger_of([["abcd"], ["abef"], ["efgh"], ["cdgi"]], values, letters)
    assert all(verdict.holds for verdict in verdicts(HcSafety(n=2), ledger))
    assert [verdict.holds for verdict in verdicts(HcSafety(n=2, strict=True), ledger)] == [True, True, True, False]


def test_weak_m_invariance_allows_even_repetition_and_nothing_else() -> None:
    letters = {letter: at for at, letter in enumerate("abcd")}
    values = {"a": 0, "b": 1, "c": 0, "d": 1}
    assert all(v.holds for v in verdicts(WeakMInvariance(m=2), ledger_of([["abcd"], ["ab"]], values, letters)))
    (uneven,) = verdicts(WeakMInvariance(m=2), ledger_of([["abc"]], values, letters))
    assert not uneven.holds
    assert uneven.observed["groups whose values are uneven"] == 1


def test_a_person_whose_value_changed_correlates_no_one() -> None:
    """a is in a group with b and values 0 and 1, then with c and values 2 and 3: that reveals nothing about b and c."""
    schema = plain_schema(values=4)
    first = entry_of(schema, [Member(0, (0, 0), 0, 0), Member(1, (0, 0), 1, 0)])
    second = entry_of(schema, [Member(0, (0, 0), 2, 0), Member(2, (0, 0), 3, 0)])
    for check in (HcSafety(n=2, strict=True), HcSafety(n=2), HcSafety(m=2, n=2, episodes=True)):
        assert all(verdict.holds for verdict in verdicts(check, Ledger((first, second))))


def test_hc_safety_counts_people_beyond_their_lifespan() -> None:
    letters = {letter: at for at, letter in enumerate("ab")}
    ledger = ledger_of([["ab"]] * 3, {"a": 0, "b": 1}, letters)
    answers = verdicts(HcSafety(m=2, n=1, max_lifespan=2), ledger)
    assert [verdict.violations for verdict in answers] == [0, 0, 2]


@pytest.mark.parametrize(
    "build",
    [lambda: HcSafety(n=0), lambda: HcSafety(m=1, n=2, max_lifespan=0), lambda: HcSafety(n=0, strict=True, combine=9)],
)
def test_a_parameter_out_of_range_is_refused(build) -> None:
    with pytest.raises(InvalidParameter):
        build()


def test_strict_decides_a_component_of_more_than_a_hundred_groups_exactly() -> None:
    rng, technique = np.random.default_rng(1), CorSplit(m=3, n=2, not_eligible="pad")
    qi, values = rng.integers(0, 100, (1, 140)).astype(np.int32), rng.integers(0, 5, 140).astype(np.int32)
    tables = []
    for release in range(6):
        here = np.sort(rng.choice(80 + 12 * release, 70 + 8 * release, replace=False))
        tables.append(Snapshot(plain_schema(columns=1, values=5), here.astype(np.int64), qi[:, here], values[here]))
    check, groups = HcSafety(n=2, strict=True), 0
    memory = check.initial_memory()
    for entry in replay(technique, tables, rng).entries:
        verdict, memory = check.examine(entry, memory)
        groups += entry.release.boxes.count
        assert verdict.holds, verdict
        assert verdict.observed["groups not decided beyond 4 groups"] == 0
    assert groups > 100  # more than the components that are searched in a long history
