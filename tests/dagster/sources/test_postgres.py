"""Snapshots in Postgres, on a real server: exact values, one read-only transaction, no connection string anywhere."""

import os
import uuid
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from builders.documented_steps import blocks
from builders.series import declared
from builders.snapshots import KEY, person, rows, sentences_of
from builders.source_kinds import CSV, Frames, SourceKind, clinic, publish

from reanon_dagster.cli import main
from reanon_dagster.definitions import ROOT
from reanon_dagster.series.series import Series
from reanon_dagster.sources.kinds import source as source_kind
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_version
from reanon_dagster.sources.snapshot_reader import read_snapshot, snapshot_digest

VARIABLE = "CLINIC_DSN"
QUERY = "select * from visits where quarter = '{release}'"
VISITS = """CREATE TABLE visits (
    quarter text, patient bigint, age integer, weight numeric, since date, sex varchar(9), disease text)"""


@pytest.fixture(scope="module")
def server() -> Iterator[object]:
    if missing := [name for name in ("psycopg", "psycopg2") if find_spec(name) is None]:
        pytest.skip(f"{' and '.join(missing)} not installed (pip install 'reanon[postgres,postgres-source]')")
    from builders.postgres import postgres, programs

    if programs() is None:
        pytest.skip("Postgres is not installed (apt-get install postgresql)")
    with postgres() as started:
        yield started


@pytest.fixture
def execute(server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """An empty database, its address in the environment; executes a statement there as the superuser."""
    name = f"clinic_{uuid.uuid4().hex}"
    server.execute(f"CREATE DATABASE {name}")
    address = f"host=127.0.0.1 port={server.port} user=postgres password={server.password} dbname={name}"
    monkeypatch.setenv(VARIABLE, address)
    yield lambda statement, *values: server.execute(statement, name, values)
    server.execute(f"DROP DATABASE {name}")


@pytest.fixture
def people(execute: Callable[..., None]) -> Callable[..., None]:
    """The same, with two people in the table visits."""
    execute("CREATE TABLE visits (quarter text, name text, age integer, disease text)")
    execute("INSERT INTO visits VALUES ('r1', 'Zacharias', 30, 'flu'), ('r1', 'Yolanda', 31, 'cold')")
    return execute


def series(folder: Path, query: str = QUERY, more: str = "", age: str = "{}") -> Series:
    source = f'{{postgres: {VARIABLE}, query: "{query}", id: name{more}}}'
    return declared(folder, source, columns={"age": age})


def refusal(folder: Path, query: str = QUERY, more: str = "") -> str:
    (sentence,) = sentences_of(read_snapshot, series(folder, query, more), "r1", KEY, ())
    assert "Zacharias" not in sentence
    return sentence


def test_a_query_gives_the_release_of_the_csv_files(execute, tmp_path: Path) -> None:
    def written(_: Path, frames: Frames) -> None:
        execute(VISITS)
        for release, frame in frames.items():
            for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
                execute("INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s, %s)", release, *row)

    kind = SourceKind(f'postgres: {VARIABLE}, query: "{QUERY}"', written)
    small = clinic(size=60)
    assert publish(tmp_path / "postgres", kind, small) == publish(tmp_path / "csv", CSV, small)


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        ("numeric", ["12345678901234567890123", "7"], ["12345678901234567890123", "7"]),
        ("bigint", ["9223372036854775807", "-1"], ["9223372036854775807", "-1"]),
        ("uuid", ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"], ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
        ("text", ["007", 'a "quoted", name\nof two lines', "Zoë"], ["007", 'a "quoted", name\nof two lines', "Zoë"]),
    ],
    ids=["numeric", "bigint", "uuid", "text"],
)
def test_ids_of_every_type_are_exact(execute, tmp_path: Path, kind: str, values: list[str], texts: list[str]) -> None:
    execute(f"CREATE TABLE visits (quarter text, name {kind}, age integer, disease text)")
    for number, value in enumerate(values):
        execute("INSERT INTO visits VALUES ('r1', %s, %s, %s)", value, number, f"d{number}")
    assert set(rows(read_snapshot(series(tmp_path), "r1", KEY, ()))) == {person(text) for text in texts}


