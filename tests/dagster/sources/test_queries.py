"""A DuckDB query gives a snapshot, or a sentence that quotes no data."""

from functools import partial
from pathlib import Path

import duckdb
import pytest
from builders.series import declared
from builders.snapshots import KEY, person, rows, sentences_of

from reanon_core.model.errors import InvalidSnapshot
from reanon_dagster.sources.snapshot_location import SnapshotMissing, snapshot_exists
from reanon_dagster.sources.snapshot_reader import read_snapshot, snapshot_digest

QUERY = "select * from visits where quarter = '{release}';"


@pytest.fixture
def series(tmp_path):
    return partial(declared, tmp_path)


@pytest.fixture
def database(tmp_path) -> Path:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("create table visits (quarter text, name text, age int, disease text)")
        connection.execute("insert into visits values ('r1', 'Ann', 1, 'flu'), ('r1', 'Bob', 2, 'cold')")
    return tmp_path / "clinic.duckdb"


@pytest.fixture
def queried(series):
    def loaded(query: str = QUERY, file: str = "clinic.duckdb"):
        return series(f'{{duckdb: {file}, query: "{query}", id: name}}', columns={"age": "{}"})

    return loaded


def test_a_query_gives_a_snapshot_and_the_file_is_not_changed(database, queried):
    before = database.read_bytes()
    assert rows(read_snapshot(queried(), "r1", KEY, ())) == {person("Ann"): [1, "flu"], person("Bob"): [2, "cold"]}
    assert database.read_bytes() == before


def test_the_digest_of_a_query_is_that_of_its_rows_in_any_order(database, queried):
    one = read_snapshot(queried(QUERY.replace(";", " order by age")), "r1", KEY, ()).input_digest
    two = read_snapshot(queried(QUERY.replace(";", " order by age desc")), "r1", KEY, ()).input_digest
    other = read_snapshot(
        queried("select * replace (age + 1 as age) from visits where quarter = '{release}'"), "r1", KEY, ()
    )
    assert one == two == snapshot_digest(queried(), "r1", KEY)
    assert one != other.input_digest


def test_the_digest_of_a_query_is_the_one_that_0_1_0_wrote(database, queried):
    written = read_snapshot(queried(), "r1", KEY, ()).input_digest
    assert written == "3c512296fe7a16f7520380c5e18302752698018e5d63511f9cbac1a94bdb3139"


def test_a_query_without_rows_has_no_snapshot_yet(database, queried):
    assert snapshot_exists(queried(), "r1")
    assert not snapshot_exists(queried(), "r2")


def test_a_table_or_a_file_that_is_not_there_is_a_missing_snapshot(database, queried):
    for series in (queried("from visits_{release}"), queried(file="no.duckdb")):
        assert not snapshot_exists(series, "r1")
        with pytest.raises(SnapshotMissing):
            read_snapshot(series, "r1", KEY, ())


def test_a_wrong_query_is_a_plain_sentence_that_quotes_no_data(database, queried):
    wrong = queried("selekt '{release}'")
    assert sentences_of(read_snapshot, wrong, "r1", KEY, ())[0].startswith("source.query must run for r1; Parser Error")
    with pytest.raises(InvalidSnapshot, match="must run for r1"):
        snapshot_exists(wrong, "r1")
    failing = queried("select name, cast(name as int) as age, disease from visits where quarter = '{release}'")
    assert sentences_of(read_snapshot, failing, "r1", KEY, ()) == ["source.query must run for r1; ConversionException"]


def test_a_file_that_is_no_database_is_a_plain_sentence(tmp_path, queried):
    (tmp_path / "clinic.duckdb").write_bytes(b"x" * 5000)
    assert sentences_of(read_snapshot, queried(), "r1", KEY, ())[0].startswith(
        "source.duckdb (clinic.duckdb) must be a DuckDB file"
    )


def test_a_query_that_gives_a_column_twice_or_not_at_all_is_a_plain_sentence(database, queried):
    twice = queried("select name, age, age, disease from visits where quarter = '{release}'")
    assert sentences_of(read_snapshot, twice, "r1", KEY, ()) == ["source.query (age) must have every column once"]
    none = queried("select name, disease from visits where quarter = '{release}'")
    assert sentences_of(read_snapshot, none, "r1", KEY, ()) == [
        "column age must be in source.query; its columns are name, disease"
    ]
