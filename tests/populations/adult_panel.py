"""The people of Adult (../shared/data/adult) with the taxonomies that come with it."""

import csv
from functools import cache

import numpy as np
from populations.adult import FOLDER, SENSITIVE

from reanon_core.model.schema import Kind, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy

QUASI_IDENTIFIERS = ("age", "sex", "education", "marital-status", "race", "workclass", "native-country")
"""In the order in which [ST15] numbers those of its census."""
RELEASES = (
    (1, 2, 3, 4, 5), (3, 4, 6, 7), (1, 2, 4, 5), (1, 5, 7), (3, 4, 6, 7),
    (4, 5, 7), (1, 2, 4, 5, 7), (1, 7), (4,), (3, 5, 6),
)  # fmt: skip
"""The quasi-identifiers of the ten releases of [ST15] Figure 14; the occupation is in all."""


@cache
def taxonomy(name: str) -> Taxonomy:
    """The taxonomy of a column, whose leaves under one node are adjacent."""
    with (FOLDER / f"adult_hierarchy_{name}.csv").open(encoding="utf-8", newline="") as file:
        return Taxonomy.from_lines([tuple(line) for line in csv.reader(file, delimiter=";") if line], name=name)


@cache
def table(names: tuple[str, ...] = QUASI_IDENTIFIERS) -> Snapshot:
    """All people, with these quasi-identifiers and the occupation."""
    with (FOLDER / "adult.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    columns, codes = [], []
    for name in names:
        leaf = {label: code for code, label in enumerate(taxonomy(name).leaves)}
        columns.append(QuasiIdentifier(name=name, kind=Kind.CATEGORICAL, taxonomy=taxonomy(name), hierarchical=True))
        codes.append([leaf[row[name]] for row in rows])
    values = tuple(sorted({row[SENSITIVE] for row in rows}))
    schema = Schema(quasi_identifiers=tuple(columns), sensitive=Sensitive(name=SENSITIVE, values=values))
    own = np.array([values.index(row[SENSITIVE]) for row in rows], np.int32)
    return Snapshot(schema, np.arange(len(rows)), np.array(codes, np.int32), own)


def sample(people: int, seed: int, names: tuple[str, ...] = QUASI_IDENTIFIERS) -> Snapshot:
    """So many people, drawn without replacement, in random order and numbered anew."""
    whole = table(names)
    drawn = np.random.default_rng(seed).permutation(whole.size)[:people]
    return Snapshot(whole.schema, np.arange(len(drawn)), whole.qi[:, drawn], whole.sensitive[drawn])


def columns_of(numbers: tuple[int, ...]) -> tuple[str, ...]:
    """The names of the columns of a release, with the sensitive one."""
    return (*(QUASI_IDENTIFIERS[number - 1] for number in numbers), SENSITIVE)
