"""A file of compromised people: ids with the sensitive values that an adversary knows. No message holds an id."""

from pathlib import Path

import numpy as np

from reanon_core.model.coding import examples
from reanon_core.model.errors import InvalidSnapshot, Problem, kept, require
from reanon_core.model.knowledge import Compromised
from reanon_core.model.schema import Schema
from reanon_core.tables.ids import people
from reanon_dagster.sources.external_files import read_given, texts


def read_compromised(path: Path, schema: Schema, id_column: str, key: bytes) -> Compromised:
    """The people in the file with their values: the id column, and the sensitive column.

    Raises: InvalidSnapshot with every problem at once.
    """
    given = read_given(path, [id_column, schema.sensitive.name])
    problems: list[Problem] = []
    found = kept(problems, lambda: people(id_column, given.column(id_column), key))
    labels = kept(problems, lambda: texts(schema.sensitive.name, given.column(schema.sensitive.name)).to_pylist())
    code = {value: at for at, value in enumerate(schema.sensitive.values)}
    unknown = sorted({repr(label) for label in labels or () if label not in code})
    if unknown:
        shown = examples(unknown, len(unknown))
        problems.append(Problem(schema.sensitive.name, "be one of the published values", shown))
    require(given.told(problems), InvalidSnapshot)
    if found is None or labels is None:
        raise AssertionError("a file without problems has all its parts")
    values = np.array([code[label] for label in labels], np.int32)
    return Compromised(found.persons[found.order], values[found.order])
