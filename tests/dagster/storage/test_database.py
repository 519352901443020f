"""A file that this process holds: one DuckDB for all users, none after an error, no lock when no one uses it."""

import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from reanon_core.model.errors import Refused
from reanon_dagster.storage import database
from reanon_dagster.storage.connection import STORE, opened

READ = "import duckdb, sys; print(duckdb.connect(sys.argv[1]).execute('SELECT sum(n) FROM numbers').fetchone()[0])"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path, read_only=False) as connection:
        connection.execute("CREATE TABLE numbers AS SELECT range AS n FROM range(5)")
    return tmp_path


def running() -> list[database.Database]:
    return list(database._RUNNING.values())


def test_the_same_engine_opens_the_file_again_and_another_process_may_open_it_between(folder: Path) -> None:
    (before,) = running()
    assert subprocess.check_output([sys.executable, "-c", READ, str(folder / STORE)], text=True) == "10\n"
    with opened(folder, read_only=True) as connection:
        assert connection.execute("SELECT sum(n) FROM numbers").fetchone() == (10,)
    assert running() == [before]


def test_an_idle_engine_ends_when_another_file_is_opened(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    with opened(other, read_only=False):
        pass
    assert [one.path.parent for one in running()] == [other]
    assert folder != other


def test_users_of_one_process_share_what_they_see_and_the_last_one_closes_the_file(folder: Path) -> None:
    with opened(folder, read_only=False) as one, opened(folder, read_only=False) as other:
        one.execute("INSERT INTO numbers VALUES (90)")
        assert other.execute("SELECT sum(n) FROM numbers").fetchone() == (100,)
        assert running()[0].users == 2
    assert running()[0].users == 0
    assert subprocess.check_output([sys.executable, "-c", READ, str(folder / STORE)], text=True) == "100\n"


def test_a_writer_waits_for_a_reader_of_the_same_process(folder: Path) -> None:
    with (
        opened(folder, read_only=True),
        pytest.raises(Refused, match="another process is working"),
        opened(folder, read_only=False, patience=0.2),
    ):
        pytest.fail("both are open")
    with opened(folder, read_only=False) as connection:
        connection.execute("DELETE FROM numbers")


def test_after_an_error_the_engine_begins_anew(folder: Path) -> None:
    (before,) = running()
    with pytest.raises(Refused), opened(folder, read_only=True) as connection:
        connection.execute("SELECT * FROM nothing")
    assert not running()
    with opened(folder, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM numbers").fetchone() == (5,)
    assert running() != [before]


def test_a_limit_ends_with_its_user(folder: Path) -> None:
    def limit(connection: duckdb.DuckDBPyConnection) -> object:
        return connection.execute("SELECT current_setting('memory_limit')").fetchone()

    with opened(folder, read_only=True) as connection:
        usual = limit(connection)
    with opened(folder, read_only=True, memory_limit=300_000_000) as connection:
        assert limit(connection) != usual
    with opened(folder, read_only=True) as connection:
        assert limit(connection) == usual


def test_threads_open_and_close_it_as_they_like(folder: Path) -> None:
    failed = []

    def read() -> None:
        try:
            for _ in range(30):
                with opened(folder, read_only=True) as connection:
                    assert connection.execute("SELECT sum(n) FROM numbers").fetchone() == (10,)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
