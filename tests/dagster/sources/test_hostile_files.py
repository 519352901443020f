"""Files that are not what they seem: each is named for what it is, and no message quotes a person."""

import gzip
from functools import partial
from pathlib import Path

import duckdb
import pytest
from builders.series import declared, people, write_series
from builders.snapshots import KEY, sentences_of

from reanon_dagster.cli import main
from reanon_dagster.sources.snapshot_reader import read_snapshot

TEXT = "name,age,disease\nZacharias,30,flu\nYolanda,31,cold\n"


@pytest.fixture
def written(tmp_path: Path):
    def write(content: bytes, source: str = "{path: '{release}.csv', id: name}"):
        (tmp_path / "r1.csv").write_bytes(content)
        return declared(tmp_path, source, columns={"age": "{}"})

    return write


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(TEXT.encode()), "compressed with gzip"),
        (b"PK\x03\x04" + bytes(30), "Excel workbook"),
        (b"PAR1" + bytes(30), "parquet file"),
        (TEXT.encode("utf-16"), "set source.encoding: utf-16"),
        (TEXT.encode("utf-16-le"), "set source.encoding: utf-16"),
        (TEXT.replace("flu", "fl\0u").encode(), "without NUL"),
        (TEXT.replace("age", '"age').encode(), "all column names on its first line"),
        (TEXT.replace("flu", '"flu').encode(), "close every quote"),
    ],
    ids=["gzip", "zip", "parquet", "utf-16 with a mark", "utf-16", "NUL", "quote in the header", "quote in a value"],
)
def test_what_is_no_csv_file_is_named_and_no_person_is_quoted(written, content: bytes, told: str) -> None:
    (sentence,) = sentences_of(read_snapshot, written(content), "r1", KEY, ())
    assert told in sentence
    assert "Zacharias" not in sentence
    assert "Yolanda" not in sentence


def test_utf_16_is_read_if_it_is_declared(written) -> None:
    source = "{path: '{release}.csv', id: name, encoding: utf-16}"
    assert read_snapshot(written(TEXT.encode("utf-16"), source), "r1", KEY, ()).snapshot.size == 2


def test_a_quote_inside_an_unquoted_value_is_a_quote(written) -> None:
    assert read_snapshot(written(TEXT.replace("flu", 'fl"u').encode()), "r1", KEY, ()).snapshot.size == 2


@pytest.fixture
def queried(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("create table visits (quarter text, name text, age int, disease text)")
        connection.execute("insert into visits values ('r1', 'Zacharias', 1, 'flu'), ('r1', 'Yolanda', 2, 'cold')")
    (tmp_path / "other.csv").write_text(TEXT)

    def loaded(query: str, more: str = ""):
        return declared(tmp_path, f'{{duckdb: clinic.duckdb, query: "{query}", id: name{more}}}', columns={"age": "{}"})

    return partial(loaded)


@pytest.mark.parametrize(
    "query",
    [
        "copy visits to '{out}/people-{{release}}.csv'; select * from visits where quarter = '{{release}}'",
        "select * from visits where quarter = '{{release}}'; copy visits to '{out}/people.csv'",
        "copy (select * from visits where quarter <> '{{release}}x') to '{out}/people.csv'",
        "attach '{out}/{{release}}.duckdb' as other",
        "set enable_external_access = true; select * from visits where quarter = '{{release}}'",
    ],
)
def test_a_query_is_one_select_and_writes_nothing(queried, tmp_path: Path, query: str) -> None:
    out = tmp_path / "published"
    out.mkdir()
    (sentence,) = sentences_of(read_snapshot, queried(query.format(out=out)), "r1", KEY, ())
    assert "source.query" in sentence
    assert "be one SELECT" in sentence
    assert list(out.iterdir()) == []


def test_a_query_reads_files_only_if_the_steward_asks_for_it(queried, tmp_path: Path) -> None:
    query = f"select * from read_csv('{tmp_path}/other.csv') where '{{release}}' = 'r1'"
    (sentence,) = sentences_of(read_snapshot, queried(query), "r1", KEY, ())
    assert sentence == "source.query must read no file and no network; unless source.external is true"
    assert read_snapshot(queried(query, ", external: true"), "r1", KEY, ()).snapshot.size == 2


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = write_series(tmp_path, snapshots={"r1": people(60)})
    assert main(["publish", str(path), "--quiet"]) == 0
    return path


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("published/clinic/trace.parquet", "outside the published folder"),
        ("published/trace.csv", "outside the published folder"),
        ("private/../published/clinic/r1/trace.csv", "outside the published folder"),
        ("trace.json", "end in .parquet or .csv"),
        ("snapshots/r1.csv", "be a new file"),
        ("link.csv", "be a new file"),
    ],
)
def test_a_trace_goes_into_a_new_private_file_only(
    published: Path, out: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = published.parent
    (folder / "link.csv").symlink_to(folder / "elsewhere.csv")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["trace", str(published), "--release", "r1", "--out", str(folder / out)]) == 2
    assert told in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_trace_as_csv_is_for_its_owner_alone(published: Path) -> None:
    out = published.parent / "trace.csv"
    assert main(["trace", str(published), "--release", "r1", "--out", str(out), "--quiet"]) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    assert out.read_text().splitlines()[0] == '"id","row"'


