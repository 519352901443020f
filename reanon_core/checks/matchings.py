"""Matchings without a witness: whether a world is consistent with a release, from the published rows alone."""

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Release

STEP = 0x9E3779B97F4A7C15
"""An odd number of 64 bits, which puts components in another order in each release."""


def unmatched_components(entry: Entry, suffix: Int32, people: int, time: int) -> tuple[int, int]:
    """How many components have no perfect matching in some world, and how many were examined.

    `suffix` [worlds, columns, people] is what the worlds assign to the traced people. Rows and people with the same
    shown suffix are a component. In a large release only components with `people` rows in total are examined, in an
    order that changes with `time`.

    Paper: [ST15] Definition 3.1 and Equation 9.
    """
    release, schema = entry.release, entry.snapshot.schema
    names = (schema.sensitive.name, *schema.other)
    shown = np.array([release.shows(name) for name in names], dtype=np.bool_)
    of_rows = np.vstack([release.sensitive[None], release.other])[shown]
    worlds = suffix[:, shown]
    number = _numbered(np.concatenate([of_rows, *worlds], axis=1))
    of_row, of_person = number[: release.size], number[release.size :].reshape(len(worlds), -1)
    qi = entry.snapshot.qi[:, entry.snapshot.persons.searchsorted(entry.trace.persons)]
    unmatched = 0
    sample = _sample(of_row, people, time)
    for component in sample:
        rows = np.flatnonzero(of_row == component)
        unmatched += any(
            not _has_perfect_matching(release, rows, qi, np.flatnonzero(world == component)) for world in of_person
        )
    return unmatched, len(sample)


def _numbered(keys: Int32) -> Int64:
    """A number for each column of the array, the same for equal columns."""
    number = np.zeros(keys.shape[1], dtype=np.int64)
    for codes in keys:
        width = int(codes.max(initial=0)) + 2
        number = np.unique(number * width + codes + 1, return_inverse=True)[1].astype(np.int64)
    return number


def _sample(of_row: Int64, people: int, time: int) -> list[int]:
    """The components to examine: all of a small release, otherwise some with at most `people` rows in total."""
    sizes = np.bincount(of_row)
    components = np.flatnonzero(sizes)
    if len(of_row) <= people:
        return components.tolist()
    mixed = (components.astype(np.uint64) + np.uint64(time + 1)) * np.uint64(STEP)
    chosen, left = [], people
    for component in components[np.argsort(mixed)].tolist():
        if sizes[component] <= left:
            chosen.append(component)
            left -= int(sizes[component])
    return chosen


def covers(low: Int32, high: Int32, or_missing: Bool, codes: Int32) -> Bool:
    """Whether intervals contain codes; a missing code is contained where `or_missing`. Arrays are broadcast."""
    covered: Bool = np.where(codes == MISSING, or_missing, (low <= codes) & (codes <= high))
    return covered


def _has_perfect_matching(release: Release, rows: Int64, qi: Int32, people: Int64) -> bool:
    """Whether rows and people can be matched one to one so that each row covers its person."""
    from scipy.sparse import csr_array  # here, because few series need them, and they are slow to import
    from scipy.sparse.csgraph import maximum_bipartite_matching

    if len(rows) != len(people):
        return False
    group = release.group[rows]
    is_covered: Bool = np.ones((len(people), len(rows)), dtype=np.bool_)
    boxes = release.boxes
    for low, high, missing, codes in zip(boxes.low, boxes.high, boxes.missing, qi[:, people], strict=True):
        is_covered &= covers(low[group], high[group], missing[group] > 0, codes[:, None])
    mate = maximum_bipartite_matching(csr_array(is_covered), perm_type="column")
    return bool((mate >= 0).all())
