"""The split of balanced buckets into groups, every scheme evaluated, with exact integer costs.

A bucket is `s` lists of `k` entries, one list for each value of its signature. A node of the recursion is the
same stretch of layers in every list, so it needs no copies: a bucket, a first layer and a number of layers.

The extent of a set of entries on all attributes is one packed minimum (packed_ranks.py). A counterfeit or a missing
value is the neutral element of the minimum.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.ranks import PackedRanks, field_minimum, guard_bits
from reanon_core.model.arrays import Int8, Int32, Int64, UInt64

MIDDLE, LOCAL = 32_768, 2048
"""A node of at most so many entries is copied to arrays of its own, so that its recursion stays in a cache: L2, L1."""


class Entries(NamedTuple):
    """The entries of all buckets: their order on each attribute, and their ranks."""

    order: Int32  # [d, n] the entries of each list, sorted by each attribute; permuted in place
    words: UInt64  # [w, n] packed ranks
    width: int
    position: Int64  # [d, distinct] scaled position of each rank


class Bucket(NamedTuple):
    """Where the lists of one bucket are."""

    start: int
    length: int
    """The entries of each list, which is the number of layers."""
    lists: int


class Node(NamedTuple):
    """A stretch of layers of a bucket: the same entries of every list."""

    start: int
    """The first entry of the first list."""
    layers: int
    step: int
    """How far the same layer of the next list is."""
    lists: int


class Scratch(NamedTuple):
    """Space that every node uses again."""

    right: Int8  # [n] whether an entry goes to the second part
    layers: UInt64  # [w, k] packed extent of each layer
    running: UInt64  # [w] packed extent of the layers seen
    after: Int64  # [k] perimeter of the layers from each one on
    moved: Int32  # [k] entries of the second part
    stack: Int64  # [k + 1, 2] nodes to be split: first layer, number of layers


class LocalCopy(NamedTuple):
    """The entries of one node in arrays of their own, numbered from 0."""

    number: Int32  # [n] the number of an entry inside its node
    entry: Int32  # [most] the entry behind each number
    order: Int32  # [d, most]
    words: UInt64  # [w, most]


@compiled
def split(order: Int32, ranks: PackedRanks, position: Int64, bucket_start: Int64, bucket_lists: Int64) -> Int32:
    """The group of each entry. The order array is consumed.

    `order` [d, n] has the entries of each list sorted by each attribute, `position` [d, distinct] the scaled position
    of each rank, `bucket_start` [b + 1] the first entry of each bucket, `bucket_lists` [b] its number of lists.

    Paper: [XT07] Section 4.3. Ties: the first attribute, then the smallest i.
    """
    count = order.shape[1]
    words = ranks.words
    group = np.empty(count, dtype=np.int32)
    deepest = 1
    for number in range(len(bucket_lists)):
        deepest = max(deepest, (bucket_start[number + 1] - bucket_start[number]) // bucket_lists[number])
    entries = Entries(order, words, ranks.width, position)
    scratch = Scratch(
        np.zeros(count, dtype=np.int8),
        np.empty((len(words), deepest), dtype=np.uint64),
        np.empty(len(words), dtype=np.uint64),
        np.empty(deepest, dtype=np.int64),
        np.empty(deepest, dtype=np.int32),
        np.empty((deepest + 1, 2), dtype=np.int64),
    )
    middle = _local_copy(entries, count, min(count, MIDDLE))
    local = _local_copy(entries, min(count, MIDDLE), min(count, LOCAL))
    middle_entries = Entries(middle.order, middle.words, ranks.width, position)
    local_entries = Entries(local.order, local.words, ranks.width, position)
    nodes = np.empty((3, deepest + 1, 2), dtype=np.int64)
    groups = 0
    for number in range(len(bucket_lists)):
        start, lists = bucket_start[number], bucket_lists[number]
        length = (bucket_start[number + 1] - start) // lists
        if length == 0:
            continue
        bucket = Bucket(start, length, lists)
        for outer in range(_divide(entries, bucket, max(1, MIDDLE // lists), nodes[0], scratch)):
            layers = nodes[0, outer, 1]
            _copy_node(entries, bucket, nodes[0, outer, 0], layers, middle)
            part = Bucket(0, layers, lists)
            for inner in range(_divide(middle_entries, part, max(1, LOCAL // lists), nodes[1], scratch)):
                few = nodes[1, inner, 1]
                _copy_node(middle_entries, part, nodes[1, inner, 0], few, local)
                for leaf in range(_divide(local_entries, Bucket(0, few, lists), 1, nodes[2], scratch)):
                    for each in range(lists):
                        at = local.entry[local.order[0, each * few + nodes[2, leaf, 0]]]
                        group[middle.entry[at]] = groups
                    groups += 1
    return group


@compiled
def _local_copy(entries: Entries, numbered: int, most: int) -> LocalCopy:
    """Room for a node of so many entries, out of so many that are numbered."""
    return LocalCopy(
        np.empty(numbered, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty((len(entries.order), most), dtype=np.int32),
        np.empty((len(entries.words), most), dtype=np.uint64),
    )


@compiled
def _divide(entries: Entries, bucket: Bucket, most: int, nodes: Int64, scratch: Scratch) -> int:
    """Split one bucket until no node has more than `most` layers: the number of nodes, which are put into `nodes`."""
    order, words, width, position = entries
    # Tuples of arrays are costly to hand on, so the functions of the innermost loops get the arrays themselves.
    layers, running, after, stack, start = scratch.layers, scratch.running, scratch.after, scratch.stack, bucket.start
    stack[0, 0], stack[0, 1] = 0, bucket.length
    depth, done = 1, 0
    while depth:
        depth -= 1
        first, count = stack[depth, 0], stack[depth, 1]
        if count <= most:
            nodes[done, 0], nodes[done, 1] = first, count
            done += 1
            continue
        node = Node(start + first, count, bucket.length, bucket.lists)
        best_cost, best_attribute, best_layers = -1, 0, 1
        for attribute in range(len(order)):
            _layer_extents(order[attribute], words, width, node, layers)
            cost, size = _cheapest_scheme(layers, count, width, position, running, after)
            if best_cost < 0 or cost < best_cost:
                best_cost, best_attribute, best_layers = cost, attribute, size
        _partition(order, node, best_attribute, best_layers, scratch.right, scratch.moved)
        stack[depth, 0], stack[depth, 1] = first + best_layers, count - best_layers
        stack[depth + 1, 0], stack[depth + 1, 1] = first, best_layers
        depth += 2
    return done


@compiled
def _copy_node(entries: Entries, bucket: Bucket, first: int, count: int, local: LocalCopy) -> None:
    """Copy the entries of a node into arrays of their own, where they are numbered from 0, list by list.

    Ties no longer need the old numbers: the orders decide them, and they keep their sequence.
    """
    order, words, number = entries.order, entries.words, local.number
    start, length, lists = bucket.start, bucket.length, bucket.lists
    for each in range(lists):
        for i in range(count):
            new, entry = each * count + i, order[0, start + each * length + first + i]
            number[entry], local.entry[new] = new, entry
            for word in range(len(words)):
                local.words[word, new] = words[word, entry]
    for attribute in range(len(order)):
        source, target = order[attribute], local.order[attribute]
        for each in range(lists):
            for i in range(count):
                target[each * count + i] = number[source[start + each * length + first + i]]


@compiled
def _layer_extents(order: Int32, words: UInt64, width: int, node: Node, layers: UInt64) -> None:
    """The packed extent of each layer: the i-th entries of all lists together, in the order of one attribute."""
    guard, down = guard_bits(width), np.uint64(width - 1)
    for word in range(len(words)):
        source = words[word]
        layer = layers[word]
        for i in range(node.layers):
            layer[i] = source[order[node.start + i]]
        for each in range(1, node.lists):
            at = node.start + each * node.step
            for i in range(node.layers):
                layer[i] = field_minimum(layer[i], source[order[at + i]], guard, down)


@compiled
def _cheapest_scheme(
    layers: UInt64, count: int, width: int, position: Int64, running: UInt64, after: Int64
) -> tuple[int, int]:
    """The least cost over i, and the smallest i that has it: the first i layers against the rest."""
    guard, down = guard_bits(width), np.uint64(width - 1)
    # Extents grow quickly and then stay: a perimeter is computed again only where the extent has changed.
    for word in range(len(running)):
        running[word] = layers[word, count - 1]
    perimeter = _perimeter(running, width, position)
    for i in range(count - 1, 0, -1):
        grown = False
        for word in range(len(running)):
            least = field_minimum(running[word], layers[word, i], guard, down)
            grown |= least != running[word]
            running[word] = least
        if grown:
            perimeter = _perimeter(running, width, position)
        after[i] = perimeter
    for word in range(len(running)):
        running[word] = layers[word, 0]
    perimeter = _perimeter(running, width, position)
    best, size = -1, 1
    for i in range(1, count):
        grown = False
        for word in range(len(running)):
            least = field_minimum(running[word], layers[word, i - 1], guard, down)
            grown |= least != running[word]
            running[word] = least
        if grown:
            perimeter = _perimeter(running, width, position)
        cost = i * perimeter + (count - i) * int(after[i])
        if best < 0 or cost < best:
            best, size = cost, i
    return best, size


@compiled
def _perimeter(extent: UInt64, width: int, position: Int64) -> int:
    """The sum of scaled lengths of a packed extent; an empty field has length 0."""
    top = (np.uint64(1) << np.uint64(width - 1)) - np.uint64(1)
    per_word = 64 // width
    total = 0
    for attribute in range(len(position)):
        number = 2 * attribute
        pair = extent[number // per_word] >> np.uint64((number % per_word) * width)
        low = pair & top
        if low != top:
            high = top - np.uint64(1) - ((pair >> np.uint64(width)) & top)
            total += int(position[attribute, high] - position[attribute, low])
    return total


@compiled
def _partition(order: Int32, node: Node, attribute: int, size: int, right: Int8, moved: Int32) -> None:
    """Bring the first `size` layers by the chosen attribute to the front of every other order, stably."""
    for each in range(node.lists):
        begin = node.start + each * node.step
        for i in range(node.layers):
            right[order[attribute, begin + i]] = 1 if i >= size else 0
        for other in range(len(order)):
            if other == attribute:
                continue
            left, away = begin, 0
            for i in range(begin, begin + node.layers):
                entry = order[other, i]
                order[other, left] = entry  # written to both sides: a branch here would be mispredicted half the time
                moved[away] = entry
                away += right[entry]
                left += 1 - right[entry]
            for i in range(away):
                order[other, left + i] = moved[i]
