"""Algorithm 2: one release, generalized just as far as every world needs."""

from dataclasses import dataclass

import numpy as np

from reanon_core.kernels.column_ids import numbered
from reanon_core.kernels.matching import NONE, generalized, matched_people
from reanon_core.kernels.siphash import keyed_permutation
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.techniques.sequential.loss_measure import Measure

CELLS = 50_000_000
"""The largest table of costs, 200 MB; half as many where costs need eight bytes. Larger components are cut."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a release, each with its generalized value, and the person whom each world sees in it."""

    low: Int32  # [d, n]
    high: Int32  # [d, n]
    seen: Int32  # [worlds, n] the person
    cut: int = 0
    """How many components were too large for one table of costs."""


def generalize(
    places: Int32, suffix: Int32, images: Int32, measure: Measure, rng: np.random.Generator, *, cells: int = CELLS
) -> Rows:
    """Begin with one world; match every other with the rows at the least loss, and widen each row to its match.

    `suffix` [n] numbers the suffixes that the release shows; `images` [worlds, n] says whose suffix each world gives to
    whom. A component where that would lose more than the non-sequential release takes its rows from there.

    Paper: [ST15] Algorithm 2; Equations 8 and 9. Matchings are exact, which replaces the threshold p (departure D3).
    """
    worlds, people = images.shape
    turn = keyed_permutation(worlds, rng)
    chance = keyed_permutation(people, rng)
    low, high = measure.ungeneralized(places)
    value = numbered(places)
    values = int(value.max(initial=-1)) + 1
    exact = np.ones(people, dtype=np.bool_)  # rows that are not generalized yet
    component = suffix[images[turn[0]]]
    start = np.concatenate([[0], np.cumsum(np.bincount(component))]).astype(np.int64)
    seen = np.empty((worlds, people), dtype=np.int32)
    seen[turn[0]] = np.arange(people)
    cut = 0
    for world in turn[1:].tolist():
        row_key, wanted = _row_keys(value, values, exact, low, high), suffix[images[world]]
        partner = _matched(
            _sorted(component, row_key, chance), row_key, _sorted(wanted, value, chance), value, start, low, high,
            places, measure, cells,
        )  # fmt: skip
        if (partner == NONE).any():
            cut += _match_in_pieces(partner, component, row_key, wanted, value, low, high, places, measure, cells)
        generalized(low, high, places, partner, measure.kind, measure.join, measure.join_at, measure.width)
        exact &= value[partner] == value
        seen[world] = partner
    ours = Rows(low, high, seen, cut)
    return _cheaper(ours, non_sequential(places, images, images[turn[0]], measure), component, measure)


def _matched(
    rows: Int32,
    row_key: Int64,
    people: Int32,
    people_key: Int64,
    start: Int64,
    low: Int32,
    high: Int32,
    places: Int32,
    measure: Measure,
    cells: int,
) -> Int32:
    return matched_people(
        rows,
        row_key,
        people,
        people_key,
        start,
        low,
        high,
        places,
        measure.kind,
        measure.weight,
        measure.join,
        measure.join_at,
        measure.width,
        measure.loss,
        measure.loss_at,
        measure.mass,
        measure.information,
        measure.mass_at,
        measure.monotone,
        measure.greatest,
        cells,
    )


