"""Which people of a group have which of its values: what the groups with different values say together.

m-invariance and Cor-Split choose the values of a group first, and draw the people by chance: those with a value are the
same mixture in every group that shows it. So if one bucket of groups shows a, b and c, and another a, b and d, the
difference of their quasi-identifiers is the difference between c and d. This is a linear regression with a line for
each bucket; a normal prior around *all values alike*, whose width the data choose, keeps it from inventing differences.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.estimate.units import ShownValues, sums
from reanon_core.model.arrays import AnyArray, Bool, Float64, Int64

MOST_CELLS = 50_000_000
"""Buckets times values, above which values are taken to be alike: the regression would take too long."""
WIDTHS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0])
"""Widths of the prior that are weighed against each other, in standard deviations of what is asked."""


@dataclass(frozen=True, eq=False)
class Buckets:
    """The groups that show the same values, and the regression on these values, decomposed once for all questions."""

    number: Int64  # [g] the bucket of each group
    people: Float64  # [b]
    shares: Float64  # [b, v]
    left: AnyArray  # [b, r]
    strength: Float64  # [r]
    right: Float64  # [r, v]

    def correction(self, totals: Float64, asked: Bool, variance: float) -> tuple[float, float]:
        """What is to be added to the answer that takes values to be alike, and its standard error.

        `totals` are those of each bucket, over all its values; `variance` is that of what is asked, over people.
        """
        if variance <= 0:
            return 0.0, 0.0
        mean = totals.sum() / self.people.sum()
        scaled = (totals - self.people * mean) / np.sqrt(self.people * variance)
        seen = self.left.T @ scaled
        rest = float(scaled @ scaled - seen @ seen)
        noise = max(1.0, rest / max(1, len(scaled) - len(seen)))  # boxes add to what drawing people explains
        coefficient = (self.people[:, None] * self.shares * asked).sum(axis=0) - (
            self.people * (self.shares @ asked)
        ) @ self.shares
        along = self.right @ coefficient
        outside = max(0.0, float(coefficient @ coefficient - along @ along))
        spread = WIDTHS[:, None] ** 2 * self.strength**2 + noise  # [w, r]
        likelihood = -0.5 * (seen**2 / spread + np.log(spread)).sum(axis=1)
        weight = np.exp(likelihood - likelihood.max())
        weight /= weight.sum()
        means = (along * WIDTHS[:, None] ** 2 * self.strength / spread * seen).sum(axis=1)
        errors = (along**2 * WIDTHS[:, None] ** 2 * noise / spread).sum(axis=1) + WIDTHS**2 * outside
        middle = float(weight @ means)
        error = float(weight @ (errors + (means - middle) ** 2))
        return middle * variance**0.5, (error * variance) ** 0.5


def buckets(values: ShownValues, people: Float64) -> Buckets | None:
    """The buckets of a release; None if its groups do not show each of their values equally often.

    `people` are those of each group.
    """
    kinds = np.bincount(values.group, minlength=len(values.total))
    even = np.abs(values.count * kinds[values.group] - values.total[values.group]) < 0.5
    if not len(kinds) or kinds.min() < 2 or not even.all():
        return None
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
    left, strength, right = np.linalg.svd(np.sqrt(total)[:, None] * shares, full_matrices=False)
    some = strength > 1e-9 * strength.max()
    return Buckets(number, total, shares, left[:, some], strength[some], right[some])
