"""The multipartite baselines of [ST15] keep what they promise, by brute force on tiny tables."""

from itertools import permutations, product

import numpy as np
import pytest
from experiments.results.st15.multipartite import Box, Cells, CellSeries, CutSeries, Requirement

from reanon_core.model.schema import Kind, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy

TREE = Taxonomy.from_lines([(str(n), f"{n // 2}x", f"{n // 4}y", "*") for n in range(8)], name="age")


def tiny_table(seed: int, people: int = 6) -> Snapshot:
    rng = np.random.default_rng(seed)
    column = QuasiIdentifier(name="age", kind=Kind.CATEGORICAL, taxonomy=TREE, hierarchical=True)
    schema = Schema(quasi_identifiers=(column,), sensitive=Sensitive(name="s", values=("a", "b", "c", "d")))
    values = rng.permutation(np.arange(people) % 4).astype(np.int32)
    return Snapshot(schema, np.arange(people), rng.integers(0, 8, (1, people)).astype(np.int32), values)


def rows_of(cells: Cells) -> list[tuple[Box, int]]:
    """The box and the sensitive value of every row of the latest release."""
    leaf_nodes = cells.shown.columns[0].leaf_node[cells.shown.leaves[0]].tolist()
    counted = [((node,), rows) for node, rows in zip(leaf_nodes, cells.exact, strict=True)]
    counted += [(box, cells.entries[entry]) for (_, box), entry in cells.number.items()]
    return [(box, value) for box, rows in counted for value in range(4) for _ in range(int(rows[value]))]


def linked_values(table: Snapshot, cells: Cells) -> list[set[int]]:
    """The values of each person in all ways to assign the rows to the people."""
    column, rows = cells.shown.columns[0], rows_of(cells)
    people = table.qi[0].tolist()
    linked: list[set[int]] = [set() for _ in people]
    for order in permutations(range(len(rows))):
        if all(column.covers[rows[row][0][0], leaf] for leaf, row in zip(people, order, strict=True)):
            for person, row in enumerate(order):
                linked[person].add(rows[row][1])
    return linked


@pytest.mark.parametrize(("seed", "ell"), list(product(range(4), (2, 3))))
def test_cells_leave_every_person_ell_values_in_the_perfect_matchings(seed: int, ell: int) -> None:
    table = tiny_table(seed)
    series = CellSeries(table, Requirement("linkability", ell))
    series.release((0,))
    assert series.exposed == 0
    assert sorted(value for _, value in rows_of(series.cells)) == sorted(table.sensitive.tolist())
    assert all(len(values) >= ell for values in linked_values(table, series.cells))


def test_cells_that_are_not_generalized_expose_someone() -> None:
    table = tiny_table(0)
    series = CellSeries(table, Requirement("linkability", 1))
    assert series.release((0,)) == (0.0, 0.0)
    assert any(len(values) == 1 for values in linked_values(table, series.cells))


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_satisfies_the_requirement_and_loses_at_least_as_much_as_cells(seed: int) -> None:
    table, goal = tiny_table(seed, people=40), Requirement("diversity", 3)
    cut, cell = CutSeries(table, goal), CellSeries(table, goal)
    cut_loss, cell_loss = cut.release((0,))[0], cell.release((0,))[0]
    assert not goal.failing(cut.cliques).any()
    assert cut.exposed == 0
    assert 0 <= cell_loss <= cut_loss <= 1


def test_a_second_release_counts_the_cliques_of_both() -> None:
    table = tiny_table(1, people=40)
    series = CutSeries(table, Requirement("linkability", 2))
    series.release((0,))
    once = series.cliques.copy()
    series.release((0,))
    assert np.array_equal(series.cliques, once * once)


def test_requirements_are_those_of_the_definitions() -> None:
    cliques = np.array([[3.0, 1, 1, 0], [2, 2, 2, 0], [5, 0, 0, 0]])
    assert Requirement("linkability", 3).failing(cliques).tolist() == [False, False, True]
    assert Requirement("diversity", 3).failing(cliques).tolist() == [True, False, True]
