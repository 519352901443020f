"""A steward's file or query becomes a coded snapshot, or sentences that name no person."""

import datetime as dt
import hashlib

import numpy as np
import pyarrow as pa
import pytest
from builders.series import declared
from builders.snapshots import KEY, parquet_reader, person, rows, sentences_of

from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidParameter
from reanon_core.tables import ids
from reanon_dagster.sources.snapshot_location import SnapshotMissing, snapshot_exists, snapshot_place
from reanon_dagster.sources.snapshot_reader import read_ids, read_snapshot, snapshot_digest

COLUMNS = {
    "age": "{domain: [0, 120], missing: separate}",
    "weight": "{granularity: 0.1, missing: separate}",
    "admitted": "{kind: date, missing: separate}",
    "smoker": "{kind: categorical, order: [no, yes, true, false, 1, 2], missing: separate}",
}
CSV = """\
name,age,weight,admitted,smoker,disease
Ann,21,70.5,2024-03-01,no,flu
Bob,,80,2024-03-02,yes,cold
Zoë,23,,,,flu
"""


@pytest.fixture
def series(tmp_path):
    def loaded(source="{path: '{release}.csv', id: name}", columns=COLUMNS, sensitive="disease"):
        return declared(tmp_path, source, columns, sensitive)

    return loaded


@pytest.fixture
def from_csv(series, tmp_path):
    def read(content: str | bytes = CSV, known=(), **declared):
        (tmp_path / "r1.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_snapshot(series(**declared), "r1", KEY, known)

    return read


@pytest.fixture
def from_parquet(series, tmp_path):
    return parquet_reader(series, tmp_path)


def test_a_csv_file_becomes_codes_under_keyed_pseudonyms(from_csv):
    read = from_csv()
    assert rows(read) == {
        person("Ann"): [21, 705, 19783, 0, "flu"],
        person("Bob"): [MISSING, 800, 19784, 1, "cold"],
        person("Zoë"): [23, MISSING, MISSING, MISSING, "flu"],
    }
    assert read.rows == 3
    assert read.input_digest == hashlib.sha256(CSV.encode()).hexdigest()


def test_the_digest_alone_is_that_of_the_snapshot_and_needs_no_valid_file(from_csv, series, tmp_path):
    from_csv()
    assert snapshot_digest(series(), "r1", KEY) == hashlib.sha256(CSV.encode()).hexdigest()
    (tmp_path / "r1.csv").write_bytes(b"not a table")
    assert snapshot_digest(series(), "r1", KEY) == hashlib.sha256(b"not a table").hexdigest()
    with pytest.raises(SnapshotMissing):
        snapshot_digest(series(), "r2", KEY)
    with pytest.raises(InvalidParameter, match="must be one of r1, r2"):
        snapshot_digest(series(), "../../etc/passwd", KEY)


def test_the_order_of_the_source_does_not_reach_the_snapshot(from_csv):
    head, *lines = CSV.splitlines()
    turned = from_csv("\n".join([head, *reversed(lines)]))
    straight = from_csv()
    assert np.array_equal(turned.snapshot.persons, straight.snapshot.persons)
    assert np.array_equal(turned.snapshot.qi, straight.snapshot.qi)
    assert np.array_equal(turned.snapshot.sensitive, straight.snapshot.sensitive)


def test_another_key_gives_other_pseudonyms(from_csv, series, tmp_path):
    first = from_csv()
    second = read_snapshot(series(), "r1", bytes(16), ())
    assert not set(first.snapshot.persons.tolist()) & set(second.snapshot.persons.tolist())


def test_known_sensitive_values_keep_their_codes(from_csv):
    assert from_csv(known=("measles", "flu")).snapshot.schema.sensitive.values == ("measles", "flu", "cold")


def test_declared_sensitive_values_are_closed(from_csv):
    assert sentences_of(from_csv, sensitive="{column: disease, values: [flu]}") == [
        (
            "disease ('cold' in 1 row) must be one of the declared values; "
            "write it as one of them; the list can be changed before the first release only"
        )
    ]


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + CSV,
        CSV.replace("\n", "\r\n"),
        CSV.rstrip("\n"),
        CSV.replace("21,", '"21",').replace("Ann", '"Ann"'),
        CSV.replace("21,70.5", " 21 ,70.50"),
        CSV.replace("21,", "21.0,"),
        CSV.replace("2024-03-01", "2024-03-01 00:00:00"),
        CSV.replace("Zoë", "Zoe\u0308"),
        CSV.replace(",disease", ",disease,note").replace("flu\n", 'flu,"a, ""b""\nc"\n').replace("cold\n", "cold,\n"),
    ],
    ids=[
        "bom",
        "crlf",
        "no last line end",
        "quotes",
        "spaces",
        "floats",
        "midnight",
        "decomposed",
        "line end in quotes",
    ],
)
def test_the_same_table_may_be_written_in_many_ways(from_csv, content):
    assert rows(from_csv(content)) == rows(from_csv())


