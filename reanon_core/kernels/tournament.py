"""A tournament: the entry with the greatest key, kept up to date while keys change one by one."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Float64, Int32

ABSENT = -np.inf
"""The first part of the key of an entry that does not take part."""


def tournament_keys(entries: int, parts: int) -> Float64:
    """Room for the keys of at least so many entries [a power of two, parts], all absent."""
    room = 1
    while room < entries:
        room *= 2
    return np.full((room, parts), ABSENT)


@compiled
def tournament(keys: Float64) -> Int32:
    """The winner of every match [2 * entries]: match i is between the winners of matches 2 i and 2 i + 1.

    Match 1 is the final. Keys are compared part by part; of equal entries the first one wins.

    Requires: the number of entries is a power of two.
    """
    entries = len(keys)
    winner = np.zeros(2 * entries, dtype=np.int32)
    for entry in range(entries):
        winner[entries + entry] = entry
    for match in range(entries - 1, 0, -1):
        winner[match] = _better(keys, winner[2 * match], winner[2 * match + 1])
    return winner


@compiled
def replay_matches(keys: Float64, winner: Int32, entry: int) -> None:
    """Bring the winners up to date after the key of this entry changed."""
    match = (len(keys) + entry) // 2
    while match > 0:
        best = _better(keys, winner[2 * match], winner[2 * match + 1])
        if best == winner[match] and best != entry:
            return
        winner[match] = best
        match //= 2


@compiled
def _better(keys: Float64, one: int, other: int) -> int:
    """The entry with the greater key; `one`, which comes before `other`, if they are equal."""
    for part in range(keys.shape[1]):
        if keys[one, part] != keys[other, part]:
            return one if keys[one, part] > keys[other, part] else other
    return one
