"""A snapshot that is read batch by batch is the one that is read at once, and its problems are the same."""

import gzip
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders.series import declared
from builders.snapshots import KEY

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.errors import InvalidSnapshot
from reanon_dagster.series.series import Series
from reanon_dagster.sources import snapshot_columns
from reanon_dagster.sources.snapshot_columns import read_snapshot_columns
from reanon_dagster.sources.snapshot_reader import Read, read_snapshot

COLUMNS = {
    "age": "{domain: [0, 120], missing: separate}",
    "weight": "{granularity: 0.1, missing: separate}",
    "admitted": "{kind: date, missing: separate}",
    "smoker": "{kind: categorical, order: [no, yes], missing: separate}",
}
DISEASES = ("measles", "asthma", "flu", "cold", "zoster", "diabetes")


def people(count: int = 700) -> pd.DataFrame:
    """People of whom later rows have values that earlier ones do not."""
    rng = np.random.default_rng(1)
    late = np.arange(count) * len(DISEASES) // max(1, count)
    frame = pd.DataFrame(
        {
            "name": [f"Zoë-{number:06d}" if number % 3 else f"Ann-{number}" for number in range(count)],
            "age": rng.integers(0, 121, count),
            "weight": rng.integers(400, 900, count) / 10,
            "admitted": [f"2024-0{month}-1{day}" for month, day in rng.integers((1, 0), (9, 9), (count, 2))],
            "smoker": np.array(["no", "yes"])[rng.integers(0, 2, count)],
            "disease": np.array(DISEASES)[rng.integers(0, late + 1)],
            "ward": np.array(["north", "south", "east"])[np.minimum(2, late)],
        }
    )
    for name in ("age", "weight", "admitted", "smoker"):
        frame[name] = frame[name].astype(object).mask(rng.random(count) < 0.05)
    return frame


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Read r1 in both ways, and compare."""

    def both(source: str, chunk_rows: int, known: tuple[str, ...] = (), streams: bool = True, **more) -> Read:
        series = declared(tmp_path, source, COLUMNS, "disease" + "".join(f"\n{key}: {more[key]}" for key in more))
        other = (("west", "north"),) if known and series.schema.other else ()
        assert (series.source.batches(tmp_path, "r1", ["name"]) is not None) == streams
        straight = read_snapshot(series, "r1", KEY, known, other)
        monkeypatch.setattr(snapshot_columns, "read_snapshot", None if streams else read_snapshot)
        place = tmp_path / "columns"
        place.mkdir(exist_ok=True)
        found = read_snapshot_columns(
            series, "r1", KEY, known, other, folder=ColumnFolder(str(place)), chunk_rows=chunk_rows
        )
        same(straight, found)
        assert len(list(place.iterdir())) == 6
        return found

    return both


def same(one: Read, other: Read) -> None:
    assert one.snapshot.schema == other.snapshot.schema
    assert one.snapshot.columns == other.snapshot.columns
    for name in ("persons", "qi", "sensitive", "other"):
        mine, theirs = getattr(one.snapshot, name), getattr(other.snapshot, name)
        assert np.array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
        assert not theirs.size or is_mapped(theirs)
    assert np.array_equal(one.persons, other.persons)
    assert one.ids is not None
    assert other.ids is not None
    for name in ("persons", "forms", "rows"):
        mine, theirs = getattr(one.ids, name), getattr(other.ids, name)
        assert np.array_equal(mine, theirs)
        assert not theirs.size or is_mapped(theirs)
    assert (one.input_digest, one.rows, one.selected) == (other.input_digest, other.rows, other.selected)


def is_mapped(array: np.ndarray) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


@pytest.mark.parametrize("chunk_rows", [7, 1000, 100_000])
@pytest.mark.parametrize("row_group", [300, 10_000])
def test_parquet_in_row_groups(read, tmp_path: Path, chunk_rows: int, row_group: int) -> None:
    table = pa.Table.from_pandas(people(), preserve_index=False)
    pq.write_table(table, tmp_path / "r1.parquet", row_group_size=row_group)
    read("{path: '{release}.parquet', id: name}", chunk_rows)


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint64(), pa.large_string()], ids=str)
def test_ids_of_other_types(read, tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.Table.from_pandas(people(), preserve_index=False)
    ids = pa.array(range(len(table))).cast(kind)
    pq.write_table(table.set_column(0, "name", ids), tmp_path / "r1.parquet", row_group_size=400)
    read("{path: '{release}.parquet', id: name}", 1000)


def test_encoded_and_plain_texts(read, tmp_path: Path) -> None:
    table = pa.Table.from_pandas(people(), preserve_index=False)
    smoker = table["smoker"].dictionary_encode()
    table = table.set_column(table.column_names.index("smoker"), "smoker", smoker)
    pq.write_table(table, tmp_path / "r1.parquet", row_group_size=400, use_dictionary=["smoker"])
    read("{path: '{release}.parquet', id: name}", 1000)


@pytest.mark.parametrize("chunk_rows", [7, 1000])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst"])
def test_csv(read, tmp_path: Path, ending: str, chunk_rows: int) -> None:
    content = people().to_csv(index=False).encode()
    codec = {"csv.gz": "gzip", "csv.zst": "zstd"}.get(ending)
    if codec:
        content = pa.Codec(codec).compress(content, asbytes=True)
    (tmp_path / f"r1.{ending}").write_bytes(content)
    read(f"{{path: '{{release}}.{ending}', id: name}}", chunk_rows)


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "quoted"])
def test_csv_with_a_mark_quotes_or_no_last_line_end(read, tmp_path: Path, text: str) -> None:
    frame = people(500)
    if text == "quoted":
        frame["ward"] = 'a "quoted"\nward, with lines'
    content = (
        (text if text == "\ufeff" else "") + frame.to_csv(index=False).rstrip("\n") + ("\n" if text == "\n" else "")
    )
    (tmp_path / "r1.csv").write_text(content)
    read("{path: '{release}.csv', id: name}", 100, other="[ward]")


def test_csv_of_another_encoding_is_read_at_once(read, tmp_path: Path) -> None:
    people(100).to_csv(tmp_path / "r1.csv", index=False, encoding="latin-1")
    read("{path: '{release}.csv', id: name, encoding: latin-1}", 10, streams=False)


@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_several_files_of_different_types(read, tmp_path: Path, chunk_rows: int) -> None:
    frame = people().astype({"age": "Int64"})
    (tmp_path / "r1").mkdir()
    pq.write_table(pa.Table.from_pandas(frame[:300], preserve_index=False), tmp_path / "r1" / "a.parquet")
    small = pa.Table.from_pandas(frame[300:], preserve_index=False)
    small = small.set_column(1, "age", small["age"].cast(pa.int32()))
    small = small.set_column(6, "ward", small["ward"].cast(pa.large_string()))
    pq.write_table(small, tmp_path / "r1" / "b.parquet")
    read("{path: '{release}/', id: name}", chunk_rows, other="[ward]")


def test_a_partitioned_folder(read, tmp_path: Path) -> None:
    people().to_parquet(tmp_path / "r1", partition_cols=["smoker"])
    read("{path: '{release}/', id: name}", 300)


@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_a_later_release_with_known_values(read, tmp_path: Path, chunk_rows: int) -> None:
    people().to_csv(tmp_path / "r1.csv", index=False)
    found = read("{path: '{release}.csv', id: name}", chunk_rows, known=("zoster", "mumps"), other="[ward]")
    assert found.snapshot.schema.sensitive.values[:2] == ("zoster", "mumps")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_without_rows(read, tmp_path: Path, ending: str) -> None:
    table = pa.Table.from_pandas(people(5), preserve_index=False).slice(0, 0)
    (tmp_path / "r1.csv").write_text(",".join(table.column_names) + "\n")
    pq.write_table(table, tmp_path / "r1.parquet")
    read(f"{{path: '{{release}}.{ending}', id: name}}", 7)


def test_a_query_is_read_at_once(read, tmp_path: Path) -> None:
    frame = people(100)
    with duckdb.connect(str(tmp_path / "people.duckdb")) as database:
        database.register("frame", pa.Table.from_pandas(frame, preserve_index=False))
        database.execute("CREATE TABLE r1 AS FROM frame")
    read('{duckdb: people.duckdb, query: "FROM {release}", id: name}', 7, streams=False)


def broken(name: str, row: int, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def changed(frame: pd.DataFrame) -> pd.DataFrame:
        frame[name] = frame[name].astype(object)
        frame.loc[[row, row + 40], name] = value
        return frame

    return changed


PROBLEMS = {
    "an id twice": broken("name", 50, "Ann-3"),
    "ids that are empty": broken("name", 50, None),
    "a value that is not in the order": broken("smoker", 50, "perhaps"),
    "a value outside the domain": broken("age", 50, 130),
    "a value off the grid": broken("weight", 50, 55.55),
    "no number": broken("age", 50, "old"),
    "no date": broken("admitted", 50, "yesterday"),
    "no sensitive value": broken("disease", 50, None),
    "a space before a value": broken("disease", 50, " flu"),
    "an id in another column": broken("age", 50, "Zoë-000091"),
    "a column that is missing": lambda frame: frame.drop(columns="age"),
    "a name that is missing": lambda frame: frame.drop(columns="name"),
}


@pytest.mark.parametrize("chunk_rows", [7, 1000])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_problems_are_those_of_the_whole_table(tmp_path: Path, problem: str, chunk_rows: int) -> None:
    PROBLEMS[problem](people(200)).to_csv(tmp_path / "r1.csv", index=False)
    assert_same_problems(
        declared(tmp_path, "{path: '{release}.csv', id: name}", COLUMNS, "disease"), tmp_path, chunk_rows
    )


DAMAGES = {
    "a row with too many values": lambda text: text.replace("\nAnn-51,", "\nAnn-51,,"),
    "a quote that is not closed": lambda text: text.replace("\nAnn-51,", '\n"Ann-51,'),
    "bytes of another encoding": lambda text: text.encode().replace(b"Ann-51", b"Ann-\xff"),
    "nothing": lambda _: "",
    "compressed": lambda text: gzip.compress(text.encode()),
    "another separator": lambda text: text.replace(",", ";"),
    "a column twice": lambda text: text.replace("weight", "age"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_have_the_same_problems(tmp_path: Path, damage: str) -> None:
    content = DAMAGES[damage](people(200).to_csv(index=False))
    (tmp_path / "r1.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_same_problems(declared(tmp_path, "{path: '{release}.csv', id: name}", COLUMNS, "disease"), tmp_path, 50)


@pytest.mark.parametrize("cut", [0, 10, -100])
def test_damaged_parquet_files_have_the_same_problems(tmp_path: Path, cut: int) -> None:
    people(200).to_parquet(tmp_path / "whole.parquet")
    (tmp_path / "r1.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:cut])
    assert_same_problems(declared(tmp_path, "{path: '{release}.parquet', id: name}", COLUMNS, "disease"), tmp_path, 50)


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "r1.csv").mkdir()
    assert_same_problems(declared(tmp_path, "{path: '{release}.csv', id: name}", COLUMNS, "disease"), tmp_path, 50)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    assert_same_problems(declared(tmp_path, "{path: '{release}.csv', id: name}", COLUMNS, "disease"), tmp_path, 50)


def assert_same_problems(series: Series, folder: Path, chunk_rows: int) -> None:
    with pytest.raises(InvalidSnapshot) as straight:
        read_snapshot(series, "r1", KEY, ())
    (folder / "columns").mkdir()
    with pytest.raises(InvalidSnapshot) as found:
        into(series, folder, chunk_rows)
    assert type(found.value) is type(straight.value)
    assert str(found.value) == str(straight.value)
    assert not list((folder / "columns").iterdir())


def into(series: Series, folder: Path, chunk_rows: int) -> Read:
    return read_snapshot_columns(
        series, "r1", KEY, (), folder=ColumnFolder(str(folder / "columns")), chunk_rows=chunk_rows
    )


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_table_that_does_not_fit_into_memory_has_the_problems_of_the_first_rows_without_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    monkeypatch.setattr(snapshot_columns, "available_memory", lambda: 1000)
    PROBLEMS[problem](people(200)).to_csv(tmp_path / "r1.csv", index=False)
    (tmp_path / "columns").mkdir()
    with pytest.raises(InvalidSnapshot) as error:
        into(declared(tmp_path, "{path: '{release}.csv', id: name}", COLUMNS, "disease"), tmp_path, 20)
    text = str(error.value)
    assert not any(value in text for value in ("Ann-", "Zoë-", "perhaps", "130", "55.55", "old", "yesterday"))
    if "empty" in text:
        assert "empty in row 11" in text
        assert "counted from row 41" in text
    assert not list((tmp_path / "columns").iterdir())


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people(100).to_csv(tmp_path / "r1.csv", index=False)
    series = declared(tmp_path, "{path: '{release}.csv', id: name}", COLUMNS, "disease")
    (tmp_path / "columns").mkdir()
    add = snapshot_columns.SnapshotPieces.add

    def changing(*given: object) -> None:
        people(90).to_csv(tmp_path / "r1.csv", index=False)
        add(*given)

    monkeypatch.setattr(snapshot_columns.SnapshotPieces, "add", changing)
    assert into(series, tmp_path, 20).rows == 90