def test_other_separators_and_encodings_can_be_declared(from_csv):
    content = CSV.replace(",", ";").encode("latin-1")
    source = "{path: '{release}.csv', id: name, separator: ';', encoding: latin-1}"
    assert rows(from_csv(content, source=source)) == rows(from_csv())


def test_ids_are_text_nothing_is_trimmed_and_zeros_stay(from_csv):
    columns = {"age": "{}"}
    read = from_csv("name,age,disease\n007,1,flu\n7,2,flu\n 7,3,flu\n", columns=columns)
    assert rows(read) == {person("007"): [1, "flu"], person("7"): [2, "flu"], person(" 7"): [3, "flu"]}


def test_a_whole_number_and_its_text_are_the_same_person(from_parquet, from_csv):
    numbers = from_parquet({"name": [7, 12], "age": [1, 2], "disease": ["a", "b"]})
    assert rows(numbers) == rows(from_csv("name,age,disease\n7,1,a\n12,2,b\n", columns={"age": "{}"}))


@pytest.mark.parametrize("column", [pa.array([7.0]), pa.array([True]), pa.array([dt.date(2024, 1, 1)])])
def test_ids_without_one_exact_text_are_refused(from_parquet, column):
    found = sentences_of(from_parquet, {"name": column, "age": [1], "disease": ["a"]})
    assert found == [f"name ({column.type}) must be text or whole numbers; cast the ids in the source"]


def test_ids_that_are_there_twice_are_named_by_their_rows_and_never_by_themselves(from_csv):
    found = sentences_of(from_csv, CSV + "Ann,30,70,2024-03-01,no,flu\n")
    assert found == [
        ("name (1 id more than once, in rows 1 and 4) must be unique in a snapshot; a snapshot has one row per person")
    ]


def test_empty_ids_are_named_by_their_rows(from_csv, from_parquet):
    found = sentences_of(from_csv, CSV + ",30,70,2024-03-01,no,flu\n,30,70,2024-03-01,no,flu\n")
    assert found == ["name (empty in rows 4 and 5) must identify the person of each row"]
    assert sentences_of(from_parquet, {"name": ["", None], "age": [1, 2], "disease": ["a", "b"]}) == [
        "name (empty in rows 1 and 2) must identify the person of each row"
    ]


def test_two_ids_that_share_a_pseudonym_are_noticed(from_csv, monkeypatch):
    monkeypatch.setattr(ids, "pseudonyms", lambda texts, key: np.zeros(len(texts), dtype=np.int64))
    found = sentences_of(from_csv)
    assert found[0].startswith("name (among rows 1, 2 and 3) must give different people different pseudonyms")


