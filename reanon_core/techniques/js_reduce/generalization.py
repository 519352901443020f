"""[RPB12] Algorithm 4: groups along the Hilbert curve, and what happens to rows that fit into none."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reanon_core.kernels.group_distances import (
    EQUAL,
    HIERARCHICAL,
    ORDERED,
    Ground,
    distributions,
    earth_mover,
    jensen_shannon,
)
from reanon_core.kernels.hilbert import (
    FAR,
    FEW,
    ROUNDING,
    UNLIKE,
    Groups,
    NearbyGroups,
    Thresholds,
    View,
    hilbert_bits,
    hilbert_groups,
    hilbert_indices,
    merge_leftovers,
    stable_order,
)
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.plan import WITHHELD
from reanon_core.model.snapshot import Snapshot

Leftovers = Literal["suppress", "relax", "merge"]
Distance = Literal["equal", "ordered", "hierarchical"]
CutsBy = Literal["principle", "quasi-identifiers"]

NEARBY = NearbyGroups(groups=64, passes=3)
GROUNDS = {"equal": EQUAL, "ordered": ORDERED, "hierarchical": HIERARCHICAL}
REASONS = {
    FEW: "too few rows or values left for a group",
    FAR: "t: no group close enough to the table",
    UNLIKE: "j: no group with a small enough divergence",
}


@dataclass(frozen=True, kw_only=True)
class LeftoverRule:
    """What to do with rows that fit into no group."""

    how: Leftovers
    slack: float
    """relax: by which share t and j are widened."""


@dataclass(frozen=True, kw_only=True)
class CutRule:
    """Where the curve is cut."""

    by: CutsBy
    run: int
    """quasi-identifiers: the least number of rows between two cuts."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each row, or WITHHELD, and why rows are withheld."""

    group: Int32  # [n]
    groups: int
    withheld: dict[str, int]


def generalize(
    snapshot: Snapshot,
    expected: Float64,
    extent: Int64,
    thresholds: Thresholds,
    distance: Distance,
    leftovers: LeftoverRule,
    cuts: CutRule,
) -> Grouping:
    """Form groups along the Hilbert curve, then place the leftovers or withhold them.

    `expected` [n, values] is RBKsv. It is normalised first: the rows of the paper's running example are partial, and
    their divergence is not defined (erratum E2).

    Paper: [RPB12] Algorithm 4.
    """
    order = hilbert_order(snapshot.qi, extent)
    # Everything is laid out along the curve once, so that the loops run along memory.
    view = View(*distributions(np.take(expected, order, axis=0)), snapshot.sensitive[order])
    ground = _ground(view.sensitive, snapshot, distance)
    most, values = snapshot.size // thresholds.k + 1, expected.shape[1]
    formed = Groups(
        group=np.full(snapshot.size, WITHHELD, dtype=np.int32),
        reason=np.zeros(snapshot.size, dtype=np.int8),
        sums=np.empty((most, values)),
        counts=np.empty((most, values), np.int64),
        entropy=np.empty(most),
    )
    if cuts.by == "quasi-identifiers":
        groups = even_runs(view, thresholds, ground, formed, cuts.run, merge=leftovers.how == "merge")
    else:
        groups = hilbert_groups(np.arange(snapshot.size), view, thresholds, ground, formed, 0)
        groups = place_leftovers(leftovers, view, thresholds, ground, formed, groups)
    group = np.empty_like(formed.group)
    group[order] = formed.group
    reason = np.bincount(formed.reason[formed.group == WITHHELD], minlength=UNLIKE + 1)
    return Grouping(group, groups, {text: int(reason[code]) for code, text in REASONS.items() if reason[code]})


def place_leftovers(
    rule: LeftoverRule, view: View, thresholds: Thresholds, ground: Ground, formed: Groups, groups: int
) -> int:
    """Relax the thresholds for the leftovers, or let them join groups nearby; returns the number of groups.

    Paper: [RPB12] Section 6.3, solution 2; joining is ours (departure D7).
    """
    if rule.how == "relax":
        relaxed = thresholds._replace(t=min(1.0, thresholds.t * (1 + rule.slack)), j=thresholds.j * (1 + rule.slack))
        return hilbert_groups(np.flatnonzero(formed.group == WITHHELD), view, relaxed, ground, formed, groups)
    if rule.how == "merge" and groups:
        merge_leftovers(view, thresholds, ground, NEARBY, formed, groups)
    return groups


def even_runs(view: View, thresholds: Thresholds, ground: Ground, formed: Groups, run: int, *, merge: bool) -> int:
    """Cut the curve into runs of about the same length, whatever their values; returns the number of groups.

    A run that fails the thresholds is withheld as a whole, or merged with those after it until they hold. What is left
    at the end joins the last group if that stays fit (departure D12).

    Ensures: without merging, a cut depends on no sensitive value, and whether a run is published depends on the counts
    of its own values only.
    """
    rows = len(view.sensitive)
    runs = max(1, rows // run)
    groups = begin = last = 0
    for end in (rows * np.arange(1, runs + 1) // runs).tolist():
        reason = _failure(view, begin, end, thresholds, ground)
        if reason and merge and end == rows and groups and not _failure(view, last, end, thresholds, ground):
            formed.group[begin:end] = groups - 1
        elif not reason:
            formed.group[begin:end] = groups
            groups, last = groups + 1, begin
        elif merge and end < rows:
            continue
        else:
            formed.reason[begin:end] = reason
        begin = end
    return groups


def _failure(view: View, begin: int, end: int, thresholds: Thresholds, ground: Ground) -> int:
    """Why these rows are no group; 0 if they are one."""
    counts = np.bincount(view.sensitive[begin:end], minlength=view.expected.shape[1])
    if end - begin < thresholds.k or np.count_nonzero(counts) < thresholds.ell:
        return FEW
    if earth_mover(counts, end - begin, ground) > thresholds.t + ROUNDING:
        return FAR
    sums, entropy = view.expected[begin:end].sum(axis=0), float(view.entropy[begin:end].sum())
    return 0 if jensen_shannon(sums, entropy, end - begin) <= thresholds.j + ROUNDING else UNLIKE


def hilbert_order(qi: Int32, extent: Int64) -> Int64:
    """The rows along the Hilbert curve; rows at the same place keep their order, which is that of the people.

    Paper: [RPB12] Algorithm 4, lines 4 to 7.
    """
    span = extent[1] - extent[0]
    bits = hilbert_bits(span)
    return stable_order(hilbert_indices(qi, extent[0], span, bits), bits * len(qi))


def _ground(sensitive: Int32, snapshot: Snapshot, distance: Distance) -> Ground:
    """The shares of the whole view, and the ground distance with its taxonomy where it needs one."""
    column = snapshot.schema.sensitive
    share = np.bincount(sensitive, minlength=len(column.values)) / max(1, len(sensitive))
    ancestors, nodes = np.zeros((1, 0), dtype=np.int32), 0
    if distance == "hierarchical" and column.taxonomy is not None:
        ancestors, nodes = column.taxonomy.ancestors.copy(), len(column.taxonomy.labels)
    return Ground(GROUNDS[distance], share, ancestors, np.zeros(nodes), np.zeros(nodes))
