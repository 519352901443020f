"""Which people of a group have which of its values: what the groups with different values say together.

m-invariance and Cor-Split choose the values of a group first, and draw the people by chance: those with a value are the
same mixture in every group that shows it. So if one bucket of groups shows a, b and c, and another a, b and d, the
difference of their quasi-identifiers is the difference between c and d. This is a linear regression with a line for
each bucket; a normal prior around *all values alike*, whose width the data choose, keeps it from inventing differences.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.estimate.units import ShownValues, sums
from reanon_core.model.arrays import Bool, Float64, Int64

MOST_CELLS = 50_000_000
"""Buckets times values, above which values are taken to be alike: the regression would take too long."""
WIDTHS = np.array([0.3, 0.45, 0.6, 0.8, 1.0])
"""Widths of the prior that are weighed against each other, in standard deviations of what is asked."""

NOISE = 2.5
"""The least variance of a bucket's mean, in units of what drawing its people by chance explains: boxes add to it."""
SURELY = 1.0
"""By how many standard deviations buckets must differ more than that, so that it is no chance."""


@dataclass(frozen=True, eq=False)
class Buckets:
    """The groups that show the same values, and the regression on these values, decomposed once for all questions."""

    number: Int64  # [g] the bucket of each group
    people: Float64  # [b]
    shares: Float64  # [b, v]
    left: Float64  # [b, r]
    strength: Float64  # [r]
    right: Float64  # [r, v]

    def differ_otherwise(self, totals: Float64, seen: float) -> bool:
        """Whether buckets differ by more than their values and chance explain: people of a region share buckets too.

        Then a bucket's people are near each other whatever their value, and a difference of buckets is none of values.
        """
        if seen <= 0:
            return False
        scaled = totals / np.sqrt(self.people * seen)
        found = self.left.T @ scaled
        free = len(scaled) - len(found)
        return free > 0 and float(scaled @ scaled - found @ found) > NOISE * (free + SURELY * (2 * free) ** 0.5)

    def correction(self, totals: Float64, asked: Bool, seen: float, whole: float) -> tuple[float, float]:
        """What is to be added to the answer that takes values to be alike, and its standard error.

        `totals` are how far each bucket is from the mean, added up over its people. `whole` is the variance of what is
        asked over people, and `seen` the part of it that boxes show: they show as large a part of how values differ.
        """
        if seen <= 1e-12 * whole or whole <= 0:
            return 0.0, 0.0
        shown = seen / whole
        scaled = totals / np.sqrt(self.people * seen)
        found = self.left.T @ scaled
        rest = float(scaled @ scaled - found @ found)
        noise = max(NOISE, rest / max(1, len(scaled) - len(found)))
        coefficient = self._coefficient(asked, shown)
        along = self.right @ coefficient
        outside = max(0.0, float(coefficient @ coefficient - along @ along))
        width = WIDTHS * shown**0.5
        spread = width[:, None] ** 2 * self.strength**2 + noise  # [w, r]
        likelihood = -0.5 * (found**2 / spread + np.log(spread)).sum(axis=1)
        weight = np.exp(likelihood - likelihood.max())
        weight /= weight.sum()
        means = (along * width[:, None] ** 2 * self.strength / spread * found).sum(axis=1)
        errors = (along**2 * width[:, None] ** 2 * noise / spread).sum(axis=1) + width**2 * outside
        middle = float(weight @ means)
        error = float(weight @ (errors + (means - middle) ** 2))
        return middle * seen**0.5, (error * seen) ** 0.5

    def _coefficient(self, asked: Bool, shown: float) -> Float64:
        """What a unit of each value's own difference adds to the answer.

        The answer that takes values to be alike holds a part of it already, as far as boxes show it. The differences
        of all values together are none, so that answers for all values add up.
        """
        of_value = self.people @ self.shares
        of_asked = self.people * (self.shares @ asked)
        common = of_value * of_asked.sum() / self.people.sum()
        added: Float64 = (of_value * asked - common) / shown - (of_asked @ self.shares - common)
        return added


def are_balanced(values: ShownValues) -> bool:
    """Whether each group shows each of its values equally often, two values at least."""
    kinds = np.bincount(values.group, minlength=len(values.total))
    even = np.abs(values.count * kinds[values.group] - values.total[values.group]) < 0.5
    return bool(len(kinds) and kinds.min() >= 2 and even.all())


def buckets(values: ShownValues, people: Float64) -> Buckets | None:
    """The buckets of a release; None if its groups do not show each of their values equally often.

    `people` are those of each group.
    """
    if not are_balanced(values):
        return None
    kinds = np.bincount(values.group, minlength=len(values.total))
    order = np.lexsort((values.value, values.group))
    lists = np.split(values.value[order], np.cumsum(kinds)[:-1])
    numbers: dict[bytes, int] = {}
    number = np.array([numbers.setdefault(one.tobytes(), len(numbers)) for one in lists], np.int64)
    if len(numbers) < 2 or len(numbers) * len(values.labels) > MOST_CELLS:
        return None
    shares = np.zeros((len(numbers), len(values.labels)))
    for signature, at in numbers.items():
        shown = np.frombuffer(signature, np.int64)
        shares[at, shown] = 1 / len(shown)
    total = sums(number, people, len(numbers))
    if total.min() <= 0:  # a bucket of counterfeits alone says nothing about people
        return None
    left, strength, right = np.linalg.svd(np.sqrt(total)[:, None] * shares, full_matrices=False)
    some = strength > 1e-9 * strength.max()
    return Buckets(number, total, shares, left[:, some], strength[some], right[some])