def _match_in_pieces(
    partner: Int32,
    component: Int32,
    row_key: Int64,
    wanted: Int32,
    value: Int64,
    low: Int32,
    high: Int32,
    places: Int32,
    measure: Measure,
    cells: int,
) -> int:
    """Match what is left of components that are too large, piece by piece along the order of values; in place.

    Gives how many components were cut.
    """
    rows = np.flatnonzero(partner == NONE)
    free = np.ones(len(partner), dtype=np.bool_)
    free[partner[partner != NONE]] = False
    people = np.flatnonzero(free)
    rows = rows[np.lexsort((value[rows], component[rows]))]
    people = people[np.lexsort((value[people], wanted[people]))]
    _, begin, home, size = np.unique(component[rows], return_index=True, return_inverse=True, return_counts=True)
    pieces = np.ceil(size / max(1.0, np.sqrt(cells / 2)))[home].astype(np.int64)
    piece = (np.arange(len(rows)) - begin[home]) * pieces // size[home]
    number = np.unique(np.stack([home, piece]), axis=1, return_inverse=True)[1].reshape(-1)
    start = np.concatenate([[0], np.cumsum(np.bincount(number))]).astype(np.int64)
    found = _matched(
        rows[np.lexsort((row_key[rows], number))].astype(np.int32),
        row_key,
        people[np.lexsort((value[people], number))].astype(np.int32),
        value,
        start,
        low,
        high,
        places,
        measure,
        2**62,
    )
    partner[rows] = found[rows]
    return len(begin)


def non_sequential(places: Int32, images: Int32, owner: Int32, measure: Measure) -> Rows:
    """Row by row the closure of everybody to whom some world gives the row's suffix.

    `owner` [n] says whose suffix each row has. Every world sees in a row the person to whom it gives that suffix,
    whatever columns are shown: so projections of one table serve all releases.

    Paper: [ST15] Section 4.5.
    """
    worlds, people = images.shape
    seen = np.empty((worlds, people), dtype=np.int32)
    who = np.empty(people, dtype=np.int32)
    for world, image in enumerate(images):
        who[image] = np.arange(people, dtype=np.int32)
        seen[world] = who[owner]
    low, high = measure.ungeneralized(places[:, seen[0]])
    for partner in seen[1:]:
        generalized(low, high, places, partner, measure.kind, measure.join, measure.join_at, measure.width)
    return Rows(low, high, seen)


def homogeneous(places: Int32, images: Int32, owner: Int32, bucket: Int32, measure: Measure) -> Rows:
    """Every row as wide as the closure of its bucket.

    Paper: [ST15] Section 4.5 and Table 13: the homogeneous anonymization.
    """
    order = np.argsort(bucket, kind="stable").astype(np.int32)
    begin = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    member = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(order)))
    wide_low, wide_high = measure.ungeneralized(places[:, order[begin]])
    longest = int(np.diff(begin, append=len(order)).max(initial=0))
    for step in range(1, longest):
        at = np.minimum(begin + step, np.append(begin[1:], len(order)) - 1)
        generalized(wide_low, wide_high, places, order[at], measure.kind, measure.join, measure.join_at, measure.width)
    home = np.empty(len(order), dtype=np.int64)
    home[order] = member
    seen = non_sequential(places, images, owner, measure).seen
    return Rows(wide_low[:, home[owner]], wide_high[:, home[owner]], seen)


def _cheaper(ours: Rows, theirs: Rows, component: Int32, measure: Measure) -> Rows:
    """For each component the rows that lose less; ours where both lose the same."""
    gain = measure.losses(theirs.low, theirs.high) - measure.losses(ours.low, ours.high)
    total = np.zeros(int(component.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(total, component, gain)
    worse = (total < 0)[component]
    if not worse.any():
        return ours
    low, high = np.where(worse, theirs.low, ours.low), np.where(worse, theirs.high, ours.high)
    return Rows(low, high, np.where(worse, theirs.seen, ours.seen), ours.cut)


def _row_keys(value: Int64, values: int, exact: Bool, low: Int32, high: Int32) -> Int64:
    """A number for each row, the same for rows that are alike; a row that is not generalized has that of its value."""
    key = value.copy()
    wide = np.flatnonzero(~exact)
    key[wide] = values + numbered(np.concatenate([low[:, wide], high[:, wide]]))
    return key


def _sorted(component: Int32, key: Int64, chance: Int32) -> Int32:
    """Component after component, in ascending order of the key; at random among equals."""
    width = int(key.max(initial=0)) + 1
    both = component.astype(np.int64)[chance] * width + key[chance]
    return chance[np.argsort(both, kind="stable")]
