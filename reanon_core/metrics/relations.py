"""Relations: how much of what ties each quasi-identifier to the sensitive value a reader still sees in a release."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.metrics.published_groups import published_groups
from reanon_core.metrics.published_part import published_part
from reanon_core.metrics.query_error import PublishedValues, values_by_group
from reanon_core.model.arrays import MISSING, Bool, Float64, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.schema import QuasiIdentifier

MOST_CATEGORIES = 16
"""The leaves of a category, or the nodes of one level of its taxonomy, that are told apart."""
QUARTERS = (0.25, 0.5, 0.75)
SAMPLE = 1 << 16
"""About how many people decide where the quarters of an ordered column begin."""
EXPECTED = 5.0
"""The least number of people that each cell of a pair's table would have by chance, so that its error is known."""
CHANCE = 0.05
"""How likely it may be that any pair at all is taken for a relation in a table without one."""
HALF = 0.5
"""What is added to each cell, so that an empty one has an odds ratio too."""


class Pairs(NamedTuple):
    """The relations of a table that are large enough to measure, and what a reader of the release sees of them."""

    attribute: Int64  # [p] the quasi-identifier
    category: Int64  # [p] its category
    value: Int64  # [p] the sensitive value
    true: Float64  # [p] log odds ratio: the value in this category against all others
    released: Float64  # [p]
    weight: Float64  # [p] one over the squared standard error of the true one


@dataclass(frozen=True, kw_only=True)
class RelationsKept:
    """The slope of released on true log odds ratios of each category of a quasi-identifier with each sensitive value.

    It is 1 if a reader sees every relation as it is, 0 if none, below 0 if they see the opposite. A pair counts if its
    odds ratio is at least `least_odds` or at most one over it, and if chance rarely gives any such pair in a table
    without relations (Bonferroni's bound on all pairs together). Pairs are weighted by the precision of the true ones.
    Numbers, dates and long orders are cut into quarters of the people: one scale for all columns, which no outlier
    bends and which sees a relation with the middle ages too. The reader's estimate is that of the query error: people
    are spread evenly over their box, with the values of their group. Withheld people are part of the truth. The metric
    is not a number if no pair counts.
    """

    name: ClassVar[str] = "relations"
    quick: ClassVar[bool] = True

    least_odds: float = 1.5
    """The odds ratio from which on a pair counts; above 1."""

    def __post_init__(self) -> None:
        """Check the range."""
        problems = [] if self.least_odds > 1 else [Problem("least_odds", "be above 1", str(self.least_odds))]
        require(problems, InvalidParameter)

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """The weighted slope through the origin."""
        pairs = self.pairs(entry)
        if not len(pairs.true):
            return float("nan")
        return float((pairs.weight * pairs.true) @ pairs.released / ((pairs.weight * pairs.true) @ pairs.true))

    def pairs(self, entry: Entry) -> Pairs:
        """The pairs that count, with both log odds ratios."""
        entry = published_part(entry)
        truth, columns = entry.snapshot.answer(), entry.snapshot.schema.quasi_identifiers
        cuts = [category_cuts(column, codes) for column, codes in zip(columns, truth.qi, strict=True)]
        shape = len(truth.schema.sensitive.values)
        true = [np.zeros((shape, len(cut) + 1)) for cut in cuts]
        for codes, cut, table in zip(truth.qi, cuts, true, strict=True):
            _count(codes, truth.sensitive, cut, table)
        released = released_tables(entry, cuts)
        found = [_testable(table) for table in true]
        errors = np.sqrt(2 * np.log(max(1.0, sum(int(one.sum()) for one in found) / CHANCE)))  # of a normal's tail
        listed = []
        for attribute, (table, shown, testable) in enumerate(zip(true, released, found, strict=True)):
            effect, error = _log_odds(table)
            large = np.abs(effect) >= np.maximum(np.log(self.least_odds), errors * error)
            value, category = here = np.nonzero(testable & large)
            effects = effect[here], _log_odds(shown)[0][here], error[here] ** -2
            listed.append((np.full(len(value), attribute), category, value, *effects))
        return Pairs(*(np.concatenate(parts) for parts in zip(*listed, strict=True)))


def category_cuts(column: QuasiIdentifier, codes: Int32) -> Int64:
    """The first code of each category but the first.

    The categories are the leaves or the nodes of the deepest level that has few enough, at least the children of the
    root; quarters of the people for numbers, dates, and orders of many leaves.
    """
    taxonomy = column.taxonomy
    if taxonomy is None or not (column.hierarchical or len(taxonomy.leaves) <= MOST_CATEGORIES):
        return _quarters(codes)
    levels = taxonomy.ancestors[1:]
    begins = [np.flatnonzero(np.diff(level)) + 1 for level in levels]
    few = [cut for cut in begins if len(cut) < MOST_CATEGORIES]
    return (few[-1] if few else begins[0] if begins else np.empty(0, np.int64)).astype(np.int64)


