"""The file of `--findings`: which people an audit exposes, and what it infers about them. Private."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from reanon_core.model.finding import Findings
from reanon_core.model.schema import Sensitive
from reanon_dagster.commands.private_output import write_private_table


def write_exposed_people(path: Path, findings: Sequence[Findings], ids: Mapping[int, str], column: Sensitive) -> None:
    """Write a row for each person and attack that exposes them, in the order of the ids, to a new private file."""
    import pyarrow as pa

    rows = sorted(
        (ids[person], found.attack, column.values[value], confidence)
        for found in findings
        for person, value, confidence in zip(
            found.persons.tolist(), found.inferred.tolist(), found.confidence.tolist(), strict=True
        )
    )
    names, kinds = ("id", "attack", "inferred", "confidence"), (pa.string(), pa.string(), pa.string(), pa.float64())
    listed = [[row[at] for row in rows] for at in range(len(names))]
    columns = {name: pa.array(values, kind) for name, values, kind in zip(names, listed, kinds, strict=True)}
    write_private_table(pa.table(columns), path)
