"""Debian's Postgres on loopback, with a data folder of its own; and every text that a database holds."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg2
from psycopg2 import sql

from builders.deployment import free_port
from builders.guard import end, guarded

INSTALLED = Path("/usr/lib/postgresql")
TABLES = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"


@dataclass(frozen=True)
class Postgres:
    """Where the server listens, and the password of its superuser `postgres`."""

    port: int
    password: str
    programs: Path

    def execute(self, statement: str, database: str = "postgres", values: tuple[object, ...] = ()) -> None:
        """Execute one statement as the superuser."""
        with self.connected(database) as cursor:
            cursor.execute(statement, values)

    def texts(self, database: str) -> Iterator[tuple[str, str]]:
        """Every value of every table, with the name of its table; what is compressed is decompressed."""
        with self.connected(database) as cursor:
            cursor.execute(TABLES)
            for schema, table in cursor.fetchall():
                cursor.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, table)))
                for row in cursor:
                    for value in row:
                        yield table, _text(value)

    @contextmanager
    def connected(self, database: str) -> Iterator[psycopg2.extensions.cursor]:
        """A cursor of the superuser, which commits after each statement."""
        connection = psycopg2.connect(
            host="127.0.0.1", port=self.port, user="postgres", password=self.password, dbname=database
        )
        connection.autocommit = True
        try:
            yield connection.cursor()
        finally:
            connection.close()


def _text(value: object) -> str:
    if not isinstance(value, memoryview):
        return str(value)
    packed = bytes(value)
    with suppress(zlib.error):
        packed = zlib.decompress(packed)
    return packed.decode("utf-8", errors="replace")


def programs() -> Path | None:
    """Where the newest installed server's programs are, if there is one."""
    found = [path.parent for path in INSTALLED.glob("*/bin/postgres") if (path.parent / "initdb").exists()]
    return max(found, key=lambda folder: int(folder.parent.name), default=None)


def account() -> str | None:
    """The user that runs the server: it refuses to run as root."""
    if os.getuid() != 0:
        return None
    return "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server with an empty cluster; it ends with the block, or with this process."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path, for its socket, that the server's user may enter
    found, user, password = programs(), account(), secrets.token_hex(16)
    assert found is not None
    (folder / "password").write_text(password)
    if user:
        for path in (folder, folder / "password"):
            shutil.chown(path, user)
    words = ["-D", str(folder / "data"), "-U", "postgres", "--auth=scram-sha-256", "--no-sync", "--no-locale"]
    subprocess.run(
        [str(found / "initdb"), *words, "--encoding=UTF8", f"--pwfile={folder / 'password'}"],
        user=user,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    server = Postgres(free_port(), password, found)
    settings = ["-h", "127.0.0.1", "-p", str(server.port), "-k", str(folder), "-c", "fsync=off"]
    with (folder / "log").open("wb") as log:
        process = guarded(
            [str(found / "postgres"), "-D", str(folder / "data"), *settings],
            user=user,
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        _wait(server, process, folder / "log")
        yield server
    finally:
        end(process)
        shutil.rmtree(folder)


def _wait(server: Postgres, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        with suppress(psycopg2.OperationalError), server.connected("postgres"):
            return
        time.sleep(0.2)
    raise AssertionError(f"Postgres did not start: {log.read_text()[-2000:]}")