def test_all_problems_of_a_snapshot_are_reported_at_once(from_csv):
    content = """\
name,age,weight,smoker,disease
Xenia-Secret,21,heavy,no,flu
Xenia-Secret,230,80.55,maybe,
,23,70,yes, flu
"""
    found = sentences_of(from_csv, content)
    assert found == [
        "column admitted must be in r1.csv; its columns are name, age, weight, smoker, disease",
        "name (empty in row 3) must identify the person of each row",
        ("name (1 id more than once, in rows 1 and 2) must be unique in a snapshot; a snapshot has one row per person"),
        (
            "age (230 in 1 row) must lie in its domain, from 0 to 120; "
            "correct the data, write it as the nearest value of the domain, or widen the domain by whole bins"
        ),
        "weight ('heavy' in 1 row) must be numbers",
        (
            "smoker ('maybe' in 1 row) must be one of the values of its order; "
            "correct the data, or add the values at the end of the taxonomy or order"
        ),
        (
            "disease (' flu') must not begin or end with a space, because ' flu' and 'flu' would count as two values"
            "; trim the values in the source"
        ),
    ]
    assert "Xenia-Secret" not in "".join(found)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "r1.csv must begin with a line of column names"),
        (CSV.replace(",", ";"), "r1.csv must have more than one column between its ','; try source.separator: ';'"),
        (CSV.replace(",", "\t"), "r1.csv must have more than one column between its ','; try source.separator: 'tab'"),
        (CSV.encode("latin-1"), "r1.csv (line 4) must be encoded as utf-8; set source.encoding, such as latin-1"),
        (CSV.replace("Bob,", "Bob,,"), "r1.csv (row 2) must have as many values in each row as there are"),
        (CSV.replace("age", "name", 1), "r1.csv (name) must have every column once"),
        (CSV.replace(",flu", ","), "disease (empty in rows 1 and 3) must have a value in every row"),
        (CSV.replace("2024-03-01", "01.03.2024"), "admitted ('01.03.2024' in 1 row) must be dates such as 2024-03-01"),
        (CSV.replace("2024-03-01", "2024-02-30"), "admitted ('2024-02-30' in 1 row) must be dates such as 2024-03-01"),
        (CSV.replace("21,", "21.5,"), "age (21.5 in 1 row) must be a multiple of its granularity 1; gran"),
        (CSV.replace("21,", "nan,"), "age ('nan' in 1 row) must be whole numbers"),
        (b"a,b\n1,2\n", "r1.csv must have the columns name, age"),
    ],
)  # fmt: skip
def test_a_wrong_csv_file_is_a_plain_sentence(from_csv, content, problem):
    found = sentences_of(from_csv, content)
    assert any(sentence.startswith(problem) for sentence in found), found
    assert not any(name in " ".join(found) for name in ("Ann", "Bob", "Zo"))


def test_a_header_alone_is_an_empty_snapshot(from_csv):
    for content in (CSV.splitlines()[0], CSV.splitlines()[0] + "\n"):
        assert from_csv(content).rows == 0


def test_a_snapshot_that_is_not_there_is_an_error_of_its_own_that_names_the_path(series):
    declared = series("{path: 'in/{release}.csv', id: name}")
    assert not snapshot_exists(declared, "r1")
    with pytest.raises(SnapshotMissing, match=r"^the snapshot of r1 \(in/r1.csv\) must be there") as error:
        read_snapshot(declared, "r1", KEY, ())
    assert error.value.exit_code == 2
    assert snapshot_place(declared, "r2") == "in/r2.csv"


def test_a_file_that_cannot_be_read_is_a_plain_sentence(series, tmp_path):
    (tmp_path / "r1.csv").mkdir()
    assert not snapshot_exists(series(), "r1")
    assert sentences_of(read_snapshot, series(), "r1", KEY, ())[0].startswith("r1.csv must be readable")


def test_a_release_that_the_series_does_not_have_is_never_looked_for(series):
    with pytest.raises(InvalidParameter, match="must be one of r1, r2"):
        read_snapshot(series(), "../../etc/passwd", KEY, ())


def test_ids_come_back_for_the_trace_in_the_order_of_the_source(from_csv, series):
    from_csv()
    texts, persons = read_ids(series(), "r1", KEY)
    assert texts.to_pylist() == ["Ann", "Bob", "Zoë"]
    assert persons.tolist() == [person("Ann"), person("Bob"), person("Zoë")]
