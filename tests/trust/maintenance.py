"""A kill at every file call of the commands that change a series without publishing: a second try finishes each."""

import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from reanon_dagster.backup.encrypted_file import Stretching
from reanon_dagster.commands import backup
from trust import shim
from trust.file_faults import COUNT
from trust.forked import command, each, reanon, run, scratch
from trust.judgement import ATTACK, spoken, working
from trust.result import Fault, Result
from trust.small_series import BOXES, RELEASES, private, public, snapshots, write

PASSPHRASE = "REANON_BACKUP_PASSPHRASE"
BACKUP = "saved.backup"


@dataclass(frozen=True)
class Work:
    """One command on a series with two releases."""

    name: str
    arguments: Callable[[Path], tuple[object, ...]]
    prepared: Callable[[Path], None] = lambda _: None
    again: Callable[[Path], tuple[object, ...]] | None = None
    """The second try, where it differs."""


@dataclass(frozen=True)
class Trial:
    """A kill at one call of one command."""

    work: Work
    prepared: Path
    at: int


def series_in(folder: Path) -> Path:
    """The series file of a folder."""
    return folder / "series.yaml"


def first_person() -> str:
    """The id of a person who is in the first snapshot."""
    return str(snapshots(BOXES)[RELEASES[0]]["patient"].iloc[0])


def damaged(folder: Path) -> None:
    """Change a published table, and lose a head file."""
    (public(folder) / RELEASES[0] / "table.csv").write_text("x")
    (private(folder) / "head.json").unlink()


def saved_and_lost(folder: Path) -> None:
    """Back the private folder up, and lose it."""
    ended = run(command("backup", series_in(folder), "--out", folder / BACKUP, "--quiet"))
    if ended.code:
        raise RuntimeError(f"no backup could be made without a fault: {ended.err}")
    shutil.rmtree(private(folder))


WORKS = (
    Work("withdraw", lambda f: ("withdraw", series_in(f), "--release", RELEASES[1], "--because", "a mistake")),
    Work("forget", lambda f: ("forget", series_in(f), "--id", first_person())),
    Work("doctor", lambda f: ("doctor", series_in(f)), damaged),
    Work(
        "backup",
        lambda f: ("backup", series_in(f), "--out", f / BACKUP),
        again=lambda f: ("backup", series_in(f), "--out", f / f"second-{BACKUP}"),
    ),
    Work("restore", lambda f: ("restore", series_in(f), "--from", f / BACKUP), saved_and_lost),
)


def maintenance(*, stride: int = 1, workers: int = 2, seconds: float = 600.0) -> Result:
    """Kill each command at every `stride`-th file call, and try it again."""
    names = ", ".join(work.name for work in WORKS)
    result = Result("maintenance", f"kill -9 before the call; {names}; then the same command once more")
    if (reason := shim.why_not()) is not None:
        result.skipped = reason
        return result
    until, folder = time.monotonic() + seconds, scratch()
    trials = []
    quickly = mock.patch.object(backup, "STRETCHING", Stretching(n=4, r=1, p=1))  # a kill meets files, not arithmetic
    with quickly, mock.patch.dict(os.environ, {PASSPHRASE: "a passphrase of the trust run"}):
        for work in WORKS:
            prepared = folder / work.name
            begin_series(prepared)
            work.prepared(prepared)
            calls = number_of_calls(work, prepared)
            result.figures[f"{work.name}: calls"] = calls
            trials += [Trial(work, prepared, at) for at in range(1, calls + 1, stride)]
        result.planned = len(trials)
        random.Random(0).shuffle(trials)
        for found in each(trials, tried, workers=workers, until=until):
            result.add(found)
    shutil.rmtree(folder, ignore_errors=True)
    return result


def begin_series(folder: Path) -> None:
    """A series with two releases."""
    write(folder, BOXES)
    for release in RELEASES[:2]:
        ended = reanon("publish", series_in(folder), "--release", release, "--quiet")
        if ended.code:
            raise RuntimeError(f"{release} cannot be published without a fault: {ended.err}")


def number_of_calls(work: Work, prepared: Path) -> int:
    """How many file calls the command makes."""
    folder = scratch()
    shutil.copytree(prepared, folder, dirs_exist_ok=True)

    def counted() -> int:
        shim.arm(folder, COUNT)
        code = command(*work.arguments(folder), "--quiet")()
        print("calls:", shim.calls())
        return code

    ended = run(counted)
    shutil.rmtree(folder)
    if ended.code:
        raise RuntimeError(f"{work.name} fails without a fault: {ended.err}")
    return int(ended.out.rpartition("calls:")[2])


def tried(trial: Trial) -> list[Fault]:
    """Kill the command at the call; then it must work, and the series must go on."""
    work, folder = trial.work, scratch()
    shutil.copytree(trial.prepared, folder, dirs_exist_ok=True)
    when = f"{work.name}: kill -9 before call {trial.at}"

    def killed() -> int:
        shim.arm(folder, shim.KILL, trial.at)
        return command(*work.arguments(folder), "--quiet")()

    run(killed)
    faults = spoken("status", reanon("status", series_in(folder), "--quiet"), when)
    faults += working(when, *(work.again or work.arguments)(folder), "--quiet")
    faults += working(when, "publish", series_in(folder), "--release", RELEASES[2], "--quiet")
    faults += working(when, "verify", public(folder), "--quiet")
    faults += working(when, "audit", series_in(folder), "--attack", ATTACK, "--quiet")
    if work.name == "forget" and first_person() in everything_private(folder):
        faults.append(Fault("leak", f"{when}: the private folder still has the person's id"))
    shutil.rmtree(folder)
    return faults


def everything_private(folder: Path) -> str:
    """The private files as one text."""
    return "".join(path.read_bytes().decode("latin-1") for path in private(folder).rglob("*") if path.is_file())
