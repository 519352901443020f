"""Matchings found without a witness: whether a world explains a release, from the released rows alone."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Release

STEP = 0x9E3779B97F4A7C15
"""An odd number of 64 bits, by which components are looked at in another order in each release."""


def unmatched_components(entry: Entry, suffix: Int32, people: int, time: int) -> tuple[int, int]:
    """How many components have no perfect matching in some world, and how many were looked at.

    `suffix` [worlds, columns, people] is what the worlds say of the traced people. Rows and people with the same shown
    suffix are a component. In a large release components are looked at in an order that changes with `time`, as long as
    they hold no more than so many `people` in all.

    Paper: [ST15] Definition 3.1 and Equation 9.
    """
    release, schema = entry.release, entry.snapshot.schema
    names = (schema.sensitive.name, *schema.other)
    shown = np.array([release.shows(name) for name in names], dtype=np.bool_)
    of_rows = np.vstack([release.sensitive[None], release.other])[shown]
    worlds = suffix[:, shown]
    number = _numbered(np.concatenate([of_rows, *worlds], axis=1))
    row_of, who_of = number[: release.size], number[release.size :].reshape(len(worlds), -1)
    qi = entry.snapshot.qi[:, entry.snapshot.persons.searchsorted(entry.trace.persons)]
    broken = seen = 0
    for component in _chosen(row_of, people, time):
        rows = np.flatnonzero(row_of == component)
        seen += 1
        broken += any(not _perfect(release, rows, qi, np.flatnonzero(world == component)) for world in who_of)
    return broken, seen


def _numbered(keys: Int32) -> Int64:
    """A number for each column of the array, the same for columns that are alike."""
    number = np.zeros(keys.shape[1], dtype=np.int64)
    for codes in keys:
        width = int(codes.max(initial=0)) + 2
        number = np.unique(number * width + codes + 1, return_inverse=True)[1].astype(np.int64)
    return number


def _chosen(row_of: Int64, people: int, time: int) -> list[int]:
    """The components to look at: all of a small release, else some that together have so many rows at most."""
    sizes = np.bincount(row_of)
    components = np.flatnonzero(sizes)
    if len(row_of) <= people:
        return components.tolist()
    mixed = (components.astype(np.uint64) + np.uint64(time + 1)) * np.uint64(STEP)
    chosen, left = [], people
    for component in components[np.argsort(mixed)].tolist():
        if sizes[component] <= left:
            chosen.append(component)
            left -= int(sizes[component])
    return chosen


def _perfect(release: Release, rows: Int64, qi: Int32, people: Int64) -> bool:
    """Whether each of the people can be given a row of their own that covers them."""
    if len(rows) != len(people):
        return False
    group = release.group[rows]
    covers: Bool = np.ones((len(people), len(rows)), dtype=np.bool_)
    boxes = release.boxes
    for low, high, missing, codes in zip(boxes.low, boxes.high, boxes.missing, qi[:, people], strict=True):
        inside = (low[group] <= codes[:, None]) & (codes[:, None] <= high[group])
        covers &= np.where((codes == MISSING)[:, None], missing[group] > 0, inside)
    mate = maximum_bipartite_matching(csr_array(covers), perm_type="column")
    return bool((mate >= 0).all())
