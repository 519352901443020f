"""Texts of a published table are written as lists of values: the same bytes, and nothing that no row shows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from reanon_core.model.arrays import MISSING
from reanon_core.model.history import Published
from reanon_core.model.release import ALL_MISSING, NONE_MISSING, Auxiliary, Boxes, Release
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.tables import arrow_columns
from reanon_core.tables.release_table import PART_ROWS, published_tables, release_parts
from reanon_dagster.storage.published_folder import write_files

UNSEEN = "a value that nobody has"
TOWNS = ("Aachen", "Bonn", "Köln", "Ulm")


def schema_of(values: tuple[str, ...]) -> Schema:
    return Schema(
        quasi_identifiers=(
            QuasiIdentifier(name="age", missing=Missing.SEPARATE),
            QuasiIdentifier(name="town", kind=Kind.CATEGORICAL, taxonomy=Taxonomy.flat(TOWNS)),
        ),
        sensitive=Sensitive(name="disease", values=values),
        other=("ward",),
        other_values=(("", "west", UNSEEN),),
    )


def release_of(rows: int, groups: int, values: int, seed: int) -> Release:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, [[90], [len(TOWNS)]], size=(2, 2, groups)).astype(np.int32), axis=0)
    absent = rng.random(groups) < 0.3
    ends[:, 0, absent] = MISSING
    missing = np.stack([np.where(absent, ALL_MISSING, NONE_MISSING), np.full(groups, NONE_MISSING)]).astype(np.int8)
    group = rng.integers(0, groups, rows).astype(np.int32)
    # The last value of each list is the one that nobody has.
    shown, other = rng.integers(0, values - 1, rows).astype(np.int32), rng.integers(0, 2, (1, rows)).astype(np.int32)
    return Release(group, shown, Boxes(ends[0], ends[1], missing), other)


def same_files(folder, release: Release, schema: Schema) -> bytes:
    """The parquet file, which must be the one that Arrow writes of the texts themselves; the csv file too."""
    auxiliary = Auxiliary(np.empty(0, np.int32), np.empty(0, np.int32))
    write_files(folder / "release", Published(release, auxiliary), schema, ("parquet", "csv"))
    table = published_tables(release, auxiliary, schema)["table"]
    assert not any(pa.types.is_dictionary(kind) for kind in table.schema.types)
    pq.write_table(table, folder / "plain.parquet")
    csv.write_csv(table, folder / "plain.csv")
    for form in ("parquet", "csv"):
        assert (folder / "release" / f"table.{form}").read_bytes() == (folder / f"plain.{form}").read_bytes()
    assert pq.read_table(folder / "release" / "table.parquet").equals(table, check_metadata=True)
    return (folder / "plain.parquet").read_bytes()


@settings(max_examples=30)
@given(rows=st.integers(0, 400), groups=st.integers(1, 40), values=st.integers(2, 60), seed=st.integers(0, 2**32 - 1))
def test_files_have_the_bytes_that_arrow_writes_of_the_texts(tmp_path_factory, rows, groups, values, seed) -> None:
    schema = schema_of((*(f"disease {number}" for number in range(values - 1)), UNSEEN))
    content = same_files(tmp_path_factory.mktemp("files"), release_of(rows, groups, values, seed), schema)
    assert UNSEEN.encode() not in content


@pytest.mark.parametrize("length", [10, 3000], ids=["short texts", "long texts, which are not encoded"])
def test_several_parts_and_long_texts(tmp_path, length: int) -> None:
    values = 500
    schema = schema_of((*(f"{number:0{length}d}" for number in range(values - 1)), UNSEEN))
    release = release_of(PART_ROWS + 5000, 1000, values, 7) if length == 10 else release_of(5000, 1000, values, 7)
    same_files(tmp_path, release, schema)
    encodes = pa.types.is_dictionary(next(release_parts(release, schema, encoded=True)).schema.field("disease").type)
    assert encodes == (length == 10)


def test_the_list_of_a_part_has_its_own_values_in_the_order_of_its_rows() -> None:
    values = pa.array(["never", "late", None, "early"])
    column = arrow_columns.encoded_texts(values, np.array([3, 2, 1, 3], np.int32))
    assert column.dictionary.to_pylist() == ["early", "late"]
    assert column.to_pylist() == ["early", None, "late", "early"]
