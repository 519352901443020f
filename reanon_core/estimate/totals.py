"""The total of something over the people with some sensitive values, and how uncertain it is."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from reanon_core.estimate.bucket_regression import Buckets
from reanon_core.estimate.units import ShownValues, Units, sums
from reanon_core.model.arrays import Bool, Float64

UNEVEN = 0.5
"""How far the people of boxes may be from both spreads: the standard deviation of the log of the odds."""
UNEVEN_WORLDS = 1.6
"""The same where a box spans the people of several worlds: the row's own person is one of them, not any of them."""
DIFFER = 0.5
"""The standard error that the difference of the answers by both spreads stands for, as a part of it."""
UNEVEN_BOX = 1.5
"""The same for each box on its own: a box that holds women and men often holds one of either."""
TIED = 1.2
"""How far values may depend on quasi-identifiers inside a group, where nothing is known of it; the same unit."""


@dataclass(frozen=True)
class Total:
    """A total, its standard error, and how far counterfeits can move it."""

    value: float
    error: float
    below: float = 0.0
    """How much lower it is if as many of the counterfeits as possible have the values."""
    above: float = 0.0
    rows: float = 0.0
    """How many rows show the values, counterfeits included."""
    lower: float = 0.0
    """How much lower it may be for another reason that no counting of chances covers."""
    higher: float = 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """The interval that holds the truth so often."""
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.error
        down, up = self.below + self.lower, self.above + self.higher
        return self.value - float(np.hypot(reach, down)), self.value + float(np.hypot(reach, up))


@dataclass(frozen=True, eq=False)
class Quantity:
    """What is added up: its mean and variance for a person of each unit, and the size of a usual deviation."""

    mean: Float64  # [u]
    variance: Float64  # [u]
    scale: float = 1.0
    columns: "Float64 | float" = 1.0  # [u] how many columns leave it open
    among: "Float64 | None" = None  # [u] the variance between the people of a unit; the same as that of one, if None
    counts: bool = False
    """Whether it is 1 for some people and 0 for the others."""


def combined(even: Total, margin: Total) -> Total:
    """The answer half-way between those by two spreads; their difference shows how much the spread matters."""
    error = np.hypot((even.error + margin.error) / 2, DIFFER * (even.value - margin.value))
    averaged = ("value", "below", "above", "rows", "lower", "higher")
    middle = {name: (getattr(even, name) + getattr(margin, name)) / 2 for name in averaged}
    return Total(error=float(error), **middle)


def total_of_all(units: Units, asked: Quantity) -> Total:
    """The total over everyone."""
    spread = float(units.people @ asked.variance) + _of_single_boxes(units, asked, np.ones(len(units.people)))
    systematic = _unevenness(units, asked, units.people)
    return Total(float(units.people @ asked.mean), float(np.hypot(spread**0.5, systematic)))


def total_of_values(
    units: Units, values: ShownValues, together: Buckets | None, asked: Quantity, chosen: Bool
) -> Total:
    """The total over the people who have one of the chosen values.

    Errors that concern one box or group add up as variances: where people are in a box, which of a group's people have
    the values, which rows are counterfeits. Errors of the assumptions add up as they are: an uneven spread, and values
    that depend on quasi-identifiers inside a group.
    """
    share = values.shares(chosen)  # [g]
    groups = len(share)
    people = sums(units.group, units.people, groups)
    mean = _means(units, asked.mean, people)
    own = asked.variance if asked.among is None else asked.among
    within = np.maximum(_means(units, own + asked.mean**2, people) - mean**2, 0)  # between the people of the group
    within = within * people / np.maximum(people - 1, 1)  # if one of them has the value, it is one of the others less
    apart = np.maximum(_means(units, own - asked.variance + asked.mean**2, people) - mean**2, 0)  # which is no chance
    value = float(np.sum(people * mean * share))
    placed = float(units.people * share[units.group] @ asked.variance)
    mixed = share * (1 - share)
    drawn = float(np.sum(people * mixed * apart * people / np.maximum(people - 1, 1)))
    invented = values.counterfeits / np.maximum(values.total - 1, 1)
    drawn += float(np.sum(people * mixed * invented * mean**2))
    placed += _of_single_boxes(units, asked, share[units.group])
    systematic = _unevenness(units, asked, units.people * share[units.group])
    correction, tied = 0.0, TIED * float(np.sum(people * mixed * within)) / asked.scale
    if together is not None:
        middle = float(units.people @ asked.mean) / float(people.sum())
        between = float(units.people @ (asked.mean - middle) ** 2) / float(people.sum())
        inside = float(units.people @ asked.variance) / float(people.sum())
        of_bucket = sums(together.number, people * (mean - middle), len(together.people))
        correction, tied = together.correction(of_bucket, chosen, between, between + inside)
        value += correction
    if asked.counts:  # of a group's people who meet conditions, so many at least and at most have its values
        least, most = np.maximum(mean + share - 1, 0), np.minimum(mean, share)
        value = float(np.clip(value, people @ least, people @ most))
    below, above = _reach_of_counterfeits(values, share, mean)
    # Buckets may differ for another reason than their values: people who arrived together share buckets, and an age.
    # So the interval reaches back to the answer without the correction.
    lower, higher = max(correction, 0.0), max(-correction, 0.0)
    rows = float(np.sum(share * values.total * mean))
    error = float(np.sqrt(placed + drawn + systematic**2 + tied**2))
    return Total(value, error, below, above, rows, lower, higher)


def _unevenness(units: Units, asked: Quantity, people: Float64) -> float:
    """How far a total is off if all boxes are as uneven as one: more so if several columns go together in them."""
    reach = float(people @ (asked.variance * np.sqrt(asked.columns))) / asked.scale
    return (UNEVEN_WORLDS if units.spans_worlds else UNEVEN) * reach


def _of_single_boxes(units: Units, asked: Quantity, share: Float64) -> float:
    """The variance of a total if each box is uneven in its own way; people who share a box err together."""
    mates = np.ones(len(units.mates)) if units.spans_worlds else units.mates
    return UNEVEN_BOX**2 * float((units.people * mates) @ (share * asked.variance / asked.scale) ** 2)


def _means(units: Units, quantity: Float64, people: Float64) -> Float64:
    """The mean of a quantity over the people of each group."""
    total = sums(units.group, units.people * quantity, len(people))
    return total / np.maximum(people, 1e-12)


def _reach_of_counterfeits(values: ShownValues, share: Float64, mean: Float64) -> tuple[float, float]:
    """How much lower and higher a total can be, given that no one knows which rows of a group are counterfeits."""
    shown, real = share * values.total, values.total - values.counterfeits
    expected = share * real
    fewest, most = np.maximum(0, shown - values.counterfeits), np.minimum(shown, real)
    lower, upper = (fewest - expected) * mean, (most - expected) * mean
    return float(-np.minimum(lower, upper).sum()), float(np.maximum(lower, upper).sum())