@pytest.mark.parametrize(
    "text",
    [
        "age,name,disease\n" + "".join(f"Zacharias {chr(97 + at)},{at},flu\n" for at in range(9)),
        "age,name,disease\n" + "".join(f"{104822 + at},{at},flu\n" for at in range(9)),
        "name,age,disease\n104822,104823,flu\n104823,31,cold\n104824,104822,cold\n",
        "name,age,disease\nAB-104822,CD-104833,flu\nAB-104823,31,cold\n",
        "name,age,disease\nZacharias,3 Zacharias 0,flu\nYolanda,31,cold\n",
    ],
    ids=["names for ages", "numbers for ages", "numbers", "the same shape", "inside a cell"],
)
def test_ids_in_another_column_are_not_quoted(tmp_path: Path, text: str) -> None:
    (tmp_path / "r1.csv").write_text(text)
    series = declared(tmp_path, "{path: '{release}.csv', id: name}", columns={"age": "{domain: [0, 110]}"})
    told = "\n".join(sentences_of(read_snapshot, series, "r1", KEY, ()))
    assert "age" in told
    assert not any(id_ in told for id_ in ("Zacharias", "Yolanda", "1048"))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select * from visits where quarter = '{release}' and getenv('HOME') is not null", "getenv does not exist"),
        ("select * from peek where quarter = '{release}'", "read no file"),
        ("select * from leak() where '{release}' = 'r1'", "read no file"),
        ("select * from query('copy visits to x') where '{release}' = 'r1'", "single SELECT"),
        ("with x as (delete from visits returning *) select * from x where '{release}' = 'r1'", "needs a SELECT"),
        ("pragma database_list; select '{release}'", "be one SELECT"),
        ("select * from connection where '{release}' = 'r1'", "must be there"),
        ("select * from duckdb_secrets() where '{release}' = 'r1'", "read no file"),
    ],
)
def test_a_query_has_no_way_around(queried, tmp_path: Path, query: str, told: str) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(f"create view peek as select *, 'r1' as quarter from read_csv('{tmp_path}/other.csv')")
        connection.execute(f"create macro leak() as table select * from read_csv('{tmp_path}/other.csv')")
    series = queried(query)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    sentence = "\n".join(sentences_of(read_snapshot, series, "r1", KEY, ()))
    assert told in sentence
    assert "Zacharias" not in sentence
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (TEXT.encode(), "let its name end in .csv"),
        (b"PAR1" + bytes(40), "cut off"),
        (b"PAR1" + bytes(40) + b"PAR1", "damaged"),
        (b"", "does not begin as one"),
    ],
)
def test_what_is_no_parquet_file_is_named(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "r1.parquet").write_bytes(content)
    series = declared(tmp_path, "{path: '{release}.parquet', id: name}", columns={"age": "{}"})
    (sentence,) = sentences_of(read_snapshot, series, "r1", KEY, ())
    assert told in sentence


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "begin with a line of column names"),
        (TEXT.replace("age", "name", 1).encode(), "every column once"),
        (TEXT.replace("age", "x" * 60_000).encode(), "column age must be in"),
        (TEXT.replace("30", "3" * 5_000).encode(), "age"),
        (TEXT.replace("30", "1e400").encode(), "age"),
        (TEXT.replace("30", "\x1b[31m7\u2028").encode(), "\\x1b[31m7\\u2028"),
        ((",".join(f"c{at}" for at in range(10_000)) + "\n").encode(), "have the columns name, age, disease"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
        (TEXT.encode("latin-1").replace(b"flu", b"gr\xfcn"), "source.encoding"),
    ],
    ids=["empty", "twice", "long name", "long number", "huge", "terminal", "many columns", "zstd", "latin-1"],
)
def test_an_odd_csv_file_is_refused_in_a_short_line(written, content: bytes, told: str) -> None:
    sentences = sentences_of(read_snapshot, written(content), "r1", KEY, ())
    assert told in sentences[0]
    for sentence in sentences:
        assert len(sentence) < 1000
        assert sentence.isprintable()
        assert "Zacharias" not in sentence


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + TEXT.encode(), TEXT.replace("\n", "\r\n").encode()])
def test_a_byte_order_mark_and_windows_line_ends_are_read(written, content: bytes) -> None:
    assert read_snapshot(written(content), "r1", KEY, ()).snapshot.size == 2
