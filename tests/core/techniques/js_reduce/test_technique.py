"""JS-reduce: groups along the curve, leftovers, and its own checks on what it publishes."""

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.beliefs import consecutive_groups, divergence, moved_earth

from reanon_core.catalog import own_checks
from reanon_core.kernels.group_distances import EQUAL, HIERARCHICAL, ORDERED, Ground, distributions, earth_mover
from reanon_core.kernels.hilbert import Groups, NearbyGroups, Thresholds, View, hilbert_groups, merge_leftovers
from reanon_core.model.background import Background, Classes
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Unpublishable
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack, unpack
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.publishing import publish
from reanon_core.replay import replay
from reanon_core.techniques.js_reduce.generalization import hilbert_order
from reanon_core.techniques.js_reduce.technique import JsReduce

few = settings(max_examples=share_of(40), deadline=None)
seeds = st.integers(0, 2**32 - 1)
NO_TREE = np.zeros((1, 0), np.int32)
TREE = Taxonomy.from_lines(
    [("a", "left", "all"), ("b", "left", "all"), ("c", "left", "all"), ("d", "right", "all"), ("e", "right", "all")],
    name="s",
)
DEEP = Taxonomy.from_lines(
    [
        ("a", "x", "left", "all"),
        ("b", "x", "left", "all"),
        ("c", "y", "left", "all"),
        ("d", "all"),
        ("e", "right", "all"),
    ],
    name="s",
)


def distances(kind: int, tree: Taxonomy | None = None) -> np.ndarray:
    """How far the five values are from each other."""
    if kind == EQUAL:
        return 1 - np.eye(5)
    if kind == ORDERED:
        return np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4
    assert tree is not None
    nodes, height = tree.ancestors, len(tree.ancestors) - 1
    common = [[sum(nodes[d, i] == nodes[d, j] for d in range(height + 1)) for j in range(5)] for i in range(5)]
    return np.where(np.eye(5) > 0, 0, (height + 1 - np.array(common)) / height)


@given(seeds, st.sampled_from([(EQUAL, None), (ORDERED, None), (HIERARCHICAL, TREE), (HIERARCHICAL, DEEP)]))
@few
def test_the_earth_movers_distance_is_the_linear_program(seed: int, how: tuple[int, Taxonomy | None]) -> None:
    rng = np.random.default_rng(seed)
    kind, tree = how
    counts, share = rng.integers(0, 5, 5) + np.eye(5, dtype=np.int64)[0], rng.dirichlet(np.ones(5))
    ancestors, nodes = (NO_TREE, 0) if tree is None else (tree.ancestors.copy(), len(tree.labels))
    ground = Ground(kind, share, ancestors, np.zeros(nodes), np.zeros(nodes))
    ours = earth_mover(counts, int(counts.sum()), ground)
    assert ours == pytest.approx(moved_earth(counts, share, distances(kind, tree)), abs=1e-9)


def view(rng: np.random.Generator, rows: int, values: int) -> tuple[View, Ground]:
    """What is expected of each row and its value, and the ground of the whole table."""
    sensitive = rng.integers(0, values, rows).astype(np.int32)
    expected = rng.dirichlet(np.full(values, rng.choice([0.1, 0.5, 3.0])), rows)
    share = np.bincount(sensitive, minlength=values) / rows
    return View(*distributions(expected), sensitive), Ground(EQUAL, share, NO_TREE, np.zeros(0), np.zeros(0))


def no_groups(rows: int) -> Groups:
    """Rows without groups, and room for the sums of each group."""
    group, reason = np.full(rows, -1, np.int32), np.zeros(rows, np.int8)
    return Groups(group, reason, np.empty((rows, 4)), np.empty((rows, 4), np.int64), np.empty(rows))


@given(seeds)
@few
def test_groups_are_those_of_the_literal_algorithm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, ground = view(rng, 60, 4)
    k, ell, max_run = int(rng.integers(2, 6)), int(rng.integers(1, 3)), int(rng.choice([0, 6, 12, 30, 80]))
    t, j = float(rng.uniform(0.1, 0.7)), float(rng.uniform(0.1, 1.5))
    thresholds, formed = Thresholds(k, ell, t, j, max_run), no_groups(60)
    hilbert_groups(np.arange(60), rows, thresholds, ground, formed, 0)
    literal = consecutive_groups(rows.expected, rows.sensitive, ground.share, **thresholds._asdict())
    assert formed.group.tolist() == literal
    assert ((formed.reason > 0) == (formed.group < 0)).all()


