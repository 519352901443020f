"""What a release says, ready for questions: its people in boxes, its values in groups, and how boxes are spread."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from reanon_core.estimate.axis import Axis
from reanon_core.estimate.bucket_regression import Buckets, are_balanced, buckets
from reanon_core.estimate.totals import Quantity, Total, combined, total_of_all, total_of_values
from reanon_core.estimate.units import ShownValues, Units, sums
from reanon_core.model.arrays import Bool, Float64, Int64
from reanon_core.model.errors import InvalidParameter, Problem

POWERS = 3
ROUNDS = 10
"""How often a margin is computed again from the boxes; few rounds keep it from following chance."""
Where = Mapping[str, object]
"""Conditions that all hold: a column, and a value, a list of values, or the two ends of a range as a tuple."""


@dataclass(frozen=True, eq=False)
class Spread:
    """How one quasi-identifier lies in the boxes of a release."""

    cuts: Int64  # [s + 1] where a bin begins, and the end of the last one; no box begins or ends inside a bin
    margin: Float64  # [s] how likely each bin is, relative to the others
    first: Int64  # [u] the bin in which the box begins
    last: Int64  # [u] the bin in which it ends
    ends: Float64  # [u] the share of the people who are in the first bin of the box, and as many in the last one
    known: Float64  # [u] the share of the people who have a value
    below: Float64 = field(init=False, repr=False)  # [3, s + 1] the margin before each cut, and its moments

    def __post_init__(self) -> None:
        """Add up the margin once for all questions."""
        sums = np.stack([_power_sums(self.cuts[1:], power) - _power_sums(self.cuts[:-1], power) for power in range(3)])
        steps = sums * (self.margin / np.diff(self.cuts))
        object.__setattr__(self, "below", np.concatenate([np.zeros((POWERS, 1)), np.cumsum(steps, axis=1)], axis=1))

    def moments(self, intervals: list[tuple[int, int]] | None = None) -> tuple[Float64, Float64]:
        """For each unit the share of a person in the intervals, the mean code there and the mean square, times it.

        None stands for all codes. The results are float64[3, u]: of everyone, and what those who are not at an end add.
        """
        parts = (
            (self.first, self.last, 1 - 2 * self.ends),
            (self.first, self.first, self.ends),
            (self.last, self.last, self.ends),
        )
        found = np.zeros((len(parts), POWERS, len(self.first)))
        for low, high in [(int(self.cuts[0]), int(self.cuts[-1]) - 1)] if intervals is None else intervals:
            # What of each bin lies in the interval, added up over the bins.
            edges = np.clip(self.cuts, low, high + 1)
            sums = np.stack([np.diff(_power_sums(edges, power)) for power in range(POWERS)])
            steps = sums * (self.margin / np.diff(self.cuts))
            inside = np.concatenate([np.zeros((POWERS, 1)), np.cumsum(steps, axis=1)], axis=1)
            for at, (begin, end, share) in enumerate(parts):
                size = self.below[0, end + 1] - self.below[0, begin]
                found[at] += self.known * share / size * (inside[:, end + 1] - inside[:, begin])
        return found.sum(axis=0), found[0]

    def variance(self, rest: Float64, middle: float | None = None) -> Float64:
        """The variance that those who are not at an end add, for a person of each unit, from their moments.

        Of the squares of the differences from the middle if it is given, else of the number of people.
        """
        free = np.maximum(1 - 2 * self.ends, 1e-12)
        first, second = rest[0], rest[0]
        if middle is not None:
            first, second = rest[1] - middle * rest[0], rest[2] - 2 * middle * rest[1] + middle**2 * rest[0]
        found: Float64 = np.maximum(second - first**2 / free, 0)
        return found


def _power_sums(code: Int64, power: int) -> Float64:
    """The sum of c^power over the codes c from 0 on, below a code."""
    x = np.asarray(code, np.float64)
    if power == 0:
        return x
    return x * (x - 1) / 2 if power == 1 else x * (x - 1) * (2 * x - 1) / 6


def spreads(low: Int64, high: Int64, known: Float64, people: Float64, mates: Float64) -> tuple[Spread, Spread]:
    """Two spreads of a quasi-identifier over its boxes: evenly, and as the release's own margin.

    A box begins with the bin of someone in it and ends with the bin of someone in it. No box of the release begins or
    ends inside a bin, so the ends of all boxes bound the bins. The margin is estimated from all boxes by expectation
    and maximization, beginning with an even one.
    """
    has = known > 0
    cuts = np.unique(np.concatenate([low[has], high[has] + 1])) if has.any() else np.arange(2)
    first = np.where(has, np.searchsorted(cuts, low), 0)
    last = np.where(has, np.searchsorted(cuts, high, side="right") - 1, 0)
    ends = np.where((mates >= 2) & (last > first), 1 / np.maximum(mates, 2), 0.0)
    width = np.diff(cuts).astype(np.float64)
    margin = _margin(width, first, last, people * known, ends)
    return Spread(cuts, width, first, last, ends, known), Spread(cuts, margin, first, last, ends, known)


def _margin(width: Float64, first: Int64, last: Int64, people: Float64, ends: Float64) -> Float64:
    """How many people each bin has."""
    bins = len(width)
    at_ends = sums(first, people * ends, bins) + sums(last, people * ends, bins)
    rest = people * (1 - 2 * ends)
    least = 1e-6 * people.sum() * width / width.sum()  # no bin is impossible
    margin: Float64 = width / width.sum()
    if people.sum() <= 0:  # no one has a value
        return margin
    for _ in range(ROUNDS):
        below = np.concatenate([np.zeros(1), np.cumsum(margin)])
        rate = rest / (below[last + 1] - below[first])
        change = sums(first, rate, bins + 1) - sums(last + 1, rate, bins + 1)
        margin = margin * np.maximum(np.cumsum(change)[:-1], 0) + at_ends + least
        margin /= margin.sum()
    return margin


@dataclass(frozen=True, eq=False)
class Selection:
    """What conditions select: the share of a person of each unit, by both spreads, and the sensitive values."""

    shares: tuple[Float64, Float64]  # [u] each
    variances: tuple[Float64, Float64]  # [u] each
    columns: tuple[Float64, Float64]  # [u] each: how many columns leave it open whether a person is selected
    chosen: Bool | None  # [v]; None for all values
    notes: tuple[str, ...] = ()
    """Which values are asked for that no row shows."""

    @property
    def quantities(self) -> tuple[Quantity, Quantity]:
        """The number of people, as something to add up."""
        even, margin = (
            Quantity(share, variance, columns=columns, among=share * (1 - share), counts=True)
            for share, variance, columns in zip(self.shares, self.variances, self.columns, strict=True)
        )
        return even, margin


@dataclass(frozen=True, eq=False)
class Evidence:
    """The published tables as arrays."""

    axes: Mapping[str, Axis]
    units: Units
    values: ShownValues | None
    sensitive: str | None
    spreads: Mapping[str, tuple[Spread, Spread]]
    buckets: Buckets | None
    unread: Mapping[str, Problem]
    """What is wrong with columns that cannot be read."""

    @property
    def withholds_frequent_values(self) -> bool:
        """Whether people are withheld because their value is too frequent: so are those whom balanced groups lack."""
        return self.values is not None and are_balanced(self.values)

    def selection(self, where: Where) -> Selection:
        """What conditions select.

        Raises: InvalidParameter if a condition names no column of the release, or no value that the column can have.
        """
        chosen, columns, notes = None, {}, []
        for name, asked in where.items():
            if name == self.sensitive and self.values is not None:
                named = asked if isinstance(asked, (list, set, frozenset, tuple)) else [asked]
                asked_for = [str(one) for one in named]
                chosen = np.isin(np.array(self.values.labels, dtype=object), asked_for)
                notes += [f"no row shows {one!r}" for one in asked_for if one not in self.values.labels]
            elif name in self.axes:
                columns[name] = self.axes[name].intervals(asked)
            elif name in self.unread:
                raise InvalidParameter(self.unread[name])
            else:
                known = ", ".join([*self.axes, *([] if self.sensitive is None else [self.sensitive])])
                raise InvalidParameter(Problem("a condition", f"name a column that the release shows: {known}", name))
        even, margin = (self._met(columns, way) for way in range(2))
        return Selection((even[0], margin[0]), (even[1], margin[1]), (even[2], margin[2]), chosen, tuple(notes))

    def _met(self, columns: Mapping[str, list[tuple[int, int]]], way: int) -> tuple[Float64, ...]:
        """By one spread: the share of a person of each unit who meets conditions, its variance, and the open columns.

        Where one column alone leaves it open, those at the ends of the box are certain, and only the others vary.
        """
        share, own = np.ones(len(self.units.people)), np.zeros(len(self.units.people))
        partial = np.zeros(len(own))
        for name, intervals in columns.items():
            spread = self.spreads[name][way]
            met, rest = spread.moments(intervals)
            partial += (met[0] > 1e-9) & (met[0] < 1 - 1e-9)
            share, own = share * np.clip(met[0], 0, 1), own + spread.variance(rest)
        certain = (partial <= 1) & (not self.units.spans_worlds)
        return share, np.where(share <= 0, 0.0, np.where(certain, own, share * (1 - share))), np.maximum(partial, 1)

    def total(self, asked: tuple[Quantity, Quantity], chosen: Bool | None) -> Total:
        """The total of a quantity over the people with the chosen values."""
        if chosen is None or self.values is None:
            return combined(*(total_of_all(self.units, one) for one in asked))
        return combined(*(total_of_values(self.units, self.values, self.buckets, one, chosen) for one in asked))

    def weights(self, chosen: Bool | None) -> Float64:
        """How many people of each unit have the chosen values."""
        if chosen is None or self.values is None:
            return self.units.people
        return self.units.people * self.values.shares(chosen)[self.units.group]


def evidence(
    axes: Mapping[str, Axis],
    units: Units,
    values: ShownValues | None,
    sensitive: str | None,
    unread: Mapping[str, Problem],
    *,
    by_region: bool,
) -> Evidence:
    """The evidence of a release."""
    together = None
    if values is not None:
        together = buckets(values, sums(units.group, units.people, len(values.total)), by_region=by_region)
    lying = {
        name: spreads(units.low[at], units.high[at], units.known[at], units.people, units.mates)
        for at, name in enumerate(axes)
    }
    return Evidence(axes, units, values, sensitive, lying, together, unread)
