"""How large correlated sets must be: the paper's probabilities, and the least n that keeps a breach unlikely.

The formulas take releases for independent draws and signatures for sets of m values. They are a planning estimate, not
a guarantee (specification, C12).
"""

from reanon_core.model.errors import InvalidParameter, Problem

NONE_FITS = -1
"""What n-Choose returns if no n keeps the breach below the threshold."""
FARTHEST = 10_000
"""How far advice looks for another m."""


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

    With n = m no row could ever be published again beside a counterfeit (departure D5).

    Raises: InvalidParameter that says which lifespan, m or threshold would do.
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
    """What would do instead: a shorter lifespan, a larger m, or a higher threshold, each by itself."""
    ways = []
    shorter = next((length for length in range(lifespan - 1, 0, -1) if _fits(p, length, m, threshold)), None)
    if shorter is not None:
        ways.append(f"max_lifespan: {shorter}")
    larger = next((more for more in range(m + 1, FARTHEST) if _fits(p, lifespan, more, threshold)), None)
    if larger is not None:
        ways.append(f"m: {larger}")
    least = breach_probability(p, lifespan, m, m - 1)
    ways.append(f"a threshold above {least:.6f}")
    return f"each of these alone would do: {', '.join(ways)}"