@given(seeds)
@few
def test_a_row_that_joins_a_group_keeps_it_within_the_thresholds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, ground = view(rng, 80, 4)
    t, j = 0.5, float(rng.uniform(0.2, 1.0))
    thresholds, formed = Thresholds(4, 2, t, j, 12), no_groups(80)
    groups = hilbert_groups(np.arange(80), rows, thresholds, ground, formed, 0)
    group, before = formed.group, formed.group.copy()
    joined = merge_leftovers(rows, thresholds, ground, NearbyGroups(6, 2), formed, groups)
    assert joined == np.count_nonzero(before < 0) - np.count_nonzero(group < 0)
    assert (group[before >= 0] == before[before >= 0]).all()
    for own in range(groups):
        counts = np.bincount(rows.sensitive[group == own], minlength=4)
        assert np.abs(counts / counts.sum() - ground.share).sum() / 2 <= t + 1e-9
        assert divergence(rows.expected[group == own]) <= j + 1e-9


def schema(**sensitive: object) -> Schema:
    return Schema(
        quasi_identifiers=(QuasiIdentifier(name="age", domain=(0, 31)), QuasiIdentifier(name="zip", domain=(0, 31))),
        sensitive=Sensitive(name="s", values=("a", "b", "c", "d", "e"), closed=True, **sensitive),  # type: ignore[arg-type]
    )


def series(seed: int, views: int = 5, people: int = 300, columns: Schema | None = None) -> list[Snapshot]:
    """People whose value mostly stays or steps on, seen most weeks."""
    rng = np.random.default_rng(seed)
    columns = columns or schema()
    qi, value = rng.integers(0, 32, (2, people)).astype(np.int32), rng.integers(0, 5, people)
    listed = []
    for _ in range(views):
        here = np.flatnonzero(rng.random(people) < 0.8)
        listed.append(Snapshot(columns, here, qi[:, here], value[here]))
        value = (value + (rng.random(people) < 0.3)) % 5
    return listed


def publish_and_judge(technique: JsReduce, snapshots: list[Snapshot]) -> list[Entry]:
    """Publish, and let the technique's own checks judge."""
    ledger = replay(technique, snapshots, np.random.default_rng(0))
    for check in own_checks(technique):
        memory = check.initial_memory()
        for entry in ledger.entries:
            verdict, memory = check.examine(entry, unpack(pack(memory)))
            assert verdict.holds, verdict
    return list(ledger.entries)


def withheld(entries: list[Entry]) -> int:
    return sum(entry.snapshot.size - entry.release.size for entry in entries)


@pytest.mark.parametrize("leftovers", ["suppress", "relax", "merge"])
@pytest.mark.parametrize("mode", ["product", "filter"])
@pytest.mark.parametrize("memory", [1, 2, 3])
def test_its_own_checks_hold_however_it_is_set(leftovers: str, mode: str, memory: int) -> None:
    technique = JsReduce(k=5, t=0.4, j=0.5, max_run=40, leftovers=leftovers, mode=mode)  # type: ignore[arg-type]
    classes = Classes((0,), (np.array([16], np.int32),))
    entries = publish_and_judge(technique.informed(Background(memory=memory, classes=classes)), series(1))
    assert all(entry.release.boxes.count > 1 for entry in entries)


@pytest.mark.parametrize("posterior", ["omega", "sum", "sinkhorn"])
def test_its_own_checks_hold_with_every_engine(posterior: str) -> None:
    publish_and_judge(JsReduce(k=5, t=0.4, j=0.5, posterior=posterior), series(2, views=4))  # type: ignore[arg-type]


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_its_own_checks_hold_with_every_distance(distance: str) -> None:
    technique = JsReduce(k=5, t=0.2, j=1.0, distance=distance)  # type: ignore[arg-type]
    publish_and_judge(technique, series(3, views=3, columns=schema(taxonomy=TREE)))


