"""Rings: people in a circle, and random permutations that move each person only a few places on."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.closures import Space, closure_loss, closure_span
from reanon_core.kernels.siphash import siphash_words
from reanon_core.model.arrays import Int32, Int64, UInt64

NONE = -1
BLOCK = 4096


@compiled
def greedy_rings(space: Space, rows: Int32, start: Int64, sensitive: Int32, ell: int) -> Int32:
    """The rows of each bucket in the order of its ring.

    `rows` holds bucket after bucket (from `start[b]` to `start[b + 1]`), the rows of a value together, the most
    frequent value first, in random order within a value. Place h of a ring gets the value that Lemma 8.1 puts there.
    Of the rows with that value it gets the one whose closures with the ell - 1 rows before it lose least.

    Paper: [ST15] Algorithm 1, Step 5; Lemma 8.1.
    """
    ring = np.empty_like(rows)
    attributes = len(space.codes)
    low, high = np.empty((ell, attributes), dtype=np.int32), np.empty((ell, attributes), dtype=np.int32)
    for bucket in range(len(start) - 1):
        mine = ring[start[bucket] : start[bucket + 1]]
        pool = rows[start[bucket] : start[bucket + 1]].copy()
        first, last = _value_blocks(pool, sensitive)
        used = np.zeros(len(pool), dtype=np.int32)  # of the block that begins here
        height = len(pool) // ell
        at = 0
        for line in range(height):
            for place in range(line, len(pool), height):
                near = min(at, ell - 1)
                _preceding_closures(mine[at - near : at], space, low, high)
                block = first[place]
                begin = block + used[block]
                chosen = _cheapest(pool[begin : last[block]], space, low[:near], high[:near])
                mine[at] = pool[begin + chosen]
                pool[begin + chosen] = pool[begin]
                used[block] += 1
                at += 1
    return ring


@compiled
def _value_blocks(pool: Int32, sensitive: Int32) -> tuple[Int32, Int32]:
    """For each place the first place of its value's block, and for each such first place the end of the block."""
    first, last = np.empty(len(pool), dtype=np.int32), np.zeros(len(pool), dtype=np.int32)
    block = 0
    for place in range(len(pool)):
        if place and sensitive[pool[place]] != sensitive[pool[place - 1]]:
            block = place
        first[place] = block
        last[block] = place + 1
    return first, last


@compiled
def _preceding_closures(before: Int32, space: Space, low: Int32, high: Int32) -> None:
    """Write the closures of the last row, the last two rows, ... of those before."""
    for step in range(len(before)):
        row = before[len(before) - 1 - step]
        for attribute in range(len(space.codes)):
            code = space.codes[attribute, row]
            low[step, attribute] = min(low[step - 1, attribute], code) if step else code
            high[step, attribute] = max(high[step - 1, attribute], code) if step else code


@compiled
def _cheapest(candidates: Int32, space: Space, low: Int32, high: Int32) -> int:
    """The first of the candidates that add least to the closures."""
    bound = np.int64(0)  # no row can be better than one that widens no closure
    for step in range(len(low)):
        bound += closure_loss(low[step], high[step], space)
    best, chosen = np.int64(-1), 0
    for candidate in range(len(candidates)):
        loss = np.int64(0)
        for step in range(len(low)):
            loss += _loss_with_row(low[step], high[step], candidates[candidate], space)
        if best < 0 or loss < best:
            best, chosen = loss, candidate
        if loss == bound:
            break
    return chosen


@compiled
def _loss_with_row(low: Int32, high: Int32, row: int, space: Space) -> np.int64:
    """The loss of a closure that is extended to one more row."""
    tree, depths, leaves, weight = space.tree, space.depths, space.leaves, space.weight
    loss = np.int64(0)
    for attribute in range(len(low)):
        code = space.codes[attribute, row]
        least, most = min(low[attribute], code), max(high[attribute], code)
        loss += closure_span(least, most, tree[attribute], depths[attribute], leaves[attribute]) * weight[attribute]
    return loss


@compiled
def random_factors(start: Int64, ell: int, key: UInt64) -> Int32:
    """For each ring and each of ell - 1 permutations, how many places on each person is moved, int32[ell - 1, n].

    The permutations of a ring are a 1-factorization of the graph that links each person to the next ell - 1: each
    person is moved by each of 1 to ell - 1 places once. Factors are removed one at a time by random walks that end at a
    free place. The remaining factors always exist, because a regular bipartite graph has a perfect matching.

    Paper: [ST15] Algorithm 1, Steps 6 and 7; Example 4.1 has 36 such lists.

    Source: Goel, Kapralov and Khanna, "Perfect matchings in O(n log n) time in regular bipartite graphs" (STOC 2010).
    """
    people = start[-1]
    offsets = np.zeros((ell - 1, people), dtype=np.int32)
    drawn, spent = np.empty(BLOCK, dtype=np.uint64), BLOCK
    blocks = 0
    free = np.empty((people, ell), dtype=np.bool_)  # [person, offset] not in a factor yet
    free[:] = True
    matched = np.empty(people, dtype=np.int32)  # the offset of each person in this factor
    mate = np.empty(people, dtype=np.int32)  # the person who was moved to each place
    choice = np.empty(people, dtype=np.int32)
    for bucket in range(len(start) - 1):
        begin, size = start[bucket], start[bucket + 1] - start[bucket]
        for factor in range(ell - 1):
            matched[begin : begin + size] = NONE
            mate[begin : begin + size] = NONE
            for source in range(size):
                person = source
                while True:
                    own = matched[begin + person]
                    degree = ell - 1 - factor - (own != NONE)
                    if spent == BLOCK:
                        drawn = siphash_words(np.arange(blocks * BLOCK, (blocks + 1) * BLOCK), key)
                        blocks, spent = blocks + 1, 0
                    nth = np.int64(drawn[spent] % np.uint64(degree))
                    spent += 1
                    offset = 0
                    while nth >= 0:
                        offset += 1
                        if free[begin + person, offset] and offset != own:
                            nth -= 1
                    choice[begin + person] = offset  # the last choice counts, so that loops are erased
                    target = (person + offset) % size
                    if mate[begin + target] == NONE:
                        break
                    person = mate[begin + target]
                person = source
                while True:
                    offset = choice[begin + person]
                    target = (person + offset) % size
                    displaced = mate[begin + target]
                    matched[begin + person], mate[begin + target] = offset, person
                    if displaced == NONE:
                        break
                    person = displaced
            for person in range(size):
                offset = matched[begin + person]
                offsets[factor, begin + person] = offset
                free[begin + person, offset] = False
    return offsets
