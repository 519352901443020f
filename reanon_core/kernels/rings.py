"""Rings: people in a circle, and random permutations that move everybody only a few places on."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.diverse_cuts import closure_span
from reanon_core.kernels.siphash import siphash_words
from reanon_core.model.arrays import Int32, Int64, UInt64

NONE = -1
BLOCK = 4096


@compiled
def greedy_rings(
    codes: Int32,
    rows: Int32,
    start: Int64,
    sensitive: Int32,
    ell: int,
    weight: Int64,
    tree: Int32,
    depths: Int64,
    leaves: Int64,
) -> Int32:
    """The rows of each bucket in the order of its ring.

    `rows` holds bucket after bucket (from `start[b]` to `start[b + 1]`), the rows of a value together, the most
    frequent value first, in random order within a value. Place h of a ring takes the value that Lemma 8.1 puts there;
    of the rows with that value the one whose closures with the rows before it lose least, the first of those.
    """
    attributes = len(codes)
    ring = np.empty_like(rows)
    low, high = np.empty((ell, attributes), dtype=np.int32), np.empty((ell, attributes), dtype=np.int32)
    for bucket in range(len(start) - 1):
        begin, size = start[bucket], start[bucket + 1] - start[bucket]
        pool = rows[begin : begin + size].copy()
        first = np.empty(size, dtype=np.int32)  # where the rows of a place's value begin, and how many were taken
        taken = np.zeros(size, dtype=np.int32)
        last = np.empty(size, dtype=np.int32)
        block = 0
        for place in range(size):
            if place and sensitive[pool[place]] != sensitive[pool[place - 1]]:
                block = place
            first[place] = block
        for place in range(size - 1, -1, -1):
            ends = place + 1 == size or first[place + 1] != first[place]
            last[place] = place + 1 if ends else last[place + 1]
        height = size // ell
        at = 0
        for line in range(height):
            for place in range(line, size, height):
                block = first[place]
                near = min(at, ell - 1)
                for step in range(near):
                    other = ring[begin + at - 1 - step]
                    for attribute in range(attributes):
                        code = codes[attribute, other]
                        low[step, attribute] = min(low[step - 1, attribute], code) if step else code
                        high[step, attribute] = max(high[step - 1, attribute], code) if step else code
                bound = np.int64(0)
                for step in range(near):
                    for attribute in range(attributes):
                        span = closure_span(
                            low[step, attribute], high[step, attribute], tree[attribute], depths[attribute],
                            leaves[attribute],
                        )  # fmt: skip
                        bound += span * weight[attribute]
                best, chosen = np.int64(-1), block + taken[block]
                for candidate in range(block + taken[block], last[block]):
                    if near == 0:
                        break
                    loss = np.int64(0)
                    for step in range(near):
                        for attribute in range(attributes):
                            code = codes[attribute, pool[candidate]]
                            span = closure_span(
                                min(low[step, attribute], code), max(high[step, attribute], code), tree[attribute],
                                depths[attribute], leaves[attribute],
                            )  # fmt: skip
                            loss += span * weight[attribute]
                    if best < 0 or loss < best:
                        best, chosen = loss, candidate
                    if loss == bound:  # nothing can be better
                        break
                ring[begin + at] = pool[chosen]
                pool[chosen] = pool[block + taken[block]]
                taken[block] += 1
                at += 1
    return ring


@compiled
def random_factors(start: Int64, ell: int, key: UInt64) -> Int32:
    """For each ring and each of ell - 1 permutations, how many places on everybody is moved, int32[ell - 1, n].

    The permutations of a ring are a 1-factorization of the graph that links everybody to the next ell - 1: all of 1 to
    ell - 1 occur for everybody. Factors are peeled off one at a time by random walks that end at a free place; the
    factors that are left always exist, because a regular bipartite graph has a perfect matching.

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
