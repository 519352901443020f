"""Sets of sensitive values as bit masks, exact and quick to unite and intersect; and the releases that show any."""

from dataclasses import replace

import numpy as np

from reanon_core.model.arrays import Int32, Int64, UInt64, forget_pages, slices
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import Release

BITS = 64
ROWS_AT_ONCE = 1 << 20
"""So many rows of a release are read at a time."""


def group_masks(release: Release, values: int) -> UInt64:
    """The sensitive values of each group, uint64[groups, words].

    Paper: [XT07] Definition 16.
    """
    words = max(1, -(-values // BITS))
    masks = np.zeros((release.boxes.count, words), dtype=np.uint64)
    for part in slices(release.size, ROWS_AT_ONCE):
        group, sensitive = release.group[part], release.sensitive[part]
        np.bitwise_or.at(masks, (group, sensitive // BITS), np.uint64(1) << (sensitive % BITS).astype(np.uint64))
        forget_pages(release.group, release.sensitive)
    return masks


def full_masks(rows: int, values: int) -> UInt64:
    """The set of all values, repeated for each row."""
    words = max(1, -(-values // BITS))
    present = np.zeros(words * BITS, dtype=np.uint8)
    present[:values] = 1
    mask = np.packbits(present, bitorder="little").view(np.uint64)
    return np.tile(mask, (rows, 1))


def mask_sizes(masks: UInt64) -> Int64:
    """The number of values in each set."""
    sizes = np.zeros(len(masks), dtype=np.int64)
    for word in masks.T:  # word by word: a reduction over a short axis is slow
        sizes += np.bitwise_count(word)
    return sizes


def only_values(masks: UInt64) -> Int32:
    """The only value of each set.

    Requires: every set has exactly one value.
    """
    value = np.zeros(len(masks), dtype=np.int32)
    for index, word in enumerate(masks.T):
        here = np.flatnonzero(word)
        # The number of zeros below the only bit is the number of ones in the word minus one.
        value[here] = index * BITS + np.bitwise_count(word[here] - np.uint64(1)).astype(np.int32)
    return value


def highest_value(releases: tuple[Release, ...]) -> int:
    """The highest sensitive code of all releases, or -1 if there is no row."""
    return max((int(release.sensitive.max()) for release in releases if release.size), default=-1)


def sensitive_releases(history: History, knowledge: Knowledge) -> tuple[History, Knowledge]:
    """The history and the knowledge about it, without the releases that show no sensitive value."""
    name = history.schema.sensitive.name
    kept = [at for at, published in enumerate(history.releases) if published.release.shows(name)]
    if len(kept) == len(history.releases):
        return history, knowledge
    return (
        History(history.schema, tuple(history.releases[at] for at in kept)),
        replace(knowledge, presences=tuple(knowledge.presences[at] for at in kept)),
    )
