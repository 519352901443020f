"""The bins of a grid that is the same in every release: between their ends a published interval tells nothing."""

from dataclasses import dataclass
from datetime import date

import numpy as np

from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.coding import LEAST_CODE, MOST_CODE
from reanon_core.model.schema import FOUR_WEEKS, SHARE, SMALLEST, Ends, Kind, QuasiIdentifier, Schema
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.recoding.attribute_scales import Extremes

BINS_GROW = 0
"""The width of bins that grow with the number."""
_EPOCH = date(1970, 1, 1).toordinal()
_CALENDAR = (date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH)


@dataclass(frozen=True)
class Grid:
    """Bins of `width` codes from `origin` on, both ways, between two codes; no bin is narrower than that.

    What is left at either end, too narrow for a bin, belongs to the bin beside it.
    """

    width: int
    """The codes of a bin; BINS_GROW: a power of two, at most a SHARE-th of the number, at least SMALLEST."""
    origin: int
    bounds: tuple[int, int]

    def bins(self, codes: Int32) -> tuple[Int64, Int64]:
        """The first and last code of the bin of each code.

        Requires: codes within the bounds.
        """
        wide = codes.astype(np.int64)
        low, high = self._growing(wide) if self.width == BINS_GROW else self._uniform(wide)
        return np.maximum(low, self.bounds[0]), np.minimum(high, self.bounds[1])

    def _uniform(self, codes: Int64) -> tuple[Int64, Int64]:
        first, last = self.bounds
        lowest = -((self.origin - first) // self.width)  # the first whole bin
        highest = max(lowest, (last - self.origin + 1) // self.width - 1)
        nth = np.clip((codes - self.origin) // self.width, lowest, highest)
        low = np.where(nth == lowest, first, self.origin + nth * self.width)
        return low, np.where(nth == highest, last, self.origin + (nth + 1) * self.width - 1)

    @staticmethod
    def _growing(codes: Int64) -> tuple[Int64, Int64]:
        """Negative numbers have the mirrored bins: -1 is beside 0 as 0 is beside -1."""
        size = np.where(codes < 0, ~codes, codes)
        doublings = np.frexp(size // SHARE)[1].astype(np.int64) - 1
        width = np.maximum(np.int64(1) << np.maximum(doublings, 0), SMALLEST)
        near = size - size % width
        far = near + width - 1
        return np.where(codes < 0, ~far, near), np.where(codes < 0, ~near, far)


def grid_of(column: QuasiIdentifier) -> Grid | None:
    """The grid of a number, a date or an order; None where values are published as they are, or by their tree.

    A declared domain of so few values that one bin would hold them all is treated like an order.
    """
    if column.hierarchical or (column.kind is Kind.CATEGORICAL and column.min_width == 1):
        return None
    bounds = column.bounds
    if bounds is None:
        calendar = column.kind is Kind.DATE
        width = FOUR_WEEKS if calendar else BINS_GROW
        width = column.min_width if column.min_width > 1 else width
        return Grid(width, 0, _CALENDAR if calendar else (LEAST_CODE, MOST_CODE))
    values = bounds[1] - bounds[0] + 1
    width = column.min_width
    if width == 1 and values >= 2 * SMALLEST:
        width = max(SMALLEST, 1 << max(0, (values // SHARE).bit_length() - 1))
    return None if width == 1 else Grid(width, bounds[0], bounds)


def align(low: Int32, high: Int32, column: QuasiIdentifier) -> None:
    """Move the ends of intervals outwards to the ends of their bins, in place.

    Ensures: the ends depend on the bins of the group's members only.
    """
    grid = grid_of(column)
    if grid is not None:
        low[:], high[:] = grid.bins(low)[0], grid.bins(high)[1]
    elif column.hierarchical and column.taxonomy is not None and column.min_width > 1:
        first, last = tree_bins(column.taxonomy, column.min_width)
        low[:], high[:] = first[low], last[high]


def notes_on_bins(found: Extremes, schema: Schema) -> tuple[str, ...]:
    """A note for each number or date that a release would tell nothing of, because one bin holds all its values.

    `found` are the least and the greatest code of each.
    """
    notes = []
    for column, own in zip(schema.quasi_identifiers, found, strict=True):
        grid = grid_of(column) if column.ends is Ends.GRID and column.kind is not Kind.CATEGORICAL else None
        if grid is None:
            continue
        ends = np.array(own or (0, 0), dtype=np.int32)
        if MISSING < ends[0] < ends[1] and np.ptp(grid.bins(ends)[0]) == 0:
            notes.append(
                f"{column.name}: one bin holds all values, so the release tells nothing of them; declare a domain or a "
                f"smaller min_width, or kind: categorical if the numbers are labels, in a series that begins"
            )
    return tuple(notes)


def keeps_bins(column: QuasiIdentifier, before: QuasiIdentifier) -> bool:
    """Whether every code of the column as it was before has the bin that it had: earlier releases are judged by it too.

    Requires: a domain or a taxonomy that has grown, and nothing else. Bins repeat, so those near the ends show it.
    """
    low, high = before.bounds or (0, 0)
    old, new = grid_of(before), grid_of(column)
    if old is None or new is None:
        if column.taxonomy is None or before.taxonomy is None or not column.hierarchical or column.min_width == 1:
            return old is new
        ends = zip(
            tree_bins(before.taxonomy, before.min_width), tree_bins(column.taxonomy, column.min_width), strict=True
        )
        return all(np.array_equal(one, other[: len(one)]) for one, other in ends)
    near = np.arange(3 * max(old.width, new.width), dtype=np.int64)
    codes = np.clip(np.concatenate([low + near, high - near]), low, high).astype(np.int32)
    return np.array_equal(old.bins(codes), new.bins(codes))


def tree_bins(taxonomy: Taxonomy, least: int) -> tuple[Int32, Int32]:
    """The first and last leaf of the bin of each leaf: the lowest nodes that leave no other node too narrow.

    A node is divided into its children if each of them has `least` leaves or more. Otherwise it is one bin: were only
    its wide children bins, then the node itself would tell that a leaf is in a narrow one.
    """
    node = taxonomy.ancestors[0]
    for level in taxonomy.ancestors[1:]:
        leaves = np.bincount(level)[level]
        narrowest = np.full(len(taxonomy.labels), len(level), dtype=np.int64)
        np.minimum.at(narrowest, node, leaves)
        node = np.where(narrowest[node] >= least, level, node)
    every = np.arange(node.size, dtype=np.int32)
    first = np.full(len(taxonomy.labels), node.size, dtype=np.int32)
    last = np.zeros(len(taxonomy.labels), dtype=np.int32)
    np.minimum.at(first, node, every)
    np.maximum.at(last, node, every)
    return first[node], last[node]
