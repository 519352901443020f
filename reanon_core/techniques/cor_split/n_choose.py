"""n-Choose: the paper's probabilities of a breach, and the least n that keeps a breach unlikely.

The formulas assume that releases are independent draws and that every signature has m values. They are a planning
estimate, not a guarantee.
"""

from reanon_core.model.errors import InvalidParameter, Problem

NONE_FITS = -1
"""What n-Choose returns if no n keeps the breach below the threshold."""
LARGEST_M = 10_000
"""The advice considers no larger m."""


def compromised_exclusion(p: float, lifespan: int) -> float:
    """The probability that a compromised person of some group excludes a given value.

    Paper: [RB09] Lemma 1, p_ct.
    """
    return float(1 - (1 - p) ** lifespan)


def correlation_exclusion(p: float, lifespan: int, m: int, n: int) -> float:
    """The probability that a historical correlation excludes a given value.

    Paper: [RB09] Lemma 2, p_hc.
    """
    return float(1 - (1 - (p - p / m) ** n) ** (lifespan * (m // n)))


def breach_probability(p: float, lifespan: int, m: int, n: int) -> float:
    """The probability that all values of a person but the true one are excluded.

    Paper: [RB09] Theorem 2, p_pb.
    """
    kept = (1 - p) ** lifespan * (1 - (p - p / m) ** n) ** (lifespan * (m // n))
    return float((1 - kept) ** (m - 1))


def choose_n(p: float, lifespan: int, m: int, threshold: float) -> int:
    """The least n of 1 .. m whose breach probability is below the threshold, or NONE_FITS.

    Paper: [RB09] Figure 3, n-Choose. The probability does not grow with n, so the first that fits is the least.
    """
    for n in range(1, m + 1):
        if breach_probability(p, lifespan, m, n) < threshold:
            return n
    return NONE_FITS


def usable_n(p: float, lifespan: int, m: int, threshold: float) -> int:
    """The n to publish with: the chosen one, if it is at most m - 1.

    With n = m, a group of m rows that contains anyone published before is never safe (departure D5).

    Raises: InvalidParameter, which names a lifespan, an m and a threshold that would help.
    """
    n = choose_n(p, lifespan, m, threshold)
    if 1 <= n < m:
        return n
    raise InvalidParameter(
        Problem(
            "threshold",
            f"be above the probability of a breach that some n below m = {m} gives for max_lifespan {lifespan} "
            f"and p {p:g}",
            f"{threshold:g}",
            _advice(p, lifespan, m, threshold),
        )
    )


def _fits(p: float, lifespan: int, m: int, threshold: float) -> bool:
    return m >= 2 and breach_probability(p, lifespan, m, m - 1) < threshold


def _advice(p: float, lifespan: int, m: int, threshold: float) -> str:
    """What would help: a shorter lifespan, a larger m, or a higher threshold, each by itself."""
    ways = []
    shorter = next((length for length in range(lifespan - 1, 0, -1) if _fits(p, length, m, threshold)), None)
    if shorter is not None:
        ways.append(f"max_lifespan: {shorter}")
    larger = next((more for more in range(m + 1, LARGEST_M) if _fits(p, lifespan, more, threshold)), None)
    if larger is not None:
        ways.append(f"m: {larger}")
    least = breach_probability(p, lifespan, m, m - 1)
    ways.append(f"a threshold above {least:.6f}")
    return f"each of these alone would help: {', '.join(ways)}"
