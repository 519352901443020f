"""A synthetic census: seeded people with the domains of the m-invariance paper, and its T-series.

    python data/census/generate.py --rows 20000 --update 0.10 --releases 8 --seed 7 --out data/census/snapshots

Every number in model/ is our own: see SOURCE.md. Each attribute is drawn given those before it, from a table with one
line of probabilities for each combination of their values.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

HERE = Path(__file__).parent
PEOPLE = 600_000
YOUNGEST, OLDEST = 17, 95
MALE = 1
BAND = 2_500
"""The width of an income class."""
CAP = 0.07
"""The greatest share of an occupation, so that the table is 10-eligible with room to spare."""


def _model(name: str) -> tuple[tuple[str, ...], dict[str, Floats]]:
    """The labels of an attribute, and the columns of numbers that stand beside them."""
    with (HERE / "model" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    numbers = {key: np.array([float(line[key]) for line in lines]) for key in lines[0] if key != "label"}
    return tuple(line["label"] for line in lines), numbers


def _leaves(name: str) -> tuple[str, ...]:
    with (HERE / "taxonomies" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(line[0] for line in csv.reader(file))


EDUCATIONS, EDUCATION = _model("education")
BIRTHPLACES, BIRTHPLACE = _model("birthplace")
OCCUPATIONS, OCCUPATION = _model("occupation")
AT_COLLEGE = EDUCATIONS.index("college one year or more")
ABROAD = np.arange(len(BIRTHPLACES)) >= BIRTHPLACES.index("Canada")
INCOMES = ("none", *(f"{low} to {low + BAND - 1}" for low in range(0, 48 * BAND, BAND)), f"{48 * BAND} and more")

labels: dict[str, tuple[str, ...]] = {
    "age": tuple(str(age) for age in range(YOUNGEST, OLDEST + 1)),
    "gender": _leaves("gender"),
    "education": EDUCATIONS,
    "birthplace": BIRTHPLACES,
    "occupation": OCCUPATIONS,
    "income": INCOMES,
}
"""The values of each attribute in the order of their codes."""


def population(n: int = PEOPLE, seed: int = 7) -> dict[str, Codes]:
    """The codes of n people, attribute by attribute. The same n and seed give the same people."""
    rng = np.random.default_rng(seed)
    years = np.arange(YOUNGEST, OLDEST + 1)
    age = _drawn(_pyramid(years)[None], np.zeros(n, np.int32), rng)
    gender = _drawn(_genders(years), age, rng)
    birthplace = _drawn(_birthplaces(years), age, rng)
    education = _educations(years, age, gender, birthplace, rng)
    cell = (age * 2 + gender) * len(EDUCATIONS) + education
    occupation = _drawn(_occupations(years, np.bincount(cell, minlength=79 * 2 * 17)), cell, rng)
    income = _incomes(years[age], gender, education, occupation, rng)
    return {
        "age": age,
        "gender": gender,
        "education": education,
        "birthplace": birthplace,
        "occupation": occupation,
        "income": income,
    }


def t_series(n: int, initial: int, r: int, releases: int, seed: int) -> list[Codes]:
    """The rows of each release, ascending: r arbitrary ones leave and r from the pool come; nobody returns.

    Paper: [XT07] Section 5.
    """
    if not 0 <= r <= initial or initial + r * (releases - 1) > n:
        raise ValueError(f"{n} people are too few for {initial} rows and {releases - 1} updates of {r} rows")
    rng = np.random.default_rng([seed, initial, r])
    shuffled = rng.permutation(n).astype(np.int32)
    present, pool = shuffled[:initial].copy(), shuffled[initial:]
    series = [np.sort(present)]
    for release in range(1, releases):
        leaving = rng.choice(initial, r, replace=False)
        present[leaving] = pool[(release - 1) * r : release * r]
        series.append(np.sort(present))
    return series


def _drawn(table: Floats, line: Codes, rng: np.random.Generator) -> Codes:
    """For each person a column of the table, with the probabilities of the person's line."""
    cumulative = np.cumsum(table, axis=1)
    cumulative /= cumulative[:, -1:]
    ends = (cumulative + np.arange(len(table))[:, None]).ravel()
    at = np.searchsorted(ends, rng.random(len(line)) + line, side="right")
    return np.minimum(at - line * table.shape[1], table.shape[1] - 1).astype(np.int32)


def _bump(years: Floats, centre: float, width: float) -> Floats:
    return np.exp(-(((years - centre) / width) ** 2))


def _pyramid(years: Floats) -> Floats:
    """A broad base, a wave of births that is now in its forties, and ages that thin out."""
    survival = 1 / (1 + np.exp((years - 78) / 7))
    return survival * (1 - 0.004 * (years - YOUNGEST) + 0.35 * _bump(years, 43, 11))


def _genders(years: Floats) -> Floats:
    """Women are the majority, and more so in old age."""
    women = 0.5 + 0.22 / (1 + np.exp((76 - years) / 7))
    return np.column_stack([women, 1 - women])


