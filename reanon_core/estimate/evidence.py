"""What a release says, ready for questions: its people in boxes, its values in groups, and how boxes are spread."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reanon_core.estimate.axis import Axis
from reanon_core.estimate.bucket_regression import Buckets, are_balanced, buckets
from reanon_core.estimate.spread import Spread, spreads
from reanon_core.estimate.totals import Quantity, Total, combined, total_of_all, total_of_values
from reanon_core.estimate.units import ShownValues, Units, sums
from reanon_core.model.arrays import Bool, Float64
from reanon_core.model.errors import InvalidParameter, Problem

Where = Mapping[str, object]
"""Conditions that all hold: a column, and a value, a list of values, or the two ends of a range as a tuple."""


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
