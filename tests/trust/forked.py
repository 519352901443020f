"""Commands in forked children of one warm process: each is a process of its own, and costs no import."""

import ctypes
import io
import os
import pickle
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from builders.guard import kill_children

PDEATHSIG = 1
"""Linux' PR_SET_PDEATHSIG: a child dies with its parent."""
PATIENCE = 60.0
"""Seconds after which a command hangs."""
KILLED, HUNG = -signal.SIGKILL, -1000
END = [float("inf")]
"""The moment after which no task of the run begins, on the monotonic clock."""


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str
    seconds: float = 0.0

    @property
    def has_traceback(self) -> bool:
        """Whether a programmer was spoken to instead of a steward; a crash or a hang counts too."""
        crashed = self.code < 0 and self.code != KILLED
        return crashed or "Traceback (most recent call last)" in self.out + self.err

    @property
    def last(self) -> str:
        """The last line that was said."""
        lines = [line for line in (self.out + self.err).splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""


def warm(parts: Sequence[str] = (), *, dagster: bool = False) -> None:
    """Import what commands import and load the compiled loops; open no database, whose threads a fork would lose."""
    from reanon_core.precompile import compile_first, compile_part

    for name in ("duckdb", "pyarrow.parquet", "pyarrow.csv", "pandas", "rich.console", "rich.table"):
        import_module(name)
    for path in Path(import_module("reanon_dagster.commands").__path__[0]).glob("[!_]*.py"):
        import_module(f"reanon_dagster.commands.{path.stem}")
    for _ in compile_first():
        pass
    for part in parts:
        compile_part(part)
    if dagster:  # what a run of the asset imports costs seconds
        for name in ("builders.assets", "great_expectations", "sqlalchemy.dialects.sqlite", "alembic.command"):
            import_module(name)


def start(work: Callable[[], int], *, patience: float = PATIENCE) -> "Running":
    """Start a function in a child; its result is the exit code."""
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
    sys.stdout.flush()
    sys.stderr.flush()
    parent, began = os.getpid(), time.monotonic()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(70)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), write_through=True)
            sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), write_through=True)
            code = work()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:
            code = 1
            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    return Running(child, out, err, began, began + patience)


@dataclass
class Running:
    """A child at work."""

    pid: int
    out: Any
    err: Any
    began: float
    until: float
    status: int | None = None

    def poll(self) -> bool:
        """Whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def kill(self) -> None:
        """End it at once."""
        if not self.poll():
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Ended:
        """Wait for its end; a child that hangs is killed."""
        hung = False
        pause = 0.001
        while not self.poll():
            if time.monotonic() > self.until and not hung:
                os.kill(self.pid, signal.SIGKILL)
                hung = True
            time.sleep(pause)
            pause = min(0.02, pause * 1.5)
        said = []
        for file in (self.out, self.err):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
            file.close()
        assert self.status is not None
        return Ended(HUNG if hung else self.status, *said, time.monotonic() - self.began)


def run(work: Callable[[], int], *, patience: float = PATIENCE) -> Ended:
    """Run a function in a child."""
    return start(work, patience=patience).wait()


def command(*arguments: object) -> Callable[[], int]:
    """A `reanon` command, to be run in a child."""

    def work() -> int:
        from reanon_dagster.cli import main

        return main([str(argument) for argument in arguments])

    return work


def reanon(*arguments: object) -> Ended:
    """Run a `reanon` command in a child."""
    return run(command(*arguments))


def each(
    tasks: Iterable[Any], work: Callable[[Any], Any], *, workers: int = 2, until: float | None = None
) -> Iterator[Any]:
    """What the function answers for each task, in children, several at a time; no new one begins after `until`."""
    waiting = iter(tasks)
    running: dict[int, Answer] = {}
    while True:
        while len(running) < workers and time.monotonic() < min(END[0], until or END[0]):
            task = next(waiting, running)
            if task is running:
                break
            begun = begin(task, work)
            running[begun.reader] = begun
        if not running:
            return
        ready, _, _ = select.select(list(running), [], [], 1.0)
        for reader in ready:
            if running[reader].read():
                yield running.pop(reader).content()


@dataclass
class Answer:
    """What a child will answer."""

    pid: int
    reader: int
    received: bytearray

    def read(self) -> bool:
        """Read what is there, and tell whether that was all."""
        part = os.read(self.reader, 1 << 16)
        self.received += part
        if not part:
            os.close(self.reader)
            os.waitpid(self.pid, 0)
        return not part

    def content(self) -> Any:
        """The answer, once all of it is read."""
        if not self.received:
            raise RuntimeError("a child of the harness died without an answer")
        answer = pickle.loads(bytes(self.received))
        if isinstance(answer, str) and answer.startswith("Traceback"):
            raise RuntimeError(answer)
        return answer

    def wait(self) -> Any:
        """The answer."""
        while not self.read():
            pass
        return self.content()


def begin(task: Any, work: Callable[[Any], Any]) -> Answer:
    """Start a function in a child that answers."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(writer)
        return Answer(child, reader, bytearray())
    try:
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        try:
            answer = pickle.dumps(work(task))
        except BaseException:
            answer = pickle.dumps(traceback.format_exc())
        with os.fdopen(writer, "wb") as file:
            file.write(answer)
    finally:
        os._exit(0)


BASE = "REANON_TRUST_SCRATCH"
"""The variable that names the folder of all scratch folders of a run."""


def scratch() -> Path:
    """A folder for a series under test: in memory where that is possible, because every command flushes."""
    if BASE not in os.environ:
        memory = Path("/dev/shm")
        place = memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
        for old in place.glob("reanon-trust-run-*"):  # of a run that was killed
            if not Path(f"/proc/{old.name.rpartition('-')[2]}").exists():
                shutil.rmtree(old, ignore_errors=True)
        base = place / f"reanon-trust-run-{os.getpid()}"
        base.mkdir(mode=0o700, exist_ok=True)
        os.environ[BASE] = str(base)
    return Path(tempfile.mkdtemp(prefix="", dir=os.environ[BASE])).resolve()


def ended_and_removed() -> None:
    """End all children, which end theirs by dying, and delete all scratch folders."""
    kill_children()
    if BASE in os.environ:
        shutil.rmtree(os.environ.pop(BASE), ignore_errors=True)
