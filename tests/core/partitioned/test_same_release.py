"""A release that is computed in parts is the one that is computed in memory, array by array."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reanon_core import bucketing
from reanon_core.bucketing import bucket_split
from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.engine.engine import EmbeddedEngine
from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import Unpublishable
from reanon_core.model.publication import Publication
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.partitioned import new_pools
from reanon_core.publishing import publish, publish_in_parts
from reanon_core.techniques.m_invariance.technique import MInvariance
from reanon_core.techniques.mondrian.technique import Mondrian
from reanon_core.threads import thread_limit
from reanon_dagster.storage.entry_codec import arrays_of

VALUES = 9


def snapshots(seed: int, people: int, *, changes: bool = False, frequent: float = 0.0) -> Iterator[Snapshot]:
    """Four releases of people with random pseudonyms, who come, leave, return and move; some lack a value."""
    rng = np.random.default_rng(seed)
    columns = (QuasiIdentifier(name="a", domain=(0, 120)), QuasiIdentifier(name="b", missing=Missing.SEPARATE))
    columns += (QuasiIdentifier(name="c", domain=(5, 5)),)
    schema = Schema(quasi_identifiers=columns, sensitive=Sensitive(name="s", values=tuple("abcdefghi")))
    persons = np.unique(rng.integers(-(2**63), 2**63, 3 * people))
    sensitive = rng.integers(0, VALUES, len(persons)).astype(np.int32)
    if frequent:
        sensitive[rng.random(len(persons)) < frequent] = 2
    for _ in range(4):
        here = np.flatnonzero(rng.random(len(persons)) < 1 / 3)
        qi = np.stack([rng.integers(0, 121, len(here)), rng.integers(-9, 30, len(here)), np.full(len(here), 5)])
        qi[1, rng.random(len(here)) < 0.1] = MISSING
        if changes:
            moved = rng.random(len(persons)) < 0.05
            sensitive = np.where(moved, rng.integers(0, VALUES, len(persons)), sensitive).astype(np.int32)
        yield Snapshot(schema, persons[here], qi.astype(np.int32), sensitive[here])


def same(parts: Publication[Any], whole: Publication[Any], snapshot: Snapshot) -> None:
    """Every array and every sentence of both is the same."""
    assert (parts.withheld, parts.notes) == (whole.withheld, whole.notes)
    for left, right in (
        (arrays_of(parts.entry(snapshot)), arrays_of(whole.entry(snapshot))),
        (parts.state.packed(), whole.state.packed()),
    ):
        assert left.keys() == right.keys()
        for name, expected in right.items():
            np.testing.assert_array_equal(left[name], expected, err_msg=name)


def published_or_refusal(call: Callable[[], Publication[Any]]) -> Publication[Any] | Unpublishable:
    """What the call returns, or the error with which it refuses."""
    try:
        return call()
    except Unpublishable as refusal:
        return refusal


def compare(
    technique: MInvariance | Mondrian, series: Iterator[Snapshot], folder: Path, chunk_rows: int, seed: int = 5
) -> list[Publication[Any]]:
    """Publish the series in both ways; the releases that both have published."""
    state, done = technique.initial_state(), []
    for number, snapshot in enumerate(series):
        own = folder / str(number)
        own.mkdir()
        engine = EmbeddedEngine(ColumnFolder(str(own)), chunk_rows)
        rngs = [np.random.default_rng([seed, number]) for _ in range(2)]
        whole = published_or_refusal(partial(publish, technique, snapshot, state, rngs[0]))
        parts = published_or_refusal(partial(publish_in_parts, technique, snapshot, state, rngs[1], engine))
        if isinstance(whole, Unpublishable) or isinstance(parts, Unpublishable):
            assert (type(parts), str(parts)) == (type(whole), str(whole))
            assert isinstance(parts, Unpublishable)
            assert isinstance(whole, Unpublishable)
            np.testing.assert_array_equal(parts.persons, whole.persons)
            continue
        same(parts, whole, snapshot)
        assert rngs[0].bit_generator.state == rngs[1].bit_generator.state
        state = parts.state if number % 2 else whole.state  # either state continues either way
        done.append(parts)
    return done


@pytest.mark.parametrize("chunk_rows", [7, 50, 1000])
@pytest.mark.parametrize("balancing", ["blind", "median", "filled"])
def test_parts_give_the_same_releases(tmp_path: Path, balancing: Any, chunk_rows: int) -> None:
    done = compare(MInvariance(m=3, balancing=balancing), snapshots(1, 150), tmp_path, chunk_rows)
    assert len(done) == 4
    assert sum(one.auxiliary.total for one in done) > 0
    assert balancing != "median" or sum(sum(one.withheld.values()) for one in done) > 0


@pytest.mark.parametrize(
    ("balancing", "rule"),
    [("blind", "refuse"), ("blind", "blocks"), ("blind", "defer"), ("median", "refuse"), ("median", "blocks")],
)
def test_values_that_are_too_frequent(tmp_path: Path, balancing: Any, rule: Any) -> None:
    technique = MInvariance(m=3, balancing=balancing, not_eligible=rule)
    done = compare(technique, snapshots(2, 120, frequent=0.5), tmp_path, 31)
    assert bool(done) == (rule != "refuse")


@pytest.mark.parametrize("balancing", ["blind", "median", "filled"])
@pytest.mark.parametrize("rule", ["episode", "refuse"])
def test_values_that_change(tmp_path: Path, balancing: Any, rule: Any) -> None:
    technique = MInvariance(m=3, balancing=balancing, on_sensitive_change=rule)
    done = compare(technique, snapshots(3, 150, changes=True), tmp_path, 40)
    assert len(done) == (4 if rule == "episode" else 1)


@pytest.fixture
def regions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of regions of each release in parts; even chance counts as a relation."""
    monkeypatch.setattr(bucketing.regions, "CHANCE", -1e9)
    monkeypatch.setattr(bucketing.regions, "VALUES", 0)
    found: list[int] = []

    def recorded(*given: Any) -> Any:
        region = regions_of(*given)
        found.append(len(np.unique(region)))
        return region

    regions_of = new_pools.region_of_new_rows
    monkeypatch.setattr(new_pools, "region_of_new_rows", recorded)
    return found


