"""Section 3 and Figure 3: the probabilities, and the n that they choose."""

import pytest

from reanon_core.model.errors import InvalidParameter
from reanon_core.techniques.cor_split.n_choose import (
    NONE_FITS,
    breach_probability,
    choose_n,
    compromised_exclusion,
    correlation_exclusion,
)
from reanon_core.techniques.cor_split.technique import CorSplit


@pytest.mark.parametrize(
    ("lifespan", "expected"),
    [(21, (0.970732, 0.080640, 0.063589)), (24, (0.985847, 0.119155, 0.095561)), (25, (0.988900, 0.133442, 0.107601))],
)
def test_the_probability_of_a_breach_has_the_values_of_the_specification(
    lifespan: int, expected: tuple[float, ...]
) -> None:
    """Theorem 2, p = 0.04, m = 6."""
    for n, value in enumerate(expected, start=1):
        assert round(breach_probability(0.04, lifespan, 6, n), 6) == value


@pytest.mark.parametrize(("lifespan", "n"), [(21, 2), (24, 3), (25, NONE_FITS)])
def test_n_choose_returns_2_and_3_and_then_nothing(lifespan: int, n: int) -> None:
    """Figure 3 with h = 0.1. The paper uses 3 for L = 21 too, which is safe, but not what its figure returns."""
    assert choose_n(0.04, lifespan, 6, 0.1) == n


def test_the_breach_combines_both_exclusions() -> None:
    """Lemma 1, Lemma 2, Theorem 2."""
    for lifespan in (1, 5, 24):
        for n in range(1, 7):
            ct, hc = compromised_exclusion(0.04, lifespan), correlation_exclusion(0.04, lifespan, 6, n)
            expected = (1 - (1 - ct) * (1 - hc)) ** 5
            assert breach_probability(0.04, lifespan, 6, n) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("p", [0.01, 0.04, 0.2])
@pytest.mark.parametrize("m", [2, 6, 10])
def test_the_breach_does_not_grow_with_n(p: float, m: int) -> None:
    values = [breach_probability(p, 24, m, n) for n in range(1, m + 1)]
    assert values == sorted(values, reverse=True)


def test_where_no_n_fits_the_refusal_says_what_would() -> None:
    with pytest.raises(InvalidParameter) as error:
        CorSplit(m=6, p=0.04, max_lifespan=25, threshold=0.1)
    assert "each of these alone would help: max_lifespan: 24, m: 7, a threshold above 0.107042" in str(error.value)
    for changed in ({"max_lifespan": 24}, {"m": 7}, {"threshold": 0.107043}):
        assert CorSplit(**({"m": 6, "p": 0.04, "max_lifespan": 25, "threshold": 0.1} | changed)).degree >= 1
