"""Two releases as another tool writes them: `python generate.py` beside this file makes all files of the example again.

Each year by itself is 4-anonymous with at least two diagnoses in every group. Nothing connects the years, which is what
tools for one release do. The people are invented.
"""

import csv
import random
from pathlib import Path

HERE = Path(__file__).parent
TREE = {"primary": "school", "secondary": "school", "vocational": "higher", "bachelor": "higher", "master": "higher"}
DIAGNOSES = ("asthma", "bronchitis", "diabetes", "flu", "gastritis", "migraine")
K = 4

Person = dict[str, str]


def people(rng: random.Random, first: int, count: int) -> list[Person]:
    """Invented people."""
    return [
        {
            "name": f"P{number:03d}",
            "age": str(rng.randint(18, 79)),
            "education": rng.choice(list(TREE)),
            "diagnosis": rng.choice(DIAGNOSES),
        }
        for number in range(first, first + count)
    ]


def groups(table: list[Person]) -> list[list[Person]]:
    """Neighbours by age in groups of K or more, each with two diagnoses or more."""
    made: list[list[Person]] = [[]]
    for person in sorted(table, key=lambda one: (int(one["age"]), one["name"])):
        if len(made[-1]) >= K and len({one["diagnosis"] for one in made[-1]}) > 1:
            made.append([])
        made[-1].append(person)
    if len(made) > 1 and (len(made[-1]) < K or len({one["diagnosis"] for one in made[-1]}) == 1):
        made[-2:] = [made[-2] + made[-1]]
    return made


def row(group: list[Person], person: Person) -> list[str]:
    """A row of the release: a half-open interval, and the lowest node of the hierarchy."""
    ages = [int(one["age"]) for one in group]
    schools = {one["education"] for one in group}
    nodes = {TREE[one] for one in schools}
    node = schools.pop() if len(schools) == 1 else nodes.pop() if len(nodes) == 1 else "*"
    return [f"[{min(ages)}, {max(ages) + 1}[", node, person["diagnosis"]]


def main() -> None:
    """Write every file."""
    rng = random.Random(7)  # noqa: S311  an example
    first = people(rng, 0, 60)
    second = rng.sample(first, 42) + people(rng, 60, 18)
    tables = {"2023": first, "2024": second}
    for year, table in tables.items():
        rows = [row(group, person) for group in groups(table) for person in group]
        rng.shuffle(rows)
        write(HERE / f"{year}.csv", ["age", "education", "diagnosis"], rows)
    known = [[year, one["name"], one["age"], one["education"]] for year, table in tables.items() for one in table]
    write(HERE / "people.csv", ["release", "name", "age", "education"], known)
    write(HERE / "hierarchies" / "education.csv", None, [[leaf, node, "*"] for leaf, node in TREE.items()])


def write(path: Path, names: list[str] | None, rows: list[list[str]]) -> None:
    """A file with semicolons, as ARX writes it."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        writer.writerows([*([names] if names else []), *rows])


if __name__ == "__main__":
    main()
