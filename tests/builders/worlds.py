"""Small tables with taxonomies, intervals and a non-identifier, for the sequential technique."""

from dataclasses import replace
from random import Random

import numpy as np

from reanon_core.model.schema import Kind, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.taxonomy import Taxonomy

CITIES = Taxonomy.from_lines(
    [
        ("Ulm", "south", "*"), ("Graz", "south", "*"), ("Bern", "south", "*"),
        ("Kiel", "coast", "north", "*"), ("Emden", "coast", "north", "*"), ("Celle", "north", "*"),
    ],
    name="city",
)  # fmt: skip


def panel_schema(values: int = 5) -> Schema:
    """An interval, a tree of uneven height, an order, and blood groups that are published as they are."""
    return Schema(
        quasi_identifiers=(
            QuasiIdentifier(name="age", domain=(0, 9)),
            QuasiIdentifier(name="city", kind=Kind.CATEGORICAL, taxonomy=CITIES, hierarchical=True),
            QuasiIdentifier(name="rank"),
        ),
        sensitive=Sensitive(name="disease", values=tuple(f"d{i}" for i in range(values))),
        other=("blood",),
        other_values=(("A", "B"),),
    )


def table(random: Random, people: int, *, values: int = 5, columns: tuple[str, ...] | None = None) -> Snapshot:
    """Random people; sensitive values in turn, so that they are diverse."""
    persons = np.array(sorted(random.sample(range(10 * people), people)), np.int64)
    turn = [at % values for at in range(people)]
    random.shuffle(turn)
    qi = [[random.randint(0, 9), random.randint(0, 5), random.randint(0, 3)] for _ in range(people)]
    blood = [[random.randint(0, 1) for _ in range(people)]]
    return Snapshot(
        panel_schema(values),
        persons,
        np.array(qi, np.int32).reshape(people, 3).T,
        np.array(turn, np.int32),
        np.array(blood, np.int32),
        columns,
    )


def part(snapshot: Snapshot, kept: np.ndarray, columns: tuple[str, ...] | None = None) -> Snapshot:
    """Some of the people, and the columns of the next release."""
    return replace(
        snapshot,
        persons=snapshot.persons[kept],
        qi=snapshot.qi[:, kept],
        sensitive=snapshot.sensitive[kept],
        other=snapshot.other[:, kept],
        columns=columns,
    )