def _quarters(codes: Int32) -> Int64:
    """The codes that people have at which cuts come nearest to the quarters of those who have a value."""
    sample = codes[:: 1 + len(codes) // SAMPLE]
    occurring, people = np.unique(sample[sample != MISSING], return_counts=True)
    if len(occurring) < 2:
        return np.empty(0, np.int64)
    below = np.cumsum(people)[:-1]
    places = [np.abs(below - share * people.sum()).argmin() for share in QUARTERS]
    return np.asarray(occurring[1:][np.unique(places)], np.int64)


def released_tables(entry: Entry, cuts: list[Int64]) -> list[Float64]:
    """For each quasi-identifier how many people a reader expects with each value in each category.

    A missing value is in no category. Where some of a group lack it, the interval is taken to hold for all.
    """
    tables = [np.zeros((len(entry.snapshot.schema.sensitive.values), len(cut) + 1)) for cut in cuts]
    for boxes_low, boxes_high, box, group, values in _readers_view(entry):
        for low, high, cut, table in zip(boxes_low, boxes_high, cuts, tables, strict=True):
            _spread(low, high, box, group, values, cut, table)
    return tables


def _readers_view(entry: Entry) -> Iterator[tuple[Int32, Int32, Int32, Int32, PublishedValues]]:
    """Low and high of boxes; the box and the group of each person, or of a group as a whole; the groups' values."""
    rows = entry.release.person_rows
    if rows is not None:
        yield rows.boxes.low, rows.boxes.high, rows.box, rows.group, values_by_group(entry.release)
        return
    for part in published_groups(entry):
        number = np.arange(len(part.weight), dtype=np.int32)
        values = PublishedValues(np.concatenate([np.zeros(1, np.int64), part.end]), part.values, part.weight)
        yield part.low, part.high, number, number, values


def _log_odds(table: Float64) -> tuple[Float64, Float64]:
    """The log odds ratio of each cell against the rest of the table, and its standard error."""
    cells = [part + HALF for part in _four_cells(table)]
    both, value, category, neither = cells
    return np.log(both * neither / (value * category)), np.sqrt(sum(1 / cell for cell in cells))


def _four_cells(table: Float64) -> tuple[Float64, Float64, Float64, Float64]:
    """For each cell: people with both the value and the category, one of them only, or neither."""
    value = table.sum(axis=1, keepdims=True) - table
    category = table.sum(axis=0, keepdims=True) - table
    rest = np.maximum(table.sum() - table - value - category, 0.0)
    return table, np.maximum(value, 0.0), np.maximum(category, 0.0), rest


def _testable(table: Float64) -> Bool:
    """The pairs whose four cells have enough people by chance; of two categories, which mirror each other, one."""
    people = max(1.0, float(table.sum()))
    value, category = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    fewest = np.minimum(value, people - value) * np.minimum(category, people - category) / people
    testable: Bool = fewest >= EXPECTED
    if table.shape[1] == 2:
        testable[:, 1] = False
    return testable


@compiled
def _category(code: np.int64, cuts: Int64) -> int:
    """How many cuts are at most the code."""
    first, last = 0, len(cuts)
    while first < last:
        middle = (first + last) // 2
        if cuts[middle] <= code:
            first = middle + 1
        else:
            last = middle
    return first


@compiled
def _count(codes: Int32, sensitive: Int32, cuts: Int64, table: Float64) -> None:
    """Count the people of each value in each category."""
    for row in range(len(codes)):
        if codes[row] != MISSING:
            table[sensitive[row], _category(np.int64(codes[row]), cuts)] += 1


@compiled
def _spread(
    lows: Int32, highs: Int32, box: Int32, group: Int32, published: PublishedValues, cuts: Int64, table: Float64
) -> None:
    """Spread the values of each group over the categories that a box covers."""
    steps = np.zeros(table.shape, dtype=np.float64)  # where the density of boxes that cover whole categories changes
    for unit in range(len(box)):
        low, high = np.int64(lows[box[unit]]), np.int64(highs[box[unit]])
        if low == MISSING:
            continue
        first, last, density = _category(low, cuts), _category(high, cuts), 1 / (high - low + 1)
        members = group[unit]
        for row in range(published.begin[members], published.begin[members + 1]):
            value, people = published.values[row], published.weight[members]
            if first == last:
                table[value, first] += people
                continue
            table[value, first] += people * (cuts[first] - low) * density
            table[value, last] += people * (high - cuts[last - 1] + 1) * density
            steps[value, first + 1] += people * density
            steps[value, last] -= people * density
    for value in range(len(table)):
        covering = 0.0
        for category in range(1, len(cuts)):
            covering += steps[value, category]
            table[value, category] += covering * (cuts[category] - cuts[category - 1])
