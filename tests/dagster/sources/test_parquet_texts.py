"""Texts of parquet files are read as the lists of distinct values that the files have, and mean the same."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from builders.series import declared
from builders.snapshots import KEY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reanon_core.model.errors import InvalidSnapshot
from reanon_core.model.snapshot import Snapshot
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.kinds.columnar_files import read_parquet
from reanon_dagster.sources.snapshot_reader import read_snapshot

TOWNS = ["Aachen", "Bonn", "Köln", "Ulm"]
DISEASES = ["flu", "cold", "café", "cafe\u0301"]  # the last two are one word
WORDS = st.sampled_from([*TOWNS, None, ""])


def snapshot(folder, ending: str) -> Snapshot | str:
    order = f"{{kind: categorical, order: [{', '.join(TOWNS)}], missing: separate}}"
    loaded = declared(folder, f"{{path: '{{release}}.{ending}', id: name}}", columns={"town": order})
    try:
        return read_snapshot(loaded, "r1", KEY, ()).snapshot
    except InvalidSnapshot as error:
        return str(error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(WORDS, st.sampled_from([*DISEASES, None, " spaced"])), min_size=1, max_size=12),
    group=st.integers(1, 5),
    own=st.booleans(),
    lists=st.booleans(),
)
def test_a_parquet_file_gives_the_snapshot_of_the_same_csv_file(tmp_path, rows, group, own, lists) -> None:
    """In any number of row groups, with lists of values or without, and with lists that have more than is used."""
    names = [f"p{number}" for number in range(len(rows))]
    towns, diseases = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    plain = pa.table({"name": names, "town": towns, "disease": diseases})
    pa.csv.write_csv(plain, tmp_path / "r1.csv")
    table = plain
    if own:  # as pandas writes a categorical column
        listed = pa.array([*DISEASES, " spaced", "", "nobody has it"])
        positions = pa.array([None if one is None else listed.to_pylist().index(one) for one in diseases.to_pylist()])
        column = pa.DictionaryArray.from_arrays(positions.cast(pa.int32()), listed)
        table = plain.set_column(2, "disease", column)
    pq.write_table(table, tmp_path / "r1.parquet", row_group_size=group, use_dictionary=lists)
    first, second = snapshot(tmp_path, "csv"), snapshot(tmp_path, "parquet")
    if isinstance(first, str) or isinstance(second, str):
        assert first == second
        return
    assert first.same_rows(second)
    assert first.schema == second.schema
    assert "nobody has it" not in second.schema.sensitive.values


def test_texts_are_positions_and_ids_are_not(tmp_path) -> None:
    pq.write_table(pa.table({"name": ["a"], "town": ["Ulm"], "age": [3]}), tmp_path / "r1.parquet")
    data = (tmp_path / "r1.parquet").read_bytes()
    table, _ = read_parquet(data, ["name", "town", "age"], "r1", encoded=["town", "age", "absent"])
    assert [pa.types.is_dictionary(kind) for kind in table.schema.types] == [False, True, False]
    assert not any(pa.types.is_dictionary(kind) for kind in read_parquet(data, ["town"], "r1")[0].schema.types)


def test_a_selection_sees_texts(tmp_path) -> None:
    """And does not compare positions in a list of values by the order of the list."""
    first, second = (
        pa.DictionaryArray.from_arrays(pa.array(positions, pa.int32()), pa.array(["z", "a", "m"]))
        for positions in ([0, 1, 2], [2, 2, 1])
    )
    columns = {"name": ["x", "y", "w"], "age": [1, 2, 3], "disease": ["flu"] * 3, "first": first, "second": second}
    people = pa.table(columns)
    pq.write_table(people, tmp_path / "r1.parquet")
    declared(tmp_path, "{path: '{release}.parquet', id: name}", columns={"age": "{}"})
    file = tmp_path / "series.yaml"
    file.write_text(file.read_text().replace("[r1, r2]", "[r1, r2], select: {r1: first < second}"))
    read = read_snapshot(load_series(tmp_path, lazily=True), "r1", KEY, (), whole_table=True)
    assert int(np.count_nonzero(read.snapshot.selection)) == 1


def test_expectations_see_texts(tmp_path) -> None:
    pq.write_table(pa.table({"name": ["x"], "age": [1], "disease": ["flu"], "remark": ["a"]}), tmp_path / "r1.parquet")
    declared(tmp_path, "{path: '{release}.parquet', id: name}", columns={"age": "{}"})
    with (tmp_path / "series.yaml").open("a") as file:
        file.write("expectations: [{type: expect_column_values_to_not_be_null, column: remark}]\n")
    raw = read_snapshot(load_series(tmp_path, lazily=True), "r1", KEY, ()).raw
    assert raw is not None
    assert {str(kind) for kind in raw.schema.types} == {"string", "int64"}
