"""A synthetic yearly household survey: 22 waves in which people leave, return and age, and newcomers differ.

    python data/survey/generate.py --years 22 --seed 7 --out data/survey/snapshots

Every number here is our own: see SOURCE.md. The shape is that of a long household panel: 7,000 to 8,500 people a
year, of whom 13% leave each year and as many come, half of everyone ever seen returns after a gap, all age, and one of
the 25 industries is that of a fifth to a quarter of the newcomers. The columns are as skewed and correlated as those of
a census extract: nine people of ten were born in one country, industry depends on sex, schooling and age.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Weights = npt.NDArray[np.float64]

HERE = Path(__file__).parent
FIRST_YEAR = 2003
YEARS = 22
YOUNGEST, OLDEST = 17, 90
LEAVING = 0.13
"""The share of the people present who leave before the next year."""
RETURNING = 0.09
"""The share of the people away who come back, so that half of everyone ever seen does in the end."""

SEXES = ("female", "male")
EDUCATION = (
    "Preschool", "Grade 1-4", "Grade 5-6", "Grade 7-8", "Grade 9", "Grade 10", "Grade 11", "Grade 12", "High school",
    "Some college", "Vocational", "Associate", "Bachelor", "Master", "Professional", "Doctorate",
)  # fmt: skip
MARITAL = ("never married", "married", "partnered", "separated", "divorced", "widowed")
REGIONS = (
    "coast north", "coast south", "capital", "capital belt", "river east", "river west", "hills", "mountains",
    "plain north", "plain south", "lakes", "islands",
)  # fmt: skip
BIRTHPLACES = (
    "here", "neighbour north", "neighbour east", "neighbour south", "continent west", "continent east", "far east",
    "far south", "overseas", "elsewhere",
)  # fmt: skip
INDUSTRIES = (
    "retail", "health", "schools", "building", "metal", "public office", "transport", "catering", "finance", "cleaning",
    "care homes", "software", "food", "farming", "textiles", "energy", "law", "media", "chemistry", "security",
    "research", "arts", "army", "mining", "fishing",
)  # fmt: skip
NEWCOMERS_INDUSTRY = INDUSTRIES.index("catering")
"""The industry of a fifth to a quarter of the people who come for the first time."""

LABELS: dict[str, tuple[str, ...]] = {
    "sex": SEXES, "education": EDUCATION, "marital": MARITAL, "region": REGIONS, "birthplace": BIRTHPLACES,
    "industry": INDUSTRIES,
}  # fmt: skip
COLUMNS = ("person", "age", "sex", "education", "marital", "region", "birthplace", "industry")
QUASI_IDENTIFIERS = COLUMNS[1:-1]


def waves(
    years: int = YEARS, seed: int = 7, *, people: int = 7062, values: int = 25, changing: float = 0.0
) -> list[dict[str, Codes]]:
    """The people of each year, column by column: `person` and `age` as they are, the others as codes of `LABELS`.

    `values` industries are used; `changing` is the share of the people present whose industry changes in a year. The
    same arguments give the same people, and fewer years give the first of them.
    """
    rng = np.random.default_rng([seed, YEARS, people, values])
    known = _entrants(people, rng, values, newcomers=False)
    here = np.ones(people, dtype=bool)
    released: list[dict[str, Codes]] = []
    growth = (8429 / 7062) ** (1 / 21)
    for year in range(years):
        if year:
            known["age"] = known["age"] + 1
            wanted = round(people * growth**year)
            leaving = here & ((rng.random(len(here)) < LEAVING) | (known["age"] > OLDEST))
            returning = ~here & (rng.random(len(here)) < RETURNING) & (known["age"] <= OLDEST)
            here = here & ~leaving | returning
            _change(known, here, changing, rng, values)
            come = _entrants(max(0, wanted - int(here.sum())), rng, values, newcomers=True)
            known = {column: np.concatenate([known[column], come[column]]) for column in known}
            here = np.concatenate([here, np.ones(len(come["age"]), dtype=bool)])
        person = np.flatnonzero(here).astype(np.int32)
        released.append({"person": person, **{column: known[column][person] for column in known}})
    return released


def _entrants(n: int, rng: np.random.Generator, values: int, *, newcomers: bool) -> dict[str, Codes]:
    """People who come for the first time; after the first year they are younger, and more of them come from abroad."""
    age = _ages(n, rng, newcomers=newcomers)
    years = age.astype(np.float64)
    sex = (rng.random(n) < 0.48).astype(np.int32)
    schooling = rng.normal(8.8 + 0.6 * newcomers - 0.03 * np.maximum(years - 45, 0), 2.6, n)
    education = np.clip(np.rint(schooling), 0, np.minimum(15, (years - 9) // 1)).astype(np.int32)
    here = np.where(rng.random(n) < (0.72 if newcomers else 0.91), 1.0, 0.0)[:, None]
    abroad = np.array([0, 24, 17, 12, 14, 9, 9, 6, 5, 4], dtype=np.float64)
    birthplace = _drawn(here * np.eye(10)[0] + (1 - here) * abroad, rng)
    region = _drawn(
        np.tile(np.array([14, 9, 22, 16, 8, 7, 6, 3, 6, 4, 3, 2.0]), (n, 1)) * _abroad_regions(birthplace), rng
    )
    people = {
        "age": age, "sex": sex, "education": education, "marital": _drawn(_marital(years), rng), "region": region,
        "birthplace": birthplace,
    }  # fmt: skip
    people["industry"] = _industries(people, rng, values, newcomers=newcomers)
    return people


def _ages(n: int, rng: np.random.Generator, *, newcomers: bool) -> Codes:
    young = rng.gamma(2.0, 6.0, n) + YOUNGEST
    grown = rng.normal(46, 17, n)
    share = 0.7 if newcomers else 0.15
    return np.clip(np.where(rng.random(n) < share, young, grown), YOUNGEST, OLDEST).astype(np.int32)


def _abroad_regions(birthplace: Codes) -> Weights:
    """People from abroad live in the capital and on the coast."""
    cities = np.array([1.4, 1.2, 2.2, 1.8, 0.8, 0.8, 0.6, 0.3, 0.6, 0.4, 0.4, 0.3])
    return np.where(birthplace[:, None] > 0, cities, 1.0)


def _marital(years: Weights) -> Weights:
    grown, old = np.clip((years - 19) / 14, 0, 1), np.clip((years - 55) / 35, 0, 1)
    return np.column_stack(
        [85 * (1 - grown) + 11, 56 * grown * (1 - 0.6 * old), 9 * (1 - 0.5 * grown) + 3, 2 + 0 * grown, 14 * grown,
         50 * old**2]
    )  # fmt: skip


def _industries(people: dict[str, Codes], rng: np.random.Generator, values: int, *, newcomers: bool) -> Codes:
    """Industries by sex, schooling and age; among newcomers one is far more frequent than the others."""
    n = len(people["age"])
    size = np.array([13, 11, 9, 8, 8, 7, 6, 5, 5, 4, 4, 4, 3, 3, 2, 2, 1.5, 1.5, 1.3, 1.2, 1, 1, 0.8, 0.5, 0.3])
    schooling = np.array([0, 2, 4, -1, 0, 2, -1, -2, 3, -4, -1, 4, -2, -3, -3, 1, 5, 3, 3, -1, 6, 3, 0, -2, -4])
    men = np.array([-2, -6, -4, 8, 6, 0, 5, -1, 0, -5, -6, 4, 1, 3, -5, 4, 0, 0, 2, 4, 1, 0, 7, 8, 7])
    young = np.array([3, 0, -1, 0, -1, -2, -1, 6, 0, 0, -1, 4, 0, -5, -3, -2, -1, 2, 0, 1, 2, 2, 6, -3, -4])
    learned, youth = (people["education"] - 8.5) / 4, np.clip((42 - people["age"]) / 20, -1.5, 1.2)
    sex = people["sex"] - 0.5
    tendency = 0.42 * np.outer(learned, schooling) + 0.2 * np.outer(sex, men) + 0.16 * np.outer(youth, young)
    weights = size * np.exp(tendency)
    weights = weights[:, :values]
    if newcomers:
        share = 0.2 + 0.05 * rng.random()
        weights[:, NEWCOMERS_INDUSTRY] = 0
        weights[:, NEWCOMERS_INDUSTRY] = share / (1 - share) * weights.sum(axis=1)
    return _drawn(weights, rng) if n else np.empty(0, np.int32)


def _change(
    known: dict[str, Codes], here: npt.NDArray[np.bool_], share: float, rng: np.random.Generator, values: int
) -> None:
    """Draw the industry of a share of the people present anew."""
    changed = np.flatnonzero(here & (rng.random(len(here)) < share)) if share else np.empty(0, np.int64)
    if len(changed):
        drawn = _industries({column: known[column][changed] for column in known}, rng, values, newcomers=False)
        known["industry"] = known["industry"].copy()
        known["industry"][changed] = drawn


def _drawn(weights: Weights, rng: np.random.Generator) -> Codes:
    ends = np.cumsum(weights, axis=1)
    drawn: Codes = (rng.random((len(ends), 1)) * ends[:, -1:] > ends).sum(axis=1).astype(np.int32)
    return drawn


def write(released: list[dict[str, Codes]], folder: Path) -> None:
    """One csv file for each year, with labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for year, people in enumerate(released, start=FIRST_YEAR):
        labelled = [
            [LABELS[column][code] for code in people[column].tolist()] if column in LABELS else people[column].tolist()
            for column in COLUMNS
        ]
        with (folder / f"{year}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(zip(*labelled, strict=True))


def main() -> None:
    """Write the waves as the command line says."""
    parser = argparse.ArgumentParser(description="Write the waves of a synthetic household survey.")
    parser.add_argument("--years", type=int, default=YEARS)
    parser.add_argument("--people", type=int, default=7062)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=HERE / "snapshots")
    chosen = parser.parse_args()
    write(waves(chosen.years, chosen.seed, people=chosen.people), chosen.out)


if __name__ == "__main__":
    main()
