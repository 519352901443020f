"""Which cuts Mondrian makes while its nodes are too large for memory: the same that its kernel would make.

Paper: [LDR06] Section 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reanon_core.engine.engine import Engine
from reanon_core.kernels.mondrian import GUARANTEE, SIDES, WIDTH, Attributes, Cut, Ranks, histogram_score, median_cut
from reanon_core.kernels.mondrian_criterion import Criterion, guarantees, satisfies
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.partitioned.cut_tasks import HistogramTask, SideTask, count_codes, count_sides
from reanon_core.partitioned.cut_tree import CutTree, GrowingTree
from reanon_core.partitioned.row_ranges import RowRange, SnapshotColumns

MOST_CELLS = 1 << 18
"""So many counts each range returns for the nodes that are looked at together, if one node has no more."""


@dataclass(frozen=True, eq=False)
class CutTable:
    """What the cuts are decided by, beside the rows."""

    codes: tuple[Int32, ...]
    """The codes that occur on each attribute, ascending, without MISSING."""
    attributes: Attributes
    criterion: Criterion
    heuristic: int
    test: int
    """SIDES or GUARANTEE."""


@dataclass
class OpenNode:
    """A leaf that may be cut."""

    node: int
    rows: int
    histograms: Int64  # [d, codes + 1] how many rows lack a code, and how many have each
    untried: list[int]
    """The attributes that are left, the best first."""

    def cut(self, table: CutTable) -> tuple[int, Cut] | None:
        """The cut of the best attribute that leaves k rows on both sides; None if no attribute is left."""
        while self.untried:
            attribute = self.untried.pop(0)
            cut = _cut(self.histograms[attribute], table, attribute, self.rows)
            if min(cut.left, self.rows - cut.left) >= table.criterion.k:
                return attribute, cut
        return None


def first_cuts(
    engine: Engine, ranges: Sequence[RowRange], snapshot: SnapshotColumns, table: CutTable, rows: int
) -> tuple[CutTree, dict[int, int]]:
    """Cut nodes until none has more rows than a task may have, or can be cut; the tree, and the rows of each leaf."""
    tree, sizes = GrowingTree(), {0: rows}
    waiting = [0] if rows > engine.chunk_rows else []
    together = max(1, MOST_CELLS // (len(table.codes) * (max((len(one) for one in table.codes), default=0) + 1)))
    while waiting:
        nodes, waiting = np.array(waiting[:together], np.int32), waiting[together:]
        open_nodes = _open_nodes(engine, ranges, snapshot, table, tree.frozen(), nodes, sizes)
        while open_nodes:
            proposed = [(node, found) for node in open_nodes if (found := node.cut(table)) is not None]
            counts = _side_counts(engine, ranges, snapshot, table, tree.frozen(), proposed)
            open_nodes = []
            made = []
            for (node, (attribute, cut)), sides in zip(proposed, counts, strict=True):
                if _holds(sides, cut, node.rows, table):
                    made.append((node, attribute, cut))
                else:
                    open_nodes.append(node)
            for node, attribute, cut in made:
                code = int(table.codes[attribute][cut.rank]) if cut.rank >= 0 else MISSING
                left, right = tree.cut(node.node, attribute, code)
                del sizes[node.node]
                sizes |= {left: cut.left, right: node.rows - cut.left}
                waiting += [child for child in (left, right) if sizes[child] > engine.chunk_rows]
        waiting.sort()
    return tree.frozen(), sizes


def _open_nodes(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    table: CutTable,
    tree: CutTree,
    nodes: Int32,
    sizes: dict[int, int],
) -> list[OpenNode]:
    """The nodes with their histograms, and their attributes in the order in which they are tried."""
    listed = tuple(np.concatenate([np.array([MISSING], np.int32), codes]) for codes in table.codes)
    tasks = [HistogramTask(one, snapshot, tree, nodes, listed) for one in ranges]
    counts = np.sum(engine.run(count_codes, tasks, [one.size for one in ranges]), axis=0)
    opened = []
    for node, histograms in zip(nodes.tolist(), counts, strict=True):
        rows = sizes[node]
        scores = {}
        for attribute, histogram in enumerate(histograms):
            ranks = _ranks(histogram)
            if ranks.high > ranks.low:
                scores[attribute] = _score(histogram, ranks, table, attribute, rows)
        untried = sorted(scores, key=lambda attribute: (-scores[attribute], attribute))
        opened.append(OpenNode(node, rows, histograms, untried))
    return opened


def _side_counts(
    engine: Engine,
    ranges: Sequence[RowRange],
    snapshot: SnapshotColumns,
    table: CutTable,
    tree: CutTree,
    proposed: Sequence[tuple[OpenNode, tuple[int, Cut]]],
) -> Int64:
    """How often each sensitive value occurs on either side of the cuts that are proposed."""
    values = len(table.criterion.share)
    if not proposed:
        return np.zeros((0, 2, values), np.int64)
    attribute = np.array([found[0] for _, found in proposed], np.int32)
    code = np.array(
        [table.codes[number][cut.rank] if cut.rank >= 0 else MISSING for _, (number, cut) in proposed], np.int32
    )
    nodes = np.array([node.node for node, _ in proposed], np.int32)
    tasks = [SideTask(one, snapshot, tree, nodes, attribute, code, values) for one in ranges]
    counts: Int64 = np.sum(engine.run(count_sides, tasks, [one.size for one in ranges]), axis=0)
    return counts


def _holds(sides: Int64, cut: Cut, rows: int, table: CutTable) -> bool:
    """Whether both sides of a cut satisfy the criterion, or the counts of the whole guarantee it."""
    criterion = table.criterion
    if table.test == GUARANTEE:
        return bool(guarantees(sides.sum(axis=0), min(cut.left, rows - cut.left), criterion))
    if table.test != SIDES:
        raise ValueError("cuts that are only likely to hold are not made in parts")
    return bool(satisfies(sides[0], cut.left, criterion) and satisfies(sides[1], rows - cut.left, criterion))


def _ranks(histogram: Int64) -> Ranks:
    """The least and the greatest rank that occur in a histogram whose first entry counts missing values."""
    present = np.flatnonzero(histogram[1:])
    return Ranks(int(present[0]), int(present[-1])) if len(present) else Ranks(0, 0)


def _score(histogram: Int64, ranks: Ranks, table: CutTable, attribute: int, rows: int) -> int:
    attributes = table.attributes
    if table.heuristic == WIDTH:
        position = attributes.position[attribute]
        return int(position[ranks.high] - position[ranks.low])
    own, depth = _from_lowest(histogram, ranks), int(attributes.depth[attribute])
    return int(histogram_score(own, ranks, rows, table.heuristic, attributes.nodes[attribute], depth))


def _cut(histogram: Int64, table: CutTable, attribute: int, rows: int) -> Cut:
    ranks, attributes = _ranks(histogram), table.attributes
    own, depth = _from_lowest(histogram, ranks), int(attributes.depth[attribute])
    return median_cut(own, ranks, rows, attributes.nodes[attribute], depth)


def _from_lowest(histogram: Int64, ranks: Ranks) -> Int64:
    """The histogram as the kernel has it: missing values, then the least rank of the node and those after it."""
    return np.concatenate([histogram[:1], histogram[1 + ranks.low : 2 + ranks.high]])
