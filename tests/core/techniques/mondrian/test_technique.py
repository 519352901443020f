"""Mondrian against the slow reference, and what its releases promise and do not promise."""

from dataclasses import replace

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.mondrian import classes

from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.catalog import own_checks
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Unpublishable
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.publishing import publish
from reanon_core.recoding.mondrian import CutOptions, Principle, Table, mondrian_classes
from reanon_core.replay import replay
from reanon_core.techniques.mondrian.technique import Mondrian

TREE = Taxonomy.from_lines(
    [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "z", "y2", "*"), ("f", "y2", "*")],
    name="tree",
)


def schema(spread: int, *, tree: bool, separate: bool) -> Schema:
    missing = Missing.SEPARATE if separate else Missing.REFUSE
    columns = [QuasiIdentifier(name=f"q{i}", domain=(0, spread), missing=missing) for i in range(2)]
    if tree:
        columns.append(
            QuasiIdentifier(name="tree", kind=Kind.CATEGORICAL, taxonomy=TREE, hierarchical=True, missing=missing)
        )
    return Schema(
        quasi_identifiers=tuple(columns), sensitive=Sensitive(name="s", values=("u", "v", "w", "x")), other=()
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Schema]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(1, 40))
    spread = draw(st.sampled_from([3, 20, 400, 10**6]))
    tree, separate = draw(st.booleans()), draw(st.booleans())
    qi = rng.integers(0, spread + 1, size=(2, rows)).astype(np.int32)
    if tree:
        qi = np.vstack([qi, rng.integers(0, 6, size=(1, rows)).astype(np.int32)])
    if separate:
        qi[rng.random(qi.shape) < 0.15] = MISSING
    return qi, rng.integers(0, 4, rows).astype(np.int32), schema(spread, tree=tree, separate=separate)


@given(
    case=cases(),
    k=st.integers(1, 5),
    ell=st.integers(1, 3),
    diversity=st.sampled_from(["distinct", "frequency"]),
    t=st.sampled_from([None, 0.25, 0.5]),
    heuristic=st.sampled_from(["width", "distinct", "balance"]),
    strict=st.booleans(),
    by=st.sampled_from(["principle", "quasi-identifiers", "counts"]),
)
@settings(max_examples=share_of(500), deadline=None)
def test_the_compiled_partition_is_that_of_the_slow_one(case, k, ell, diversity, t, heuristic, strict, by) -> None:  # type: ignore[no-untyped-def]
    qi, sensitive, columns = case
    extent = np.array([column.bounds for column in columns.quasi_identifiers]).T
    t = None if by == "counts" else t
    principle = Principle(k=k, ell=ell, diversity=diversity, t=t)
    options = CutOptions(heuristic=heuristic, strict=strict, by=by)
    group, count = mondrian_classes(Table(qi, sensitive, columns, extent), principle, options)
    rows = [
        ([None if qi[a, i] == MISSING else int(qi[a, i]) for a in range(len(qi))], int(sensitive[i]))
        for i in range(len(sensitive))
    ]
    expected = classes(
        rows,
        (extent[1] - extent[0]).tolist(),
        k=k,
        ell=ell,
        diversity=diversity,
        t=t,
        heuristic=heuristic,
        strict=strict,
        paths=[c.taxonomy.paths if c.hierarchical and c.taxonomy else None for c in columns.quasi_identifiers],
        by=by,
    )
    assert count == len(expected)
    found = {tuple(np.flatnonzero(group == one).tolist()) for one in range(count)}
    assert found == {tuple(sorted(part)) for part in expected}


def table(rows: int, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)
    qi = rng.integers(0, 21, size=(2, rows)).astype(np.int32)
    return Snapshot(
        schema(20, tree=False, separate=False), np.arange(rows), qi, rng.integers(0, 4, rows).astype(np.int32)
    )


@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
@pytest.mark.parametrize(
    "more",
    [
        {"ell": 3},
        {"ell": 2, "diversity": "frequency"},
        {"t": 0.4},
        {},
        {"ell": 3, "cuts_by": "quasi-identifiers"},
        {"t": 0.4, "cuts_by": "quasi-identifiers"},
        {"ell": 2, "cuts_by": "counts"},
        {"ell": 3, "cuts_by": "counts", "failing": "withhold"},
        {"ell": 2, "diversity": "frequency", "cuts_by": "counts", "failing": "withhold"},
        {"ell": 3, "cuts_by": "quasi-identifiers", "failing": "withhold"},
    ],
)
def test_every_release_passes_the_checks_of_its_own_principle(cuts: str, more: dict[str, object]) -> None:
    technique = Mondrian(k=5, cuts=cuts, **more)
    ledger = replay(technique, [table(300)], np.random.default_rng(0))
    for check in own_checks(technique):
        verdict, _ = check.examine(ledger.entries[0], check.initial_memory())
        assert verdict.holds, verdict
    assert ledger.entries[0].release.boxes.count > 3