@pytest.mark.parametrize("chunk_rows", [31, 5000])
@pytest.mark.parametrize(("rule", "frequent"), [("blocks", 0.05), ("partial-blocks", 0.15)])
@pytest.mark.parametrize("balancing", ["blind", "median"])
def test_regions(
    tmp_path: Path, regions: list[int], balancing: Any, rule: Any, frequent: float, chunk_rows: int
) -> None:
    technique = MInvariance(m=3, balancing=balancing, not_eligible=rule, regions="sizes")
    series = snapshots(10, 1500, frequent=frequent)
    assert len(compare(technique, series, tmp_path, chunk_rows)) == 4
    assert min(regions) > 2


@pytest.mark.parametrize("balancing", ["blind", "median"])
@pytest.mark.parametrize("cut", ["none", "sizes"])
def test_partial_blocks(tmp_path: Path, regions: list[int], balancing: Any, cut: Any) -> None:
    technique = MInvariance(
        m=3, balancing=balancing, not_eligible="partial-blocks", regions=cut, on_sensitive_change="episode"
    )
    series = snapshots(11, 700, frequent=0.5, changes=True)
    assert len(compare(technique, series, tmp_path, 97)) == 4
    assert len(regions) == (0 if cut == "none" else 4)
    assert cut == "none" or regions[0] > 1 < regions[-1]


@pytest.mark.parametrize("most", [1 << 18, 60])
def test_padding(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_split, "MOST_ENTRIES", most)
    done = compare(MInvariance(m=3, not_eligible="pad"), snapshots(13, 150, frequent=0.5), tmp_path, 40)
    assert len(done) == 4
    assert all(one.auxiliary.total > 0 for one in done)


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("rule", ["episode", "refuse"])
def test_people_who_must_not_move(tmp_path: Path, moves: bool, rule: Any) -> None:
    technique = MInvariance(m=3, on_qi_change="refuse", on_sensitive_change=rule)
    series = snapshots(12, 150, changes=rule == "episode")
    done = compare(technique, series if moves else at_home(series), tmp_path, 40)
    assert len(done) == (1 if moves else 4)


def at_home(series: Iterator[Snapshot]) -> Iterator[Snapshot]:
    """The same people, whose codes never change."""
    for snapshot in series:
        qi = np.stack([snapshot.persons % 121, snapshot.persons % 39 - 9, np.full(snapshot.size, 5)]).astype(np.int32)
        yield Snapshot(snapshot.schema, snapshot.persons, qi, snapshot.sensitive)


