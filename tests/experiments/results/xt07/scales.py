"""The sizes of the paper's series, and those that fit Adult and a tiny run."""

from experiments.results.t_series import ADULT_PEOPLE, Scale, whole_pool

POPULATIONS = ("occupation", "income", "adult")
"""The paper's OCC and SAL, as our census has them, and Adult."""
TITLES = {"occupation": "census, occupation", "income": "census, income", "adult": "Adult, occupation"}
SHARES = (0.025, 0.05, 0.1, 0.2)
"""The paper's r as a share of the rows: 5,000, 10,000, 20,000 and 40,000 of 200,000."""


def people_of(population: str, *, small: bool) -> int:
    """How many people there are: as many as in the paper, or as Adult has."""
    if small:
        return 2_400
    return ADULT_PEOPLE if population == "adult" else 600_000


def series_scale(population: str, share: float, *, small: bool, divisor: int = 1, releases: int | None = None) -> Scale:
    """A series that replaces this share of its rows at each release, until all people have been there."""
    people = people_of(population, small=small) // (1 if population == "adult" or small else divisor)
    scale = whole_pool(people, round(people // 3 * share))
    longest = 3 if small else releases
    return scale if longest is None else scale.first(longest)


def fixed_m(population: str, *, small: bool) -> int:
    """The paper's m = 10; Adult's most frequent occupation has 13 % of the people, which allows no more than 4."""
    if small:
        return 2
    return 4 if population == "adult" else 10


def swept_m(population: str, *, small: bool) -> tuple[int, ...]:
    """The paper's m from 2 to 10; Adult allows 4."""
    if small:
        return (2, 3)
    return (2, 3, 4) if population == "adult" else (2, 4, 6, 8, 10)
