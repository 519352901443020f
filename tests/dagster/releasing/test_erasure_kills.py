"""A kill at every step of forgetting a person and of withdrawing a release."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from builders.series import people, write_series

from reanon_dagster import open_series
from reanon_dagster.cli import main
from reanon_dagster.releasing.erasure import pseudonym

SOMEONE = "Zacharias-000007"
STEPS = frozenset({"execute", "begin", "commit", "rollback", "fsync", "replace", "rename", "unlink", "link"})
"""The calls that change files."""


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Do the work in another process that kills itself before its n-th step; whether it got that far."""
    child = os.fork()
    if not child:
        seen = 0

        def count(_: FrameType, event: str, called: object) -> None:
            nonlocal seen
            if event == "c_call" and getattr(called, "__name__", "") in STEPS:
                seen += 1
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    series = write_series(folder, snapshots={"r1": people(60), "r2": people(66), "r3": people(72)})
    assert main(["backfill", str(series), "--to", "r2", "--quiet"]) == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", ["forget", "withdraw"])
def test_a_kill_at_any_step_leaves_a_series_that_the_next_command_finishes(
    command: str, prepared: Path, tmp_path: Path
) -> None:
    step, stride = 1, 5 if command == "forget" else 2
    while True:
        folder = tmp_path / str(step)
        shutil.copytree(prepared, folder)
        path = folder / "series.yaml"

        def work(path: Path = path) -> None:
            own = open_series(path)
            if command == "forget":
                own.forget(SOMEONE)
            else:
                own.withdraw("r2", because="b")

        killed = killed_at(step, work)
        assert main(["status", str(path), "--quiet"]) == 0
        work()
        private, published = folder / "private" / "clinic", folder / "published" / "clinic"
        if command == "forget":
            person = pseudonym(SOMEONE, (private / "pseudonym.key").read_bytes())
            for file in private.rglob("*.*"):
                assert person.to_bytes(8, "little", signed=True) not in file.read_bytes()
            assert len(list(private.glob("*store*"))) == 1
        else:
            assert sorted(one.name for one in (published / "r2").iterdir()) == ["manifest.json", "withdrawn.json"]
        if not killed:
            assert step > stride
            assert main(["publish", str(path), "--quiet"]) == 0
            assert main(["audit", str(path), "--quiet", "--attack", "intersection"]) == 0
            return
        shutil.rmtree(folder)
        step += stride
