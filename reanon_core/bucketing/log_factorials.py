"""Sums of logarithms of factorials, of many small arrays of small numbers."""

from functools import cache
from math import lgamma

import numpy as np

from reanon_core.model.arrays import Float64, Int64

LISTED = 1 << 14
"""The factorials of numbers below this are looked up."""


def log_factorials(counts: Int64) -> float:
    """The sum of the logarithms of the factorials of these numbers."""
    if int(counts.max(initial=0)) < LISTED:
        return float(_log_factorial()[counts].sum())
    from scipy.special import gammaln  # here, because it is slow to import, and few commands need it

    return float(gammaln(counts + 1.0).sum())


@cache
def _log_factorial() -> Float64:
    return np.array([lgamma(number + 1) for number in range(LISTED)])
