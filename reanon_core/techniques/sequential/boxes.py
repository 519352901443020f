"""From generalized rows to boxes: code intervals of every quasi-identifier, at least min_width wide."""

import numpy as np

from reanon_core.model.arrays import Int32
from reanon_core.model.release import ANYTHING, Boxes
from reanon_core.model.schema import Ends, QuasiIdentifier, Schema
from reanon_core.recoding.boxes import widen
from reanon_core.techniques.sequential.generalization import GeneralizedRows
from reanon_core.techniques.sequential.loss_measure import Measure


def boxes_of(schema: Schema, shown: list[int], rows: GeneralizedRows, measure: Measure) -> tuple[Boxes, Int32]:
    """The box of each person's own row [d, n], and the row that each world assigns to each person [worlds, n].

    A person's own row is the one that the true world, the last, assigns to them.
    """
    own = np.empty_like(rows.person)
    for world, people in enumerate(rows.person):
        own[world, people] = np.arange(len(people), dtype=np.int32)
    order = own[-1]
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.int32)
    low, high, missing = (np.full((len(schema.names), len(order)), side, dtype=np.int32) for side in ANYTHING)
    first, last = measure.codes(rows.low[:, order], rows.high[:, order])
    for at, attribute in enumerate(shown):
        column = schema.quasi_identifiers[attribute]
        low[attribute], high[attribute], missing[attribute] = first[at], last[at], 0
        _widen(low[attribute], high[attribute], column)
    return Boxes(low, high, missing.astype(np.int8)), place[own]


def _widen(low: Int32, high: Int32, column: QuasiIdentifier) -> None:
    """Widen to min_width, in place; with a taxonomy, to the lowest ancestor that is wide enough.

    Ends on the grid are left as they are here: where rows are emitted they become ends of bins, which are as wide.
    """
    if column.min_width == 1 or column.ends is Ends.GRID:
        return
    if not column.hierarchical or column.taxonomy is None:
        widen(low, high, np.zeros(len(low), np.int8), column)
        return
    leaves = np.arange(len(column.taxonomy.leaves), dtype=np.int32)
    for level in column.taxonomy.ancestors[::-1]:  # from the leaves up
        narrow = high - low + 1 < column.min_width
        first = np.full(int(level.max()) + 1, len(leaves), dtype=np.int32)
        last = np.zeros(int(level.max()) + 1, dtype=np.int32)
        np.minimum.at(first, level, leaves)
        np.maximum.at(last, level, leaves)
        low[narrow], high[narrow] = first[level[low[narrow]]], last[level[low[narrow]]]