def _birthplaces(years: Floats) -> Floats:
    """Most of those born abroad came to work."""
    abroad = 0.55 + 0.9 * _bump(years, 34, 16)
    return BIRTHPLACE["weight"] * np.where(ABROAD, abroad[:, None], 1.0)


def _educations(years: Floats, age: Codes, gender: Codes, birthplace: Codes, rng: np.random.Generator) -> Codes:
    """Schooling rose from cohort to cohort, for women most of all, and nobody is ahead of their age."""
    cohort = -0.022 * np.maximum(years - 38, 0)
    women = 0.10 - 0.005 * np.maximum(years - 38, 0)
    latent = cohort[:, None, None] + np.stack([women, 0 * women], axis=1)[:, :, None] + BIRTHPLACE["schooling"]
    share = np.cumsum(EDUCATION["weight"]) / EDUCATION["weight"].sum()
    cuts = ndtri(share[:-1])
    below = ndtr(cuts - latent.reshape(-1, 1))  # one line for each age, gender and birthplace
    table = np.diff(below, axis=1, prepend=0.0, append=1.0)
    drawn = _drawn(table, (age * 2 + gender) * len(BIRTHPLACES) + birthplace, rng)
    furthest = ((EDUCATION["least_age"] <= years[:, None]).sum(axis=1) - 1)[age]
    enrolled = np.minimum(furthest, AT_COLLEGE) - rng.integers(0, 2, len(age))
    return np.where(drawn > furthest, enrolled, drawn).astype(np.int32)


def _occupations(years: Floats, people: npt.NDArray[np.int64]) -> Floats:
    """What somebody does, or did last, by age, gender and education; fitted so that the shares are those of the model.

    `people` counts the lines: one for each age, gender and education.
    """
    schooling = np.linspace(-1.9, 1.9, len(EDUCATIONS))
    aged = np.clip((years - 40) / 25, -1, 1.2)
    women = np.stack([OCCUPATION["women"], 1 - OCCUPATION["women"]])
    fit = (
        -2.2 * (schooling[None, None, :, None] - OCCUPATION["schooling"]) ** 2
        + np.log(women)[None, :, None, :]
        + 0.9 * aged[:, None, None, None] * OCCUPATION["age"]
    ).reshape(-1, len(OCCUPATIONS))
    table = np.exp(fit)
    share = np.minimum(OCCUPATION["weight"] / OCCUPATION["weight"].sum(), CAP)
    weight = people / max(1, people.sum())
    for _ in range(30):  # proportional fitting: columns to their shares, lines to 1
        table /= table.sum(axis=1, keepdims=True)
        table *= share / np.maximum(weight @ table, 1e-12)
    return table


def _incomes(years: Floats, gender: Codes, education: Codes, occupation: Codes, rng: np.random.Generator) -> Codes:
    """Log-normal around what schooling, age, gender and occupation pay.

    Some worked for a part of the year only, some give a round number, some have no income.
    """
    experience = 1 - ((np.clip(years, 17, 75) - 48) / 34) ** 2
    centre = 10.05 + 0.035 * (education - 8) + 0.45 * experience + 0.16 * (gender == MALE)
    centre += 0.75 * OCCUPATION["pay"][occupation]
    amount = np.exp(centre + rng.normal(0, 0.42, len(years)))
    part_time = rng.random(len(years)) < np.where(years < 23, 0.45, 0.13)
    amount[part_time] *= rng.uniform(0.03, 0.8, int(part_time.sum()))
    rounds = rng.random(len(years)) < 0.12
    amount[rounds] = np.rint(amount[rounds] / 5_000) * 5_000
    band = 1 + np.minimum(amount // BAND, 48).astype(np.int32)
    without = rng.random(len(years)) < np.where(years < 20, 0.28, 0.03 + 0.02 * (gender != MALE))
    return np.where(without, 0, band).astype(np.int32)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the snapshots of a synthetic census, one csv a quarter.")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of every snapshot")
    parser.add_argument("--update", type=float, default=0.10, help="the share of the rows replaced each quarter")
    parser.add_argument("--releases", type=int, default=8, help="number of quarters from 2024-Q1 on")
    parser.add_argument("--population", type=int, default=PEOPLE, help="people that all the rows are drawn from")
    parser.add_argument("--sensitive", choices=["occupation", "income"], default="occupation", help="the last column")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=HERE / "snapshots")
    given = parser.parse_args()
    people = population(given.population, given.seed)
    names = ["age", "gender", "education", "birthplace", given.sensitive]
    columns = {name: np.array(labels[name])[people[name]] for name in names}
    series = t_series(given.population, given.rows, round(given.rows * given.update), given.releases, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(series):
        name = f"{2024 + number // 4}-Q{number % 4 + 1}"
        with (given.out / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["person", *columns])
            writer.writerows(zip((f"P{row:06d}" for row in rows), *(c[rows] for c in columns.values()), strict=True))
        print(f"{name}: {len(rows)} rows")


if __name__ == "__main__":
    main()