@pytest.mark.parametrize("most", [12, 60, 200])
def test_buckets_that_are_too_large_are_cut_alike(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_split, "MOST_ENTRIES", most)
    assert len(compare(MInvariance(m=3), snapshots(4, 200), tmp_path, 64)) == 4


def test_threads_change_nothing(tmp_path: Path) -> None:
    with thread_limit(3):
        assert len(compare(MInvariance(m=4), snapshots(5, 200), tmp_path, 25)) == 4


@pytest.mark.parametrize("people", [0, 1, 2])
def test_tables_of_hardly_anyone(tmp_path: Path, people: int) -> None:
    compare(MInvariance(m=2), snapshots(6, people), tmp_path, 3)


TREE = Taxonomy(tuple((leaf, leaf[0], "any") for leaf in ("aa", "ab", "ba", "bb", "bc", "ca", "cb", "cc", "cd")))
"""Nine leaves below three nodes."""


def with_tree(series: Iterator[Snapshot]) -> Iterator[Snapshot]:
    """The same people with a place in a tree instead of a constant."""
    for number, snapshot in enumerate(series):
        tree = QuasiIdentifier(name="c", kind=Kind.CATEGORICAL, taxonomy=TREE)
        schema = replace(snapshot.schema, quasi_identifiers=(*snapshot.schema.quasi_identifiers[:2], tree))
        qi = snapshot.qi.copy()
        qi[2] = np.random.default_rng(number).integers(0, 9, snapshot.size)
        yield Snapshot(schema, snapshot.persons, qi, snapshot.sensitive)


@pytest.mark.parametrize("heuristic", ["width", "distinct", "balance"])
@pytest.mark.parametrize("by", ["principle", "counts"])
@pytest.mark.parametrize("chunk_rows", [9, 60, 1000])
def test_mondrian_makes_the_same_cuts(tmp_path: Path, heuristic: Any, by: Any, chunk_rows: int) -> None:
    technique = Mondrian(k=4, ell=3, heuristic=heuristic, cuts_by=by)
    done = compare(technique, with_tree(snapshots(7, 150)), tmp_path, chunk_rows)
    assert len(done) == 4
    assert all(one.release.boxes.count > 3 for one in done)


@pytest.mark.parametrize(
    ("options", "releases"), [({"ell": 3, "diversity": "frequency"}, 4), ({"t": 0.4}, 4), ({"ell": 10}, 0)]
)
def test_mondrian_with_other_principles(tmp_path: Path, options: dict[str, Any], releases: int) -> None:
    series = with_tree(snapshots(8, 120, frequent=0.5 * ("t" in options)))
    assert len(compare(Mondrian(k=5, **options), series, tmp_path, 20)) == releases


@pytest.mark.parametrize("people", [0, 1, 3])
def test_mondrian_with_hardly_anyone(tmp_path: Path, people: int) -> None:
    compare(Mondrian(k=2), snapshots(9, people), tmp_path, 3)


@pytest.mark.parametrize(
    ("technique", "said"),
    [
        (MInvariance(m=3), ""),
        (MInvariance(m=3, not_eligible="pad"), ""),
        (MInvariance(m=3, not_eligible="pad", balancing="filled"), "not_eligible: pad with balancing: filled"),
        (MInvariance(m=3, regions="sizes", not_eligible="partial-blocks", on_qi_change="refuse"), ""),
        (Mondrian(k=3), ""),
        (Mondrian(k=3, cuts="relaxed"), "cuts: relaxed"),
        (Mondrian(k=3, cuts_by="counts", failing="withhold"), "failing: withhold"),
        (Mondrian(k=3, cuts_by="quasi-identifiers"), "cuts_by: quasi-identifiers"),
    ],
)
def test_what_needs_memory_is_named(technique: MInvariance | Mondrian, said: str) -> None:
    assert technique.in_memory_only().startswith(said)
    assert bool(technique.in_memory_only()) == bool(said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_many_series(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(bucket_split, "MOST_ENTRIES", int(rng.integers(10, 400)))
    balancing = ("blind", "median", "filled")[seed % 3]
    technique = MInvariance(m=int(rng.integers(2, 6)), balancing=balancing, on_sensitive_change="episode")
    series = snapshots(seed, int(rng.integers(1, 400)), changes=bool(seed % 2))
    compare(technique, series, tmp_path, int(rng.integers(3, 300)), seed)
