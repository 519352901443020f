"""Tasks on two cores of this machine, run by Spark: right results, and nothing private that others can see."""

import gc
import os
import secrets
import signal
import stat
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from builders import tasks
from builders.spark import engine_in, needs_spark

from reanon_core.model.errors import Refused
from reanon_dagster.engines import spark_task
from reanon_dagster.engines.scratch import scratch_folder
from reanon_dagster.engines.spark_task import Call, installation, packed, run_call
from reanon_dagster.engines.unavailable import EngineUnavailable

# pyspark leaves closing its sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """One session for all tests of this file, in a folder whose name needs care."""
    folder = tmp_path_factory.mktemp("private") / "ü and = [x]"
    folder.mkdir(mode=0o700)
    with engine_in(folder) as started:
        yield started
    assert not (folder / "spark").exists()
    gc.collect()


def open_to_others(folder: str) -> list[Path]:
    return [path for path in Path(folder).rglob("*") if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def java_process() -> Path:
    """The Java process that this one has started."""
    own = Path("/proc") / str(os.getpid()) / "task"
    numbers = [number for children in own.glob("*/children") for number in children.read_text().split()]
    children = [Path("/proc") / number for number in numbers]
    return next(entry for entry in children if "java" in (entry / "cmdline").read_text().split("\0")[0])


@needs_spark
def test_tasks_give_what_numpy_gives(engine):
    values = np.random.default_rng(1).integers(0, 10**6, 20_000)
    assert (tasks.sort_by_remainder(engine, values, 7) == tasks.sorted_by_remainder(values)).all()
    assert engine.run(tasks.thread_count, [], []) == []


@needs_spark
def test_results_are_in_the_order_of_the_tasks_and_a_task_uses_one_core(engine):
    assert engine.run(tasks.refuse, [5, 3, 4], [1, 9, 2]) == [5, 3, 4]
    assert engine.run(tasks.thread_count, [0, 0], [1, 1]) == [1, 1]


@needs_spark
def test_nothing_is_open_to_others_during_the_run(engine):
    assert engine.run(tasks.open_files, [engine.folder.path], [1]) == [[]]
    assert open_to_others(engine.folder.path) == []
    assert Path(engine.marker).exists()


@needs_spark
def test_no_secret_is_in_a_command_line_or_open_in_the_environment(engine):
    settings = (Path(engine.folder.path) / "spark" / "conf" / "spark-defaults.conf").read_text()
    secret = next(line.split()[1] for line in settings.splitlines() if line.startswith("spark.authenticate.secret"))
    assert len(secret) == 64
    own = java_process()
    assert "--conf" not in (own / "cmdline").read_text()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                said = (entry / "cmdline").read_text(errors="replace")
            except OSError:
                continue
            assert secret not in said
            assert "spark.authenticate.secret" not in said
    assert secret not in (own / "environ").read_text(errors="replace")


@needs_spark
def test_a_refusal_is_passed_on_and_of_another_error_only_its_kind_and_place(engine):
    with pytest.raises(Refused, match="the technique cannot keep its promise"):
        engine.run(tasks.refuse, [0, 1], [1, 1])
    with pytest.raises(EngineUnavailable, match=r"KeyError in tasks.py, line \d+; nothing was published") as error:
        engine.run(tasks.fail, [0, 1], [1, 1])
    assert "diagnosis" not in str(error.value)
    assert "diagnosis" not in (Path(engine.folder.path) / "spark" / "log").read_text()


@needs_spark
def test_a_task_whose_process_was_killed_is_begun_again(engine):
    assert engine.run(tasks.die_once, [str(Path(engine.folder.path) / "died")], [1]) == [7]


@needs_spark
def test_a_function_that_workers_cannot_import_is_an_error(engine):
    with pytest.raises(ValueError, match="is not a function of a module"):
        engine.run(lambda number: number, [1], [1])


@needs_spark
def test_a_second_session_in_one_process_is_refused(engine, tmp_path):
    with pytest.raises(EngineUnavailable, match="another Spark session runs in this process"), engine_in(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def call(tmp_path: Path, **changes: object) -> Call:
    marker, token = tmp_path / "spark" / "marker", secrets.token_hex(8)
    marker.parent.mkdir()
    marker.write_text(token)
    fields = {"driver": installation(), "marker": str(marker), "token": token, "body": packed(tasks.refuse, 5)}
    return Call(**fields | changes)


@pytest.fixture
def kept_umask():
    mask = os.umask(0o022)
    yield
    os.umask(mask)


def test_a_worker_that_fits_runs_the_task(tmp_path, kept_umask):
    assert run_call(call(tmp_path)).result == 5


@pytest.mark.parametrize("package", ["python", "numpy", "numba", "reanon"])
def test_a_worker_with_another_version_says_so(tmp_path, monkeypatch, kept_umask, package):
    own = installation()
    other = type(own)(**{name: getattr(own, name) for name in ("python", "numpy", "numba", "reanon")} | {package: "0"})
    monkeypatch.setattr(spark_task, "installation", lambda: other)
    said = run_call(call(tmp_path)).misfit
    assert f"has {package} 0, and the driver has {getattr(own, package)}; install the same versions" in said


@pytest.mark.parametrize("change", [{"token": "another"}, {"marker": "/nowhere/spark/marker"}])
def test_a_worker_that_does_not_see_the_scratch_folder_says_so(tmp_path, kept_umask, change):
    outcome = run_call(call(tmp_path, **change))
    assert "cannot read the scratch folder" in outcome.misfit
    assert "set engine.spark.scratch to a folder that driver and workers share" in outcome.misfit


@pytest.mark.slow
@needs_spark
def test_an_interrupted_run_ends_its_session_and_its_files(tmp_path):
    before = dict(os.environ), os.umask(0o022), signal.getsignal(signal.SIGINT)
    os.umask(before[1])
    with pytest.raises(KeyboardInterrupt), scratch_folder(tmp_path / "s") as folder, engine_in(folder) as engine:  # noqa: PT012
        process = java_process()
        threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT)).start()
        engine.run(tasks.hold, [str(folder)], [1])
    assert [path.name for path in (tmp_path / "s").iterdir()] == [".lock"]
    limit = time.monotonic() + 20
    while process.exists():
        assert time.monotonic() < limit
        time.sleep(0.1)
    mask = os.umask(before[1])
    assert (dict(os.environ), mask, signal.getsignal(signal.SIGINT)) == before
