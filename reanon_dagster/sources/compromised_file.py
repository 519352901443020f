"""A file of compromised people: ids and the sensitive values that an adversary knows. No message contains an id."""

from pathlib import Path

import numpy as np

from reanon_core.model.coding import examples
from reanon_core.model.errors import InvalidSnapshot, Problem, collect_problems, require
from reanon_core.model.knowledge import Compromised
from reanon_core.model.schema import Schema
from reanon_core.tables.ids import people
from reanon_dagster.sources.external_files import read_external_file, texts


def read_compromised(path: Path, schema: Schema, id_column: str, key: bytes) -> Compromised:
    """The people in the file with their values: the id column, and the sensitive column.

    Raises: InvalidSnapshot with every problem at once.
    """
    table = read_external_file(path, [id_column, schema.sensitive.name])
    problems: list[Problem] = []
    sensitive = schema.sensitive.name
    ids = collect_problems(problems, lambda: people(id_column, table.column(id_column), key))
    labels = collect_problems(problems, lambda: texts(sensitive, table.column(sensitive)).to_pylist())
    code = {value: at for at, value in enumerate(schema.sensitive.values)}
    unknown = sorted({repr(label) for label in labels or () if label not in code})
    if unknown:
        shown = examples(unknown, len(unknown))
        problems.append(Problem(sensitive, "be one of the published values", shown))
    require(table.with_label(problems), InvalidSnapshot)
    if ids is None or labels is None:
        raise AssertionError("a file without problems has all its parts")
    values = np.array([code[label] for label in labels], np.int32)
    return Compromised(ids.persons[ids.order], values[ids.order])
