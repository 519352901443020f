"""Who is missing from a release, by value: counterfeits stand for people who left, and some people are withheld.

m-invariance and Cor-Split fill a bucket up to the middle of its values: a value that has fewer people gets
counterfeits, and of one that has more people some are withheld. Which value that is, is not published, and every value
of the bucket is as likely as the others (reanon_core/bucketing/PROOF.md). So counterfeits are expected evenly among the
values of their bucket, and withheld people where counterfeits are. More withheld people than that have a value that is
too frequent: the one that most groups show.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.estimate.units import ShownValues, sums
from reanon_core.model.arrays import Bool, Float64, Int64

ALONE = 1.3
"""The variance of counterfeits of a value in a bucket, if one value of the bucket had all of them: a part more."""
IN_STEP = 0.55
"""The standard deviation of a value's absences that all buckets share, as a part of them: a value may leave faster."""
FREQUENT = 4
"""By which power of the share of groups that show it a value is more likely to be the one that is too frequent."""
WHICH = 0.3
"""How far that guess is off, in standard deviations of a single draw."""
MORE = 2.0
"""By how many standard deviations of counterfeits people are withheld for another reason than gaps."""
AT_LEAST = 0.25
"""The variance of a count with any absence."""


@dataclass(frozen=True, eq=False)
class Absences:
    """What is expected to be missing from each bucket: groups that show the same values."""

    number: Int64  # [g] the bucket of each group
    shown: Bool  # [b, v]
    rows: Float64  # [b] how many rows show each value: as many as the bucket has groups
    invented: Float64  # [b]
    withheld: Float64  # [b] of people who were too many for a gap
    too_many: Float64  # [b] of people with a value that is too frequent
    frequent: Float64  # [b, v] how likely each value is to be that one

    @property
    def total(self) -> float:
        """How many people are withheld."""
        return float(self.withheld.sum() + self.too_many.sum())

    def of(self, chosen: Bool, met: Float64) -> tuple[float, float]:
        """How many withheld people have the values, and the variance of that and of the counterfeits with them.

        `met` is the share of the people of each bucket who meet conditions.
        """
        share = self.shown @ chosen / self.shown.sum(axis=1)
        likely = self.frequent @ chosen
        gaps, ratio = self.invented + self.withheld, 1 + self.withheld.sum() / max(float(self.invented.sum()), 1.0)
        alone = ALONE * ratio * float(self.invented**2 @ (share * (1 - share) * met**2))
        which = WHICH**2 * float(self.too_many.sum()) * float(self.too_many @ (likely * (1 - likely) * met**2))
        open_share = float(gaps @ (share * met)) if share.min() < 1 else 0.0
        also = float(self.too_many @ (share * met)) if share.min() < 1 else 0.0
        variance = alone + which + (IN_STEP * (open_share + also)) ** 2
        return float((self.withheld * share + self.too_many * likely) @ met), variance + AT_LEAST * (variance > 0)

    def part_of(self, chosen: Bool) -> float:
        """How much is missing of the people with the values, and how much of their rows is invented."""
        share, rows = self.shown @ chosen / self.shown.sum(axis=1), float(self.rows @ (self.shown @ chosen))
        gone = (self.invented + self.withheld) @ share + self.too_many @ (self.frequent @ chosen)
        return float(gone) / max(rows, 1.0)


def absences(values: ShownValues, withheld: int) -> Absences:
    """The absences of a release whose groups show each of their values equally often."""
    shown = np.zeros((len(values.total), len(values.labels)), np.bool_)
    shown[values.group, values.value] = True
    buckets, number = np.unique(shown, axis=0, return_inverse=True)
    number = number.ravel()
    invented, rows = (sums(number, one, len(buckets)) for one in (values.counterfeits, values.total))
    counted = float(invented.sum())
    too_many = max(0.0, withheld - counted - MORE * float(np.sqrt(invented @ invented)))
    at = (invented if counted else rows) / max(counted, float(rows.sum()) if not counted else 0.0)
    frequent = buckets * shown.mean(axis=0) ** FREQUENT
    frequent /= frequent.sum(axis=1, keepdims=True)
    return Absences(
        number,
        buckets,
        np.bincount(number).astype(np.float64),
        invented,
        (withheld - too_many) * at,
        too_many * at,
        frequent,
    )
