"""The split of balanced buckets into groups, every scheme evaluated, with exact integer costs.

A bucket is `s` lists of `k` entries, one list for each value of its signature. A node of the recursion is the
same stretch of layers in every list, so it needs no copies: a bucket, a first layer and a number of layers.

The extent of a set of entries on all attributes is one packed minimum (lanes.py). A counterfeit, or a missing value, is
the neutral element of it.
"""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.packed_ranks import guard_bits, lane_minimum
from reanon_core.model.arrays import Int8, Int32, Int64, UInt64

LOCAL = 2048
"""A node of at most so many entries is copied together, so that what follows stays in the fastest cache."""


@compiled
def split(
    order: Int32,  # [d, n] entries of each segment, sorted by each attribute
    words: UInt64,  # [w, n] packed ranks of each entry
    width: int,
    place: Int64,  # [d, distinct] scaled position of each rank
    bucket_start: Int64,  # [b + 1] first entry of each bucket
    bucket_lists: Int64,  # [b] number of lists of each bucket
) -> Int32:
    """The group of each entry. The order array is consumed.

    Paper: [XT07] Section 4.3. Ties: the first attribute, then the smallest i.
    """
    attributes, entries = order.shape
    group = np.empty(entries, dtype=np.int32)
    deepest = 1
    for bucket in range(len(bucket_lists)):
        deepest = max(deepest, (bucket_start[bucket + 1] - bucket_start[bucket]) // bucket_lists[bucket])
    right = np.zeros(entries, dtype=np.int8)
    layers = np.empty((len(words), deepest), dtype=np.uint64)
    after = np.empty(deepest, dtype=np.int64)
    spare = np.empty(deepest, dtype=np.int32)
    large = np.empty((deepest + 1, 2), dtype=np.int64)
    small = np.empty((deepest + 1, 2), dtype=np.int64)
    stack = np.empty((deepest + 1, 2), dtype=np.int64)
    near = np.empty(entries, dtype=np.int32)  # the number of an entry inside its node
    near_order = np.empty((attributes, LOCAL), dtype=np.int32)
    near_words = np.empty((len(words), LOCAL), dtype=np.uint64)
    far = np.empty(LOCAL, dtype=np.int32)  # the entry behind each number
    groups = 0
    for bucket in range(len(bucket_lists)):
        lists, start = bucket_lists[bucket], bucket_start[bucket]
        length = (bucket_start[bucket + 1] - start) // lists
        if length == 0:
            continue
        floor = max(1, LOCAL // lists)
        nodes = _divide(
            order, words, width, place, start, length, lists, floor, right, layers, after, spare, stack, large
        )
        for node in range(nodes):
            begin, count = large[node, 0], large[node, 1]
            if count > 1:
                _bring_near(order, words, start, length, lists, begin, count, near, near_order, near_words, far)
                leaves = _divide(
                    near_order, near_words, width, place, 0, count, lists, 1, right, layers, after, spare, stack, small
                )
                for leaf in range(leaves):
                    for each in range(lists):
                        group[far[near_order[0, each * count + small[leaf, 0]]]] = groups
                    groups += 1
            else:
                for each in range(lists):
                    group[order[0, start + each * length + begin]] = groups
                groups += 1
    return group


@compiled
def _divide(
    order: Int32,
    words: UInt64,
    width: int,
    place: Int64,
    start: int,
    length: int,
    lists: int,
    floor: int,
    right: Int8,
    layers: UInt64,
    after: Int64,
    spare: Int32,
    stack: Int64,
    done: Int64,
) -> int:
    """Split one bucket until no node has more than `floor` layers: how many nodes, and their stretches in `done`."""
    attributes = len(order)
    running = np.empty(len(words), dtype=np.uint64)
    stack[0, 0], stack[0, 1] = 0, length
    depth, nodes = 1, 0
    while depth:
        depth -= 1
        begin, count = stack[depth, 0], stack[depth, 1]
        if count <= floor:
            done[nodes, 0], done[nodes, 1] = begin, count
            nodes += 1
            continue
        best_cost, best_attribute, best_layers = -1, 0, 1
        for attribute in range(attributes):
            _layer_extents(order[attribute], words, width, start, length, lists, begin, count, layers)
            cost, size = _cheapest_scheme(layers, count, width, place, attributes, running, after)
            if best_cost < 0 or cost < best_cost:
                best_cost, best_attribute, best_layers = cost, attribute, size
        _partition(order, right, spare, best_attribute, best_layers, start, length, lists, begin, count)
        stack[depth, 0], stack[depth, 1] = begin + best_layers, count - best_layers
        stack[depth + 1, 0], stack[depth + 1, 1] = begin, best_layers
        depth += 2
    return nodes


@compiled
def _bring_near(
    order: Int32,
    words: UInt64,
    start: int,
    length: int,
    lists: int,
    begin: int,
    count: int,
    near: Int32,
    near_order: Int32,
    near_words: UInt64,
    far: Int32,
) -> None:
    """Copy a node's entries into arrays of their own, where they are numbered from 0, list by list.

    Ties need the old numbers no more: they are decided in the orders, which only ever get shorter.
    """
    for each in range(lists):
        for i in range(count):
            number, entry = each * count + i, order[0, start + each * length + begin + i]
            near[entry], far[number] = number, entry
            for word in range(len(words)):
                near_words[word, number] = words[word, entry]
    for attribute in range(len(order)):
        for each in range(lists):
            for i in range(count):
                near_order[attribute, each * count + i] = near[order[attribute, start + each * length + begin + i]]


@compiled
def _layer_extents(
    order: Int32, words: UInt64, width: int, start: int, length: int, lists: int, begin: int, count: int, layers: UInt64
) -> None:
    """The packed extent of each layer: the i-th entries of all lists together."""
    guard, down = guard_bits(width), np.uint64(width - 1)
    for word in range(len(words)):
        source = words[word]
        layer = layers[word]
        at = start + begin
        for i in range(count):
            layer[i] = source[order[at + i]]
        for each in range(1, lists):
            at = start + each * length + begin
            for i in range(count):
                layer[i] = lane_minimum(layer[i], source[order[at + i]], guard, down)


@compiled
def _cheapest_scheme(
    layers: UInt64, count: int, width: int, place: Int64, attributes: int, running: UInt64, after: Int64
) -> tuple[int, int]:
    """The least cost over i, and the smallest i that has it: the first i layers against the rest."""
    guard, down = guard_bits(width), np.uint64(width - 1)
    # Extents grow quickly and then stay: a perimeter is computed again only where the extent has changed.
    for word in range(len(running)):
        running[word] = layers[word, count - 1]
    perimeter = _perimeter(running, width, place, attributes)
    for i in range(count - 1, 0, -1):
        grown = False
        for word in range(len(running)):
            least = lane_minimum(running[word], layers[word, i], guard, down)
            grown |= least != running[word]
            running[word] = least
        if grown:
            perimeter = _perimeter(running, width, place, attributes)
        after[i] = perimeter
    for word in range(len(running)):
        running[word] = layers[word, 0]
    perimeter = _perimeter(running, width, place, attributes)
    best, size = -1, 1
    for i in range(1, count):
        grown = False
        for word in range(len(running)):
            least = lane_minimum(running[word], layers[word, i - 1], guard, down)
            grown |= least != running[word]
            running[word] = least
        if grown:
            perimeter = _perimeter(running, width, place, attributes)
        cost = i * perimeter + (count - i) * int(after[i])
        if best < 0 or cost < best:
            best, size = cost, i
    return best, size


@compiled
def _perimeter(extent: UInt64, width: int, place: Int64, attributes: int) -> int:
    """The sum of scaled lengths of a packed extent; an empty lane has length 0."""
    top = (np.uint64(1) << np.uint64(width - 1)) - np.uint64(1)
    per_word = 64 // width
    total = 0
    for attribute in range(attributes):
        number = 2 * attribute
        pair = extent[number // per_word] >> np.uint64((number % per_word) * width)
        low = pair & top
        if low != top:
            high = top - np.uint64(1) - ((pair >> np.uint64(width)) & top)
            total += int(place[attribute, high] - place[attribute, low])
    return total


@compiled
def _partition(
    order: Int32,
    right: Int8,
    spare: Int32,
    attribute: int,
    size: int,
    start: int,
    length: int,
    lists: int,
    begin: int,
    count: int,
) -> None:
    """Bring the first `size` entries by the chosen attribute to the front of every other order, stably."""
    for each in range(lists):
        at = start + each * length + begin
        for i in range(count):
            right[order[attribute, at + i]] = 1 if i >= size else 0
        for other in range(len(order)):
            if other == attribute:
                continue
            kept, moved = at, 0
            for i in range(at, at + count):
                entry = order[other, i]
                order[other, kept] = entry  # written to both sides: a branch here would be mispredicted half the time
                spare[moved] = entry
                moved += right[entry]
                kept += 1 - right[entry]
            for i in range(moved):
                order[other, kept + i] = spare[i]