def test_strict_cuts_keep_people_with_the_same_values_together() -> None:
    snapshot = table(200)
    plan = Mondrian(k=3).plan(snapshot, Mondrian(k=3).initial_state(), np.random.default_rng(0))
    for point in np.unique(snapshot.qi, axis=1).T:
        here = (snapshot.qi == point[:, None]).all(axis=0)
        assert len(np.unique(plan.group[here])) == 1


def test_releases_of_mondrian_are_not_safe_together() -> None:
    """Half of the people leave between two releases: each is 2-diverse, and an intersection exposes some."""
    first = table(400)
    stay = np.flatnonzero(np.random.default_rng(1).random(400) < 0.5)
    second = Snapshot(first.schema, first.persons[stay], first.qi[:, stay], first.sensitive[stay])
    ledger = replay(Mondrian(k=2, ell=2), [first, second], np.random.default_rng(0))
    assert IntersectionAttack().run(ledger.history(), ledger.knowledge()).exposed > 0


def test_a_table_that_fails_as_a_whole_is_refused_with_its_numbers() -> None:
    technique = Mondrian(k=50)
    with pytest.raises(Unpublishable, match="it has 20 rows and 4 sensitive values"):
        publish(technique, table(20), technique.initial_state(), np.random.default_rng(0))


def test_all_wrong_parameters_are_named_at_once() -> None:
    with pytest.raises(InvalidParameter) as caught:
        Mondrian(k=0, ell=0, diversity="much", t=2, heuristic="best", cuts="none")
    assert len(caught.value.problems) == 6


def test_cuts_by_quasi_identifiers_are_the_same_whatever_the_values() -> None:
    """A shuffle of all values changes which groups are merged or withheld, and no cut."""
    technique = Mondrian(k=3, ell=3, cuts_by="quasi-identifiers", failing="withhold")
    snapshot = table(200)
    shuffled = replace(snapshot, sensitive=np.random.default_rng(1).permutation(snapshot.sensitive))
    one, other = (technique.plan(s, technique.initial_state(), np.random.default_rng(0)) for s in (snapshot, shuffled))
    assert 0 < sum(one.withheld.values()) == np.count_nonzero(one.group < 0)
    for plan, against in ((one, other), (other, one)):
        for own in range(plan.groups):
            there = np.unique(against.group[plan.group == own])
            assert len(there) == 1  # as a whole in one group, or withheld as a whole


@pytest.mark.parametrize(("diversity", "ell"), [("distinct", 3), ("frequency", 2)])
@pytest.mark.parametrize("failing", ["merge", "withhold"])
def test_cuts_by_counts_stay_when_values_are_rearranged_inside_groups(diversity: str, ell: int, failing: str) -> None:
    """The claim of PAPER.md, for all groups at once and with relaxed cuts: the same seed gives the same groups."""
    rng = np.random.default_rng(2)
    for cuts in ("strict", "relaxed"):
        technique = Mondrian(k=4, ell=ell, diversity=diversity, cuts_by="counts", failing=failing, cuts=cuts)
        values = rng.choice(9, 300, p=[0.2, *[0.1] * 8]).astype(np.int32)
        columns = replace(
            schema(20, tree=False, separate=False), sensitive=Sensitive(name="s", values=tuple("abcdefghi"))
        )
        snapshot = Snapshot(columns, np.arange(300), rng.integers(0, 21, (2, 300)).astype(np.int32), values)
        plan = technique.plan(snapshot, technique.initial_state(), np.random.default_rng(0))
        assert plan.groups > 3
        shuffled = values.copy()
        for own in range(plan.groups):
            here = np.flatnonzero(plan.group == own)
            shuffled[here] = rng.permutation(values[here])
        assert not np.array_equal(values, shuffled)
        again = technique.plan(
            replace(snapshot, sensitive=shuffled), technique.initial_state(), np.random.default_rng(0)
        )
        assert np.array_equal(plan.group, again.group)


def test_withholding_needs_blind_cuts_and_a_principle_without_t() -> None:
    with pytest.raises(InvalidParameter, match="set cuts_by: counts, or quasi-identifiers"):
        Mondrian(k=2, ell=2, failing="withhold")
    with pytest.raises(InvalidParameter, match="withheld people change the distribution"):
        Mondrian(k=2, t=0.2, cuts_by="quasi-identifiers", failing="withhold")
    with pytest.raises(InvalidParameter, match="not be counts with t"):
        Mondrian(k=2, t=0.2, cuts_by="counts")


def test_columns_published_as_they_are_do_not_go_with_mondrian() -> None:
    columns = Schema(quasi_identifiers=(QuasiIdentifier(name="a"),), sensitive=Sensitive(name="s"), other=("ward",))
    with pytest.raises(InvalidSchema, match="tell the rows of a group apart"):
        Mondrian(k=2).accepts(columns)
