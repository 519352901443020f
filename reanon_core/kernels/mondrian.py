"""Mondrian: cut a table in two again and again, as long as both sides satisfy the principle.

Histograms of ranks, medians and the boundaries of taxonomies say where to cut, and which attribute is best. Rows are
moved physically, so that every pass over a node runs along memory: their packed ranks (ranks.py), their sensitive value
and their number. The extent of a node on all attributes is one pass of packed minima.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.mondrian_criterion import NO_T, Criterion, guarantees, makes_likely, satisfies
from reanon_core.kernels.ranks import PackedRanks, field_minimum, guard_bits
from reanon_core.model.arrays import Bool, Int32, Int64, UInt64

WIDTH, DISTINCT, BALANCE = 0, 1, 2
"""The heuristics that choose the attribute: the widest, the one with most values, the one with the most even cut."""
FEW_VALUES = 64
"""So many values are never numbered anew."""
SIDES, GUARANTEE, LIKELIHOOD = 0, 1, 2
"""Whether both sides satisfy the criterion; or whether the counts of the whole say that they do, in any arrangement of
its values or in most."""


class Attributes(NamedTuple):
    """What the ranks of each attribute stand for."""

    position: Int64  # [d, distinct] scaled position of each rank
    nodes: Int32  # [d, depth, distinct] taxonomy node of each rank at each depth, root first
    depth: Int64  # [d] depth of each taxonomy, 0 where there is none


class Field(NamedTuple):
    """Where the rank of one attribute is in the packed words."""

    word: int
    shift: np.uint64
    top: np.uint64
    """The mask of the field, which is also the neutral element."""


class Node(NamedTuple):
    """A stretch of the rows."""

    begin: int
    end: int


class Ranks(NamedTuple):
    """The least and the greatest rank of one attribute in a node."""

    low: int
    high: int


class Cut(NamedTuple):
    """Which rows of a node go left: those of lower rank, and the first ones of exactly that rank."""

    rank: int
    quota: int
    """How many rows of exactly that rank go left at most."""
    left: int
    """How many rows go left in all."""


@compiled
def field_of(width: int, attribute: int) -> Field:
    """The field of an attribute's rank."""
    per_word = 64 // width
    shift = np.uint64((2 * attribute % per_word) * width)
    return Field(2 * attribute // per_word, shift, (np.uint64(1) << np.uint64(width - 1)) - np.uint64(1))


@compiled
def rank_in(word: np.uint64, field: Field) -> int:
    """The rank in a field; the neutral element, a missing value, counts as -1, before the first rank."""
    content = (word >> field.shift) & field.top
    return -1 if content == field.top else int(np.int64(content))


@compiled
def count_ranks(words: UInt64, field: Field, node: Node, ranks: Ranks, histogram: Int64) -> None:
    """Count the rows of a node by rank: histogram[0] has the missing values, histogram[1] the least rank."""
    source = words[field.word]
    histogram[: ranks.high - ranks.low + 2] = 0
    for row in range(node.begin, node.end):
        rank = rank_in(source[row], field)
        histogram[0 if rank < 0 else rank - ranks.low + 1] += 1


@compiled
def histogram_score(histogram: Int64, ranks: Ranks, rows: int, heuristic: int, nodes: Int32, depth: int) -> int:
    """How good it is to cut an attribute by DISTINCT, its number of values, or BALANCE, how even its cut is."""
    if heuristic == DISTINCT:
        distinct = 0
        for rank in range(1, ranks.high - ranks.low + 2):
            distinct += 1 if histogram[rank] else 0
        return distinct
    return -abs(rows - 2 * median_cut(histogram, ranks, rows, nodes, depth).left)


@compiled
def median_cut(histogram: Int64, ranks: Ranks, rows: int, nodes: Int32, depth: int) -> Cut:
    """The strict cut of an attribute: rows with the same value stay together.

    Without a taxonomy it is at the lower median, or at the value before it where nothing would be left on the right.
    With one, it is at the boundary between children of the node that covers the rows which leaves the sides most even.
    """
    if depth:
        return _taxonomy_cut(histogram, ranks, rows, nodes, depth)
    left, rank = histogram[0] + histogram[1], ranks.low
    while left < (rows + 1) // 2:
        rank += 1
        left += histogram[rank - ranks.low + 1]
    if rank == ranks.high:
        left -= histogram[rank - ranks.low + 1]
        rank -= 1
        while rank > ranks.low and histogram[rank - ranks.low + 1] == 0:
            rank -= 1
    return Cut(int(rank), int(left), int(left))


@compiled
def _taxonomy_cut(histogram: Int64, ranks: Ranks, rows: int, nodes: Int32, depth: int) -> Cut:
    cover = 0
    while cover + 1 < depth and nodes[cover + 1, ranks.low] == nodes[cover + 1, ranks.high]:
        cover += 1
    below = min(cover + 1, depth - 1)
    left, best, best_left = histogram[0], -1, np.int64(0)
    for rank in range(ranks.low, ranks.high):
        left += histogram[rank - ranks.low + 1]
        if nodes[below, rank] != nodes[below, rank + 1] and (
            best < 0 or abs(rows - 2 * left) < abs(rows - 2 * best_left)
        ):
            best, best_left = rank, left
    return Cut(int(best), int(best_left), int(best_left))


@compiled
def relaxed_cut(histogram: Int64, ranks: Ranks, rows: int) -> Cut:
    """The cut that sends half of the rows left, though the median's value may then be on both sides."""
    half = max((rows + 1) // 2, int(histogram[0]))  # missing values stay together
    below, rank = histogram[0], ranks.low
    while below + histogram[rank - ranks.low + 1] < half:
        below += histogram[rank - ranks.low + 1]
        rank += 1
    return Cut(int(rank), int(half - below), int(half))


class Choice(NamedTuple):
    """How cuts are chosen."""

    heuristic: int
    strict: bool
    test: int
    """What is tested of a cut: SIDES, GUARANTEE or LIKELIHOOD."""


class Rows(NamedTuple):
    """The rows of the table, moved physically, so that a node of the recursion is a stretch of them."""

    words: UInt64  # [w, n] packed ranks
    width: int
    sensitive: Int32  # [n]
    number: Int32  # [n] the row of the table


class Record(NamedTuple):
    """What is written down of the cuts, for a reader of the source (recoding/mondrian_record.py)."""

    rejected: Int64  # [r, 4] where a node begins and ends, the attribute, the greatest rank on the left
    depth: Int32  # [n] how many cuts lead to each class


BEGIN, END, ATTRIBUTE, RANK = range(4)
"""The columns of rejected cuts; a node is a stretch of the rows ordered by class."""


class Scratch(NamedTuple):
    """Space that every node uses again."""

    low: Int64  # [d] least rank in the node
    high: Int64  # [d] greatest rank; below `low` where all values are missing
    histogram: Int64  # [distinct + 1]
    counts: Int64  # [2, values] value counts on the left and on the right
    score: Int64  # [d]
    tried: Bool  # [d]


@compiled
def mondrian(
    ranks: PackedRanks, sensitive: Int32, attributes: Attributes, criterion: Criterion, choice: Choice, record: Record
) -> tuple[Int32, int, int]:
    """The class of each row, the number of classes, 0 if the table as a whole fails, and of rejected cuts recorded.

    The packed ranks are consumed. Empty arrays in the record are left empty.

    Paper: [LDR06] Section 4, the recursive multidimensional partitioning.
    """
    count = len(sensitive)
    rows = Rows(ranks.words, ranks.width, sensitive.copy(), np.arange(count).astype(np.int32))
    spare = Rows(np.empty_like(rows.words), ranks.width, np.empty_like(rows.sensitive), np.empty_like(rows.number))
    scratch = _scratch(attributes, criterion)
    class_of = np.full(count, -1, dtype=np.int32)
    for value in sensitive:
        scratch.counts[0, value] += 1
    if count == 0 or not satisfies(scratch.counts[0], count, criterion):
        return class_of, 0, 0
    stack = np.empty((64 + count, 4), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, count, 0, len(criterion.share)
    depth, classes, rejected = 1, 0, 0
    while depth:
        depth -= 1
        begin, end, above, values = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        left = 0
        if end - begin >= 2 * criterion.k:
            node = Node(begin, end)
            if values > max(FEW_VALUES, 2 * (end - begin)) and criterion.t == NO_T:
                values = _renumber(rows.sensitive[begin:end], scratch.counts[0, :values])
            attribute, cut = _best_cut(rows, node, attributes, values, criterion, choice, scratch)
            if len(record.rejected):
                if attribute >= 0:
                    scratch.tried[attribute] = False  # the others that were tried are rejected
                rejected = _record_rejected(record.rejected, rejected, rows, node, attributes, choice, scratch)
            if attribute >= 0:
                left = cut.left
                _partition(rows, field_of(rows.width, attribute), node, cut, spare)
        if left:
            stack[depth, 0], stack[depth, 1] = begin + left, end
            stack[depth + 1, 0], stack[depth + 1, 1] = begin, begin + left
            for side in (depth, depth + 1):
                stack[side, 2], stack[side, 3] = above + 1, values
            depth += 2
        else:
            for row in range(begin, end):
                class_of[rows.number[row]] = classes
            if len(record.depth):
                record.depth[classes] = above
            classes += 1
    return class_of, classes, rejected


@compiled
def _scratch(attributes: Attributes, criterion: Criterion) -> Scratch:
    count, distinct = attributes.position.shape
    return Scratch(
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.zeros(distinct + 1, dtype=np.int64),
        np.zeros((2, len(criterion.share)), dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.bool_),
    )


@compiled
def _renumber(sensitive: Int32, seen: Int64) -> int:
    """Number the values of a node anew, in the same order, and return how many there are; `seen` is scratch.

    Then a node costs time for its rows, not for all values there are. No rule but t depends on what the values are.
    """
    seen[:] = 0
    for value in sensitive:
        seen[value] = 1
    distinct = 0
    for value in range(len(seen)):
        if seen[value]:
            seen[value] = distinct
            distinct += 1
    for row in range(len(sensitive)):
        sensitive[row] = seen[sensitive[row]]
    return distinct


@compiled
def _best_cut(
    rows: Rows, node: Node, attributes: Attributes, values: int, criterion: Criterion, choice: Choice, scratch: Scratch
) -> tuple[int, Cut]:
    """The best attribute, -1 if there is none, and its cut, such that both sides satisfy the criterion."""
    # Tuples of arrays are costly to hand on, so the functions of the innermost loops get the arrays themselves.
    words, width, sensitive = rows.words, rows.width, rows.sensitive
    position, nodes = attributes.position, attributes.nodes
    low, high, histogram, score, tried = scratch.low, scratch.high, scratch.histogram, scratch.score, scratch.tried
    counts = scratch.counts[:, :values]
    size, k = node.end - node.begin, criterion.k
    _fill_extent(words, width, node, low, high)
    for attribute in range(len(score)):
        tried[attribute] = high[attribute] <= low[attribute]
        if tried[attribute]:
            continue
        if choice.heuristic == WIDTH:
            score[attribute] = position[attribute, high[attribute]] - position[attribute, low[attribute]]
        else:
            ranks, depth = Ranks(low[attribute], high[attribute]), attributes.depth[attribute]
            count_ranks(words, field_of(width, attribute), node, ranks, histogram)
            score[attribute] = histogram_score(histogram, ranks, size, choice.heuristic, nodes[attribute], depth)
    while True:
        best = -1
        for attribute in range(len(score)):
            if not tried[attribute] and (best < 0 or score[attribute] > score[best]):
                best = attribute
        if best < 0:
            return best, Cut(0, 0, 0)
        tried[best] = True
        ranks, field, depth = Ranks(low[best], high[best]), field_of(width, best), attributes.depth[best]
        count_ranks(words, field, node, ranks, histogram)
        cut = _cut_at(histogram, ranks, size, nodes[best], depth, choice)
        if cut.left < k or size - cut.left < k:
            continue
        if choice.test != SIDES:
            counts[:] = 0
            for row in range(node.begin, node.end):
                counts[0, sensitive[row]] += 1
            smaller = min(cut.left, size - cut.left)
            if choice.test == GUARANTEE and guarantees(counts[0], smaller, criterion):
                return best, cut
            if choice.test == LIKELIHOOD and makes_likely(counts[0], smaller, criterion):
                return best, cut
            continue
        _count_sides(words[field.word], sensitive, field, node, cut, counts)
        if satisfies(counts[0], cut.left, criterion) and satisfies(counts[1], size - cut.left, criterion):
            return best, cut


@compiled
def _cut_at(histogram: Int64, ranks: Ranks, size: int, nodes: Int32, depth: int, choice: Choice) -> Cut:
    """The one cut of an attribute that is tested; a taxonomy has no relaxed cut."""
    if choice.strict or depth:
        return median_cut(histogram, ranks, size, nodes, depth)
    return relaxed_cut(histogram, ranks, size)


@compiled
def _record_rejected(
    record: Int64, count: int, rows: Rows, node: Node, attributes: Attributes, choice: Choice, scratch: Scratch
) -> int:
    """Write down the cuts of a node that were rejected for their values, and count on."""
    low, high, histogram, size = scratch.low, scratch.high, scratch.histogram, node.end - node.begin
    for attribute in range(len(low)):
        if not scratch.tried[attribute] or high[attribute] <= low[attribute]:
            continue
        ranks, depth = Ranks(low[attribute], high[attribute]), attributes.depth[attribute]
        count_ranks(rows.words, field_of(rows.width, attribute), node, ranks, histogram)
        cut = _cut_at(histogram, ranks, size, attributes.nodes[attribute], depth, choice)
        record[count, BEGIN], record[count, END], record[count, ATTRIBUTE] = node.begin, node.end, attribute
        record[count, RANK] = cut.rank if cut.quota else cut.rank - 1
        count += 1
    return count


@compiled
def _fill_extent(words: UInt64, width: int, node: Node, low: Int64, high: Int64) -> None:
    """The least and greatest rank of each attribute in a node."""
    top = (np.uint64(1) << np.uint64(width - 1)) - np.uint64(1)
    guard, down = guard_bits(width), np.uint64(width - 1)
    pairs = 64 // width // 2
    for word in range(len(words)):
        source = words[word]
        least = source[node.begin]
        for row in range(node.begin + 1, node.end):
            least = field_minimum(least, source[row], guard, down)
        for pair in range(pairs):
            attribute = word * pairs + pair
            if attribute < len(low):
                fields = least >> np.uint64(2 * pair * width)
                low[attribute] = np.int64(fields & top)
                high[attribute] = np.int64(top) - 1 - np.int64((fields >> np.uint64(width)) & top)


@compiled
def _count_sides(source: UInt64, sensitive: Int32, field: Field, node: Node, cut: Cut, counts: Int64) -> None:
    """How often each sensitive value occurs on either side of the cut."""
    counts[:] = 0
    equal = 0
    for row in range(node.begin, node.end):
        rank = rank_in(source[row], field)
        equal += 1 if rank == cut.rank else 0
        right = 1 if rank > cut.rank or (rank == cut.rank and equal > cut.quota) else 0
        counts[right, sensitive[row]] += 1


@compiled
def _partition(rows: Rows, field: Field, node: Node, cut: Cut, spare: Rows) -> None:
    """Bring the left side to the front, stably: rows keep the order of their numbers inside every node."""
    words, sensitive, number = rows.words, rows.sensitive, rows.number
    spare_words, spare_sensitive, spare_number = spare.words, spare.sensitive, spare.number
    kept, moved, equal = node.begin, 0, 0
    for row in range(node.begin, node.end):
        rank = rank_in(words[field.word, row], field)
        equal += 1 if rank == cut.rank else 0
        right = 1 if rank > cut.rank or (rank == cut.rank and equal > cut.quota) else 0
        for part in range(len(words)):
            value = words[part, row]
            words[part, kept], spare_words[part, moved] = value, value
        sensitive[kept], spare_sensitive[moved] = sensitive[row], sensitive[row]
        number[kept], spare_number[moved] = number[row], number[row]
        kept += 1 - right
        moved += right
    for i in range(moved):
        for part in range(len(words)):
            words[part, kept + i] = spare_words[part, i]
        sensitive[kept + i], number[kept + i] = spare_sensitive[i], spare_number[i]