def test_merging_withholds_no_more_than_suppressing_does() -> None:
    suppressing, merging = (
        withheld(publish_and_judge(JsReduce(k=5, t=0.35, j=0.35, max_run=30, leftovers=how), series(4)))
        for how in ("suppress", "merge")
    )
    assert suppressing > 0
    assert merging < suppressing / 2


def test_why_rows_are_withheld_is_counted() -> None:
    technique = JsReduce(k=5, t=0.5, j=0.15, max_run=30, leftovers="suppress")
    state, rng = technique.initial_state(), np.random.default_rng(0)
    reasons: set[str] = set()
    for snapshot in series(4):
        publication = publish(technique, snapshot, state, rng)
        state, reasons = publication.state, reasons | set(publication.withheld)
        assert sum(publication.withheld.values()) == snapshot.size - publication.release.size
    assert any(reason.startswith("j:") for reason in reasons)


def test_knowledge_that_foresees_nothing_of_a_new_value_still_publishes_it() -> None:
    known = Background(
        prior=np.full((1, 2), 0.5), following=np.array([[1, 2], [1, 2], [1, 2]]), emission=np.full((1, 3, 2), 0.5)
    )
    publish_and_judge(JsReduce(k=5, t=0.5, j=2.0).informed(known), series(6, views=3))


def test_the_list_of_values_may_grow() -> None:
    snapshots = series(7, views=4)
    short = Schema(quasi_identifiers=schema().quasi_identifiers, sensitive=Sensitive(name="s", values=("a", "b", "c")))
    first = snapshots[0]
    snapshots[0] = Snapshot(short, first.persons, first.qi, first.sensitive % 3)
    for memory in (1, 2):
        publish_and_judge(JsReduce(k=5, t=0.5, j=1.0).informed(Background(memory=memory)), snapshots)


def test_the_same_place_is_ordered_by_person_so_that_neighbours_stay() -> None:
    qi = np.zeros((2, 6), np.int32)
    assert hilbert_order(qi, np.array([[0, 0], [31, 31]])).tolist() == list(range(6))


def test_a_row_without_any_mass_is_uniform() -> None:
    rows, entropy = distributions(np.array([[0.0, 0.0], [0.2, 0.2]]))
    assert rows == pytest.approx(0.5)
    assert entropy == pytest.approx(1)


def test_all_problems_of_the_parameters_are_said_at_once() -> None:
    with pytest.raises(InvalidParameter) as raised:
        JsReduce(k=1, t=2, j=-1, max_run=-1, leftovers="keep", slack=-1, ell=0, distance="far", posterior="x", mode="y")  # type: ignore[arg-type]
    assert len(raised.value.problems) == 10


@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
def test_a_distance_that_needs_more_than_is_declared_is_refused(distance: str) -> None:
    open_values = Schema(quasi_identifiers=schema().quasi_identifiers, sensitive=Sensitive(name="s"), other=("note",))
    with pytest.raises(InvalidSchema) as raised:
        JsReduce(k=5, t=0.5, j=0.5, distance=distance).accepts(open_values)  # type: ignore[arg-type]
    assert len(raised.value.problems) == 2


def test_too_many_people_and_values_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="a"),),
        sensitive=Sensitive(name="s", values=tuple(f"v{i}" for i in range(2_000))),
    )
    people = np.arange(70_000, dtype=np.int64)
    snapshot = Snapshot(schema, people, np.zeros((1, 70_000), np.int32), (people % 2_000).astype(np.int32))
    monkeypatch.setattr(Classes, "of", lambda *_: pytest.fail("work has begun"))
    technique = JsReduce(k=3, t=0.6, j=0.9)
    with pytest.raises(Unpublishable, match=r"70,000 people and 2,000 .* 140,000,000 .* 1,917 values, such as"):
        technique.plan(snapshot, technique.initial_state(), np.random.default_rng(0))


def test_a_table_that_no_group_fits_is_refused_with_reasons() -> None:
    snapshot = series(8, views=1)[0]
    with pytest.raises(Unpublishable, match=r"no group of 5 or more rows .* raise t, j or max_run"):
        publish(
            JsReduce(k=5, t=0.0, j=0.5, max_run=10),
            snapshot,
            JsReduce(k=5, t=0.0, j=0.5, max_run=10).initial_state(),
            np.random.default_rng(0),
        )
