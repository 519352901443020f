"""[ST15] Algorithm 2: one release, generalized only as far as every world needs; and the boxes of its rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reanon_core.kernels.matching import (
    NONE,
    Components,
    MatchingLimits,
    RowsAndPeople,
    cover_partners,
    match_components,
)
from reanon_core.kernels.ranks import column_ids
from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.release import ANYTHING, Boxes
from reanon_core.model.schema import Ends, QuasiIdentifier, Schema
from reanon_core.recoding.boxes import widen
from reanon_core.techniques.sequential.loss_measure import Measure

CELLS = 50_000_000
"""The largest table of costs, 200 MB; half as many cells where costs need eight bytes. Larger components are cut."""
UNLIMITED = 2**62


class MatchingOrders(NamedTuple):
    """All that chance decides about a release whose worlds are given."""

    worlds: Int32  # [worlds] the order in which worlds are matched
    people: Int32  # [n] the order of people with the same values


@dataclass(frozen=True, eq=False)
class GeneralizedRows:
    """The rows of a release, each with its generalized value and the person that each world finds in it."""

    low: Int32  # [d, n]
    high: Int32  # [d, n]
    person: Int32  # [worlds, n]
    cut: int = 0
    """How many components were too large for one table of costs."""


def generalize(
    places: Int32, suffix: Int32, images: Int32, measure: Measure, rng: np.random.Generator, *, cells: int = CELLS
) -> GeneralizedRows:
    """Start from the rows of one world; match every other world with them at the least loss, and widen each row.

    `suffix` [n] numbers the suffixes that the release shows; `images` [worlds, n] says whose suffix each world assigns
    to each person. A component that would lose more than in the non-sequential release uses the rows of that release
    (departure D4).

    Paper: [ST15] Algorithm 2; Equations 8 and 9; Example 4.2. Matchings are exact, which replaces the threshold p
    (departure D3).
    """
    orders = MatchingOrders(keyed_permutation(len(images), rng), keyed_permutation(images.shape[1], rng))
    return generalize_in_order(places, suffix, images, measure, orders, cells=cells)


def generalize_in_order(
    places: Int32, suffix: Int32, images: Int32, measure: Measure, orders: MatchingOrders, *, cells: int = CELLS
) -> GeneralizedRows:
    """The release that these orders lead to."""
    worlds, people = images.shape
    world_order, person_order = orders
    low, high = measure.ungeneralized(places)
    table = RowsAndPeople(low, high, places)
    value = column_ids(places)
    exact = np.ones(people, dtype=np.bool_)  # rows that are not generalized yet
    component = suffix[images[world_order[0]]]
    start = np.concatenate([[0], np.cumsum(np.bincount(component))]).astype(np.int64)
    person = np.empty((worlds, people), dtype=np.int32)
    person[world_order[0]] = np.arange(people)
    limits = MatchingLimits(measure.monotone, measure.greatest, cells)
    cut = 0
    for world in world_order[1:].tolist():
        row_key, person_component = _row_keys(value, exact, low, high), suffix[images[world]]
        components = Components(
            start,
            _sorted_by_key(component, row_key, person_order),
            row_key,
            _sorted_by_key(person_component, value, person_order),
            value,
        )
        partner = match_components(components, table, measure.tables, limits)
        if (partner == NONE).any():
            pieces, affected = _pieces(partner, component, person_component, components, cells)
            found = match_components(pieces, table, measure.tables, limits._replace(cells=UNLIMITED))
            partner = np.where(partner == NONE, found, partner)
            cut += affected
        cover_partners(table, partner, measure.tables)
        exact &= value[partner] == value
        person[world] = partner
    ours = GeneralizedRows(low, high, person, cut)
    return _least_loss(ours, non_sequential(places, images, images[world_order[0]], measure), component, measure)


def _pieces(
    partner: Int32, component: Int32, person_component: Int32, components: Components, cells: int
) -> tuple[Components, int]:
    """Cut components that are too large, less what is matched already, into pieces along the order of values.

    Returns the pieces as components of their own, and the number of components that were cut.

    Paper: [ST15] Section 4.4.
    """
    row_key, value = components.row_key, components.person_key
    rows = np.flatnonzero(partner == NONE)
    free = np.ones(len(partner), dtype=np.bool_)
    free[partner[partner != NONE]] = False
    people = np.flatnonzero(free)
    rows = rows[np.lexsort((value[rows], component[rows]))]
    people = people[np.lexsort((value[people], person_component[people]))]
    _, begin, home, size = np.unique(component[rows], return_index=True, return_inverse=True, return_counts=True)
    pieces = np.ceil(size / max(1.0, np.sqrt(cells / 2)))[home].astype(np.int64)
    piece = (np.arange(len(rows)) - begin[home]) * pieces // size[home]
    number = np.unique(np.stack([home, piece]), axis=1, return_inverse=True)[1].reshape(-1)
    start = np.concatenate([[0], np.cumsum(np.bincount(number))]).astype(np.int64)
    row_order = rows[np.lexsort((row_key[rows], number))].astype(np.int32)
    person_order = people[np.lexsort((value[people], number))].astype(np.int32)
    return Components(start, row_order, row_key, person_order, value), len(begin)


def non_sequential(places: Int32, images: Int32, owner: Int32, measure: Measure) -> GeneralizedRows:
    """The closure, row by row, of every person to whom some world assigns the row's suffix.

    `owner` [n] says whose suffix each row has. In every world a row belongs to the person to whom that world assigns
    the suffix, whatever columns are shown, so projections of one table serve all releases.

    Paper: [ST15] Section 4.5.
    """
    worlds, people = images.shape
    person = np.empty((worlds, people), dtype=np.int32)
    inverse = np.empty(people, dtype=np.int32)
    for world, image in enumerate(images):
        inverse[image] = np.arange(people, dtype=np.int32)
        person[world] = inverse[owner]
    low, high = measure.ungeneralized(places[:, person[0]])
    for partner in person[1:]:
        cover_partners(RowsAndPeople(low, high, places), partner, measure.tables)
    return GeneralizedRows(low, high, person)


def homogeneous(places: Int32, images: Int32, owner: Int32, bucket: Int32, measure: Measure) -> GeneralizedRows:
    """Every row as wide as the closure of its bucket: the homogeneous anonymization.

    Paper: [ST15] Table 13 and [ST15] Section 4.5.
    """
    order = np.argsort(bucket, kind="stable").astype(np.int32)
    begin = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    sizes = np.diff(begin, append=len(order))
    low, high = measure.ungeneralized(places[:, order[begin]])
    for step in range(1, int(sizes.max(initial=0))):
        at = np.minimum(begin + step, begin + sizes - 1)
        cover_partners(RowsAndPeople(low, high, places), order[at], measure.tables)
    home = np.empty(len(order), dtype=np.int64)
    home[order] = np.repeat(np.arange(len(begin)), sizes)
    person = non_sequential(places, images, owner, measure).person
    return GeneralizedRows(low[:, home[owner]], high[:, home[owner]], person)


def _least_loss(ours: GeneralizedRows, theirs: GeneralizedRows, component: Int32, measure: Measure) -> GeneralizedRows:
    """For each component the rows that lose less; ours where both lose the same."""
    gain = measure.losses(theirs.low, theirs.high) - measure.losses(ours.low, ours.high)
    total = np.zeros(int(component.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(total, component, gain)
    worse = (total < 0)[component]
    if not worse.any():
        return ours
    low, high = np.where(worse, theirs.low, ours.low), np.where(worse, theirs.high, ours.high)
    return GeneralizedRows(low, high, np.where(worse, theirs.person, ours.person), ours.cut)


def _row_keys(value: Int64, exact: Bool, low: Int32, high: Int32) -> Int64:
    """A number for each distinct generalized value; a row that is not generalized has the number of its value."""
    key = value.copy()
    wide = np.flatnonzero(~exact)
    key[wide] = int(value.max(initial=-1)) + 1 + column_ids(np.concatenate([low[:, wide], high[:, wide]]))
    return key


def _sorted_by_key(component: Int32, key: Int64, random_order: Int32) -> Int32:
    """Component after component, in ascending order of the key; at random among equals."""
    width = int(key.max(initial=0)) + 1
    both = component.astype(np.int64)[random_order] * width + key[random_order]
    return random_order[np.argsort(both, kind="stable")]


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
