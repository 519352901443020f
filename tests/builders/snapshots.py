"""What the tests of sources share: a key, people by name, coded rows, and the sentences of a refusal."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reanon_core.model.errors import InvalidSnapshot
from reanon_core.tables import ids
from reanon_dagster.sources.snapshot_reader import Read, read_snapshot

KEY = bytes(range(16))


def person(name: str) -> int:
    """The pseudonym of an id."""
    return int(ids.pseudonyms(pa.array([name]), KEY)[0])


def rows(read: Read) -> dict[int, list[object]]:
    """The codes and the sensitive label of each person."""
    snapshot = read.snapshot
    labels = np.array(snapshot.schema.sensitive.values, dtype=object)[snapshot.sensitive]
    return {
        int(p): [*codes, label]
        for p, codes, label in zip(snapshot.persons, snapshot.qi.T.tolist(), labels, strict=True)
    }


def sentences_of(call: Callable[..., object], *given: object, **named: object) -> list[str]:
    """The sentences with which a call refuses a snapshot."""
    with pytest.raises(InvalidSnapshot) as error:
        call(*given, **named)
    return str(error.value).splitlines()


def parquet_reader(series: Callable[..., object], folder: Path) -> Callable[..., Read]:
    """A function that writes a table to a parquet file and reads it as the snapshot of r1."""

    def read(table: dict, known=(), **declared):
        declared.setdefault("columns", {"age": "{}"})
        pq.write_table(pa.table(table), folder / "r1.parquet")
        return read_snapshot(series("{path: '{release}.parquet', id: name}", **declared), "r1", KEY, known)

    return read
