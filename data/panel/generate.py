"""A synthetic panel: people of the synthetic census with seven quasi-identifiers, released with changing columns.

    python data/panel/generate.py --rows 300 --seed 7 --out data/panel/waves

Every number here and in ../census/model/ is our own: see SOURCE.md. The seven columns have the domains of the CENSUS
data of the sequential-release paper, or nearly: age 79, gender 2, education 17, marital status 6, ancestry 9, work
class 10, birthplace 57; the occupation has a diversity of about 14.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "census")]

import generate as census  # noqa: E402

Codes = npt.NDArray[np.int32]

QUASI_IDENTIFIERS = ("age", "gender", "education", "marital", "ancestry", "workclass", "birthplace")
MARITAL = ("married", "partnered", "separated", "divorced", "widowed", "never married")
ANCESTRY = ("north", "south", "east", "west", "islands", "highlands", "coast", "abroad", "mixed")
WORKCLASS = (
    "private company", "large company", "self-employed", "family business", "local government", "state government",
    "federal government", "charity", "unpaid", "no work",
)  # fmt: skip
BLOOD = ("O+", "A+", "B+", "AB+", "O-", "A-", "B-", "AB-")

labels: dict[str, tuple[str, ...]] = {
    **census.labels, "marital": MARITAL, "ancestry": ANCESTRY, "workclass": WORKCLASS, "blood": BLOOD,
}  # fmt: skip
"""The values of each attribute in the order of their codes."""


def population(n: int, seed: int = 7) -> dict[str, Codes]:
    """The codes of n people, attribute by attribute. The same n and seed give the same people."""
    people = census.population(n, seed)
    rng = np.random.default_rng([seed, n])
    years = people["age"] + census.YOUNGEST
    people["marital"] = _drawn(_marital(years), rng)
    abroad = census.ABROAD[people["birthplace"]][:, None]
    home = np.array([38, 17, 12, 11, 7, 6, 5, 1, 3], dtype=np.float64)
    guest = np.array([9, 8, 6, 5, 3, 2, 3, 52, 12], dtype=np.float64)
    people["ancestry"] = _drawn(np.where(abroad, guest, home), rng)
    people["workclass"] = _drawn(_workclass(years, people["education"]), rng)
    people["blood"] = _drawn(np.tile(np.array([38, 34, 9, 4, 7, 5, 2, 1], dtype=np.float64), (n, 1)), rng)
    return people


def _drawn(weights: npt.NDArray[np.float64], rng: np.random.Generator) -> Codes:
    ends = np.cumsum(weights, axis=1)
    return (rng.random((len(ends), 1)) * ends[:, -1:] > ends).sum(axis=1).astype(np.int32)


def _marital(years: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Few marry young, and the old are widowed."""
    grown, old = np.clip((years - 18) / 14, 0, 1), np.clip((years - 55) / 35, 0, 1)
    return np.column_stack(
        [55 * grown * (1 - 0.6 * old), 9 * (1 - 0.6 * grown) + 3, 2 + 0 * grown, 13 * grown, 50 * old**2,
         80 * (1 - grown) + 12]
    )  # fmt: skip


def _workclass(years: npt.NDArray[np.int64], education: Codes) -> npt.NDArray[np.float64]:
    """Schooling leads to the state, and age out of work."""
    schooling, old = education / 16, np.clip((years - 58) / 12, 0, 1)
    work = 1 - 0.8 * old
    return np.column_stack(
        [44 * work, 14 * work, 9 * work, 3 * work, 5 * schooling * work, 5 * schooling * work, 3 * schooling * work,
         2 * work, 1 + 0 * work, 8 + 60 * old]
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the snapshots of a synthetic panel.")
    parser.add_argument("--rows", type=int, default=300, help="people of the first snapshot; a third more come later")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=HERE / "waves")
    given = parser.parse_args()
    everybody = given.rows + given.rows // 3
    people = population(everybody, given.seed)
    order = np.random.default_rng(given.seed).permutation(everybody)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, rows, columns in (
        ("wave1", given.rows, ("age", "gender", "education", "marital", "ancestry", "birthplace", "blood")),
        ("wave2", given.rows, ("age", "gender", "education", "marital", "ancestry", "birthplace", "blood")),
        ("wave3", everybody, (*QUASI_IDENTIFIERS, "blood")),
        ("wave4", everybody, (*QUASI_IDENTIFIERS, "blood")),
    ):
        there = np.sort(order[:rows])
        with (given.out / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["person", *columns, "occupation"])
            values = [np.array(labels[column])[people[column][there]] for column in (*columns, "occupation")]
            writer.writerows(zip((f"P{row:06d}" for row in there), *values, strict=True))
        print(f"{name}: {rows} rows")


if __name__ == "__main__":
    main()