@pytest.mark.parametrize(
    ("kind", "value", "age", "code"),
    [
        ("numeric", "36.60", "{granularity: 0.1}", 366),
        ("double precision", "0.3", "{granularity: 0.1}", 3),
        ("date", "1970-01-02", "{kind: date}", 1),
        ("timestamp", "1970-01-02", "{kind: date}", 1),
        ("boolean", "true", "{kind: categorical, order: [false, true]}", 1),
        ("varchar(5)", "b", "{kind: categorical, order: [a, b]}", 1),
    ],
)
def test_values_of_every_type_are_exact(execute, tmp_path: Path, kind: str, value: str, age: str, code: int) -> None:
    execute(f"CREATE TABLE visits (quarter text, name text, age {kind}, disease text)")
    execute("INSERT INTO visits VALUES ('r1', 'a', %s, 'flu')", value)
    execute("ALTER ROLE postgres SET datestyle = 'SQL, DMY'")
    try:
        assert rows(read_snapshot(series(tmp_path, age=age), "r1", KEY, ())) == {person("a"): [code, "flu"]}
    finally:
        execute("ALTER ROLE postgres RESET datestyle")


def test_a_time_with_a_zone_is_no_date_until_the_query_casts_it(execute, tmp_path: Path) -> None:
    execute("CREATE TABLE visits (quarter text, name text, at timestamptz, disease text)")
    execute("INSERT INTO visits VALUES ('r1', 'a', '1970-01-01 23:30:00+00', 'flu')")
    query = "select name, {} as age, disease from visits where quarter = '{{release}}'"
    loaded = series(tmp_path, query.format("at"), age="{kind: date}")
    assert "must be dates" in sentences_of(read_snapshot, loaded, "r1", KEY, ())[0]
    loaded = series(tmp_path, query.format("(at at time zone 'Europe/Rome')::date"), age="{kind: date}")
    assert rows(read_snapshot(loaded, "r1", KEY, ())) == {person("a"): [1, "flu"]}


def test_a_snapshot_is_there_when_the_query_has_rows(people, tmp_path: Path) -> None:
    loaded = series(tmp_path)
    assert snapshot_exists(loaded, "r1")
    assert not snapshot_exists(loaded, "r2")
    assert sentences_of(snapshot_version, loaded, "r2")[0].startswith("the snapshot of r2 (the rows of source.query on")
    absent = series(tmp_path, "select * from visits_{release}")
    assert not snapshot_exists(absent, "r1")
    for call in (lambda: read_snapshot(absent, "r1", KEY, ()), lambda: snapshot_version(absent, "r1")):
        assert sentences_of(call)[0].startswith("the snapshot of r1 (the rows of source.query on the server of CLINIC")


def test_the_version_changes_with_the_database_and_only_then(people, tmp_path: Path) -> None:
    loaded = series(tmp_path)
    first = snapshot_version(loaded, "r1")
    read_snapshot(loaded, "r1", KEY, ())
    assert snapshot_version(loaded, "r1") == first
    people("INSERT INTO visits VALUES ('r1', 'Xaver', 32, 'flu')")
    assert snapshot_version(loaded, "r1") != first


def test_the_version_may_be_a_query_of_its_own(people, tmp_path: Path) -> None:
    loaded = series(tmp_path, more=", changed: \"select count(*) from visits where quarter = '{release}';\"")
    people("CREATE TABLE unrelated (a int)")
    assert snapshot_version(loaded, "r1") == "2"
    wrong = series(tmp_path, more=", changed: 'select 1; select 2'")
    assert sentences_of(snapshot_version, wrong, "r1")[0].startswith("source.changed must be one SELECT")


def test_the_digest_is_that_of_the_rows_in_any_order(people, tmp_path: Path) -> None:
    digest = snapshot_digest(series(tmp_path), "r1", KEY)
    assert digest == read_snapshot(series(tmp_path), "r1", KEY, ()).input_digest
    assert digest == snapshot_digest(series(tmp_path, f"{QUERY} order by age desc -- newest first"), "r1", KEY)
    people("UPDATE visits SET age = 33 WHERE age = 31")
    assert digest != snapshot_digest(series(tmp_path), "r1", KEY)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("delete from visits where quarter = '{release}' returning *", "only read"),
        ("with gone as (delete from visits where quarter = '{release}' returning *) select * from gone", "only read"),
        ("drop table visits -- {release}", "be one SELECT"),
        ("select 1 as name; drop table visits -- {release}", "be one SELECT"),
        ("select '{release}' as name) to stdout; commit; drop table visits; copy (select 1", "be one SELECT"),
        ("select nonsense from visits where quarter = '{release}'", 'column "nonsense" does not exist'),
        ("select name, age / 0 as age, disease from visits where quarter = '{release}'", "the server's code is 22012"),
        ("select name::int as name, age, disease from visits where quarter = '{release}'", "code is 22P02"),
        ("select *, age from visits where quarter = '{release}'", "(age) must have every column once"),
    ],
)
def test_a_query_is_one_select_that_writes_nothing_and_quotes_no_value(
    people, tmp_path: Path, query: str, told: str
) -> None:
    sentence = refusal(tmp_path, query)
    assert sentence.startswith("source.query")
    assert told in sentence
    assert read_snapshot(series(tmp_path), "r1", KEY, ()).rows == 2


def test_a_query_ends_within_its_time_and_its_size(people, tmp_path: Path) -> None:
    slow = "select name, age, disease from visits, pg_sleep(20) where quarter = '{release}'"
    assert refusal(tmp_path, slow, ", timeout: 1") == "source.query must end within 1 seconds; set source.timeout"
    large = f"select v.* from ({QUERY}) v, generate_series(1, 90000)"
    assert "source.query must need at most 1 MB in memory" in refusal(tmp_path, large, ", max_size: 1MB")


def test_a_role_that_may_not_read_the_table_is_a_sentence(people, server, tmp_path: Path, monkeypatch) -> None:
    people("CREATE ROLE stranger LOGIN PASSWORD 'hunter2'")
    address = f"postgresql://stranger:hunter2@127.0.0.1:{server.port}"
    database = dict(part.split("=") for part in os.environ[VARIABLE].split())["dbname"]
    monkeypatch.setenv(VARIABLE, f"{address}/{database}")
    assert refusal(tmp_path).endswith("permission denied for table visits")
    people("DROP ROLE stranger")


@pytest.mark.parametrize(
    "address",
    [
        "host=127.0.0.1 port=1 user=postgres password=hunter2",
        "nonsense hunter2",
        "postgresql://postgres:hunter2@127.0.0.1:PORT/postgres",
        "host=127.0.0.1 port=PORT user=postgres password=hunter2 dbname=hunter2",
        "postgresql://postgres:hunter2@127.0.0.1/postgres?hunter2=1",
    ],
    ids=["no server", "no address", "a wrong password", "no database", "an unknown option"],
)
def test_a_connection_that_fails_is_a_sentence_without_the_address(
    server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(VARIABLE, address.replace("PORT", str(server.port)))
    sentence = refusal(tmp_path)
    assert sentence.startswith("source.postgres (CLINIC_DSN) must lead to a Postgres server")
    assert "hunter2" not in sentence
    assert "127.0.0.1" not in sentence


def test_without_the_variable_or_the_package_a_sentence_says_so(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.delenv(VARIABLE, raising=False)
    assert refusal(tmp_path).startswith("source.postgres (CLINIC_DSN is not set) must name an environment variable")

    def absent(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(source_kind, "import_module", absent)
    assert refusal(tmp_path).endswith("reading it needs reanon[postgres-source]")


def test_the_address_is_in_no_file_and_in_no_output(execute, server, tmp_path: Path, capsys) -> None:
    execute("CREATE TABLE visits (quarter text, name text, age integer, disease text)")
    for number in range(60):
        values = (f"Zacharias-{number}", number, ["flu", "cold", "cough"][number % 3])
        execute("INSERT INTO visits VALUES ('r1', %s, %s, %s)", *values)
    series(tmp_path)
    for command in (["validate"], ["publish"], ["status"], ["doctor"], ["audit"], ["rehearse"]):
        assert main([command[0], str(tmp_path)]) == 0, command
    assert main(["trace", str(tmp_path), "--release", "r1", "--out", str(tmp_path / "trace.csv")]) == 0
    assert main(["backfill", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "waits for its snapshot the rows of source.query on the server of CLINIC_DSN" in said.out
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 8
    assert not any(server.password.encode() in content for content in [*written, said.out.encode(), said.err.encode()])
    public = [path.read_bytes() for path in (tmp_path / "published").rglob("*") if path.is_file()]
    assert not any(b"Zacharias" in content for content in public)


def test_the_documented_role_reads_and_cannot_write(people, server, tmp_path: Path, monkeypatch) -> None:
    import psycopg

    (statements,) = blocks(ROOT / "docs" / "sources.md", "Postgres", "sql")
    database = dict(part.split("=") for part in os.environ[VARIABLE].split())["dbname"]
    for statement in statements.splitlines():
        people(statement)
    monkeypatch.setenv(VARIABLE, f"postgresql://reanon:change-me@127.0.0.1:{server.port}/{database}")
    try:
        assert read_snapshot(series(tmp_path), "r1", KEY, ()).rows == 2
        for statement in ("DELETE FROM visits", "CREATE TEMP TABLE copy AS SELECT * FROM visits", "DROP TABLE visits"):
            with psycopg.connect(os.environ[VARIABLE]) as connection, pytest.raises(psycopg.Error) as error:
                connection.execute(statement)
            assert error.value.sqlstate in {"25006", "42501"}, statement
    finally:
        people("DROP OWNED BY reanon")
        people("DROP ROLE reanon")
