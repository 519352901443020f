"""Several processes at once, a clock that goes back, and a snapshot that changes while it is read."""

import os
import random
import shutil
import time
from pathlib import Path

import pandas as pd

from trust import shim
from trust.forked import Ended, Running, command, each, reanon, run, scratch, start
from trust.judgement import Witness, recovered, spoken, visible_releases
from trust.result import Fault, Result
from trust.small_series import BOXES, RELEASES, public, snapshots, write

MEANWHILE = ("meantime", "another process", "frozen", "at once", "meanwhile", "is published", "already")
"""What a command says that came second."""


def races(*, rounds: int = 10, processes: int = 4, seed: int = 0, workers: int = 1, seconds: float = 600.0) -> Result:
    """Publish in several processes at once, with status, verify and audit beside them."""
    result = Result("races", f"{processes} processes publish the same release while status, verify and audit run")
    result.planned = rounds
    until = time.monotonic() + seconds
    tasks = [(seed + number, processes) for number in range(rounds)]
    for found in each(tasks, raced, workers=workers, until=until):
        result.add(found)
    return result


def raced(task: tuple[int, int]) -> list[Fault]:
    """One race for each of two releases, the first from an empty folder."""
    seed, processes = task
    chance, folder = random.Random(seed), scratch()
    series, witness, faults = write(folder, BOXES), Witness(folder), []
    for release in RELEASES[:2]:
        when = f"race {seed} for {release}"
        running: list[tuple[str, Running]] = []
        for _ in range(processes):
            running.append(("publish", start(command("publish", series, "--release", release, "--quiet"))))
            other = chance.choice([("status", series), ("verify", public(folder)), ("audit", series)])
            extra = ("--attack", "intersection", "--quiet") if other[0] == "audit" else ("--quiet",)
            running.append((other[0], start(command(*other, *extra))))
            time.sleep(chance.random() * 0.15)
        while any(not one.poll() for _, one in running):
            witness.look(f"{when}, during")
            time.sleep(0.01)
        ended = [(what, one.wait()) for what, one in running]
        for what, one in ended:
            faults += spoken(what, one, when) + second_is_told(what, one, when, release)
        if not any(what == "publish" and one.code == 0 for what, one in ended):
            faults.append(Fault("bricked", f"{when}: no process published it: {ended[0][1].last}"))
    faults += recovered(witness, series, RELEASES[1], RELEASES[2], f"race {seed}")
    shutil.rmtree(folder)
    return faults + witness.faults


def second_is_told(what: str, ended: Ended, when: str, release: str) -> list[Fault]:
    """A command that meets another one works, or says so; before the first release there is nothing to verify."""
    if ended.code == 0 or (release == RELEASES[0] and what != "publish"):
        return []
    if any(word in ended.err for word in MEANWHILE):
        return []
    return [Fault("wrong code", f"{when}: {what} ends with {ended.code}: {ended.last}")]


MONTHS = ("2024-01", "2024-02", "2024-03")
SHIFTS = (-40 * 365, -700, -1, 1, 365)
"""Days by which the clock is wrong."""


def clocks(*, shifts: tuple[int, ...] = SHIFTS, seconds: float = 300.0) -> Result:
    """A monthly series whose clock is wrong in the middle."""
    result = Result(
        "clock", f"the clock is wrong by {', '.join(map(str, shifts))} days for the second of three releases"
    )
    if (reason := shim.why_not()) is not None:
        result.skipped = reason
        return result
    result.planned = len(shifts)
    for found in each(shifts, clock_moved, workers=2, until=time.monotonic() + seconds):
        result.add(found)
    return result


def clock_moved(days: int) -> list[Fault]:
    """Publish, move the clock, run every command, move it back and go on."""
    folder = scratch()
    series, witness = write(folder, BOXES, MONTHS), Witness(folder)
    text = series.read_text().replace(f"names: [{', '.join(MONTHS)}]", f"cadence: monthly, first: {MONTHS[0]}")
    series.write_text(text)
    when = f"clock moved by {days} days"
    faults = spoken("publish", reanon("publish", series, "--quiet"), when)
    witness.look(when)

    def moved(*arguments: object) -> Ended:
        def work() -> int:
            shim.shift_clock(days * 86400)
            return command(*arguments)()

        return run(work)

    for arguments in (("status", series), ("publish", series), ("verify", public(folder)), ("validate", series)):
        ended = moved(*arguments, "--quiet")
        faults += spoken(arguments[0], ended, when)
        witness.look(f"{when}, {arguments[0]}")
    done = [name for name, _ in visible_releases(folder)]
    following = MONTHS[len(done)]
    faults += recovered(witness, series, done[-1], following, f"{when} and back")
    shutil.rmtree(folder)
    return faults + witness.faults


def swapped_snapshots(*, rounds: int = 12, seed: int = 0, seconds: float = 300.0) -> Result:
    """Replace the snapshot again and again while it is read and published."""
    result = Result("snapshot swapped while it is read", "two versions take turns, by a rename or by writing over it")
    result.planned = rounds
    tasks = [(seed + number, number % 2 == 0) for number in range(rounds)]
    counts = {"published": 0, "refused": 0}
    for found, published in each(tasks, swapped, workers=1, until=time.monotonic() + seconds):
        result.add(found)
        counts["published" if published else "refused"] += 1
    result.figures |= counts
    return result


def swapped(task: tuple[int, bool]) -> tuple[list[Fault], bool]:
    """Publish r2 while its snapshot changes; what is published is one version or the other, never a mixture."""
    seed, by_rename = task
    folder, chance = scratch(), random.Random(seed)
    series, witness = write(folder, BOXES, size=240), Witness(folder)
    when = f"snapshot swapped {'by a rename' if by_rename else 'by writing over it'}, round {seed}"
    faults = spoken("publish", reanon("publish", series, "--quiet"), when)
    target, versions = folder / "snapshots" / "r2.csv", []
    right = snapshots(BOXES, size=240)["r2"]
    for number, frame in enumerate((right, pd.concat([right.iloc[::-1].iloc[36:]]))):
        version = folder / f"version-{number}.csv"
        frame.to_csv(version, index=False)
        versions.append(version.read_bytes())
    running = start(command("publish", series, "--quiet"))
    number = 0
    while not running.poll():
        number += 1
        content = versions[number % 2]
        if by_rename:
            beside = target.with_suffix(".new")
            beside.write_bytes(content)
            beside.rename(target)
        else:
            with target.open("wb", buffering=0) as file:
                half = chance.randrange(len(content))
                file.write(content[:half])
                os.sched_yield()
                file.write(content[half:])
        time.sleep(chance.random() * 0.004)
    ended = running.wait()
    faults += spoken("publish", ended, when)
    witness.look(when)
    published = "r2" in witness.seen
    if published:
        faults += not_a_mixture(folder, series, versions, when)
    target.write_bytes(versions[0])
    if not published:
        faults += recovered(witness, series, "r2", "r3", when)
    shutil.rmtree(folder)
    return faults + witness.faults, published


def not_a_mixture(folder: Path, series: Path, versions: list[bytes], when: str) -> list[Fault]:
    """One of the two versions is what was published: `trace` reads it again, and refuses any other."""
    said = []
    for number, version in enumerate(versions):
        (folder / "snapshots" / "r2.csv").write_bytes(version)
        ended = reanon("trace", series, "--release", "r2", "--out", folder / f"trace-{number}.parquet")
        if ended.code == 0:
            return []
        said.append(ended.last)
    return [Fault("silent", f"{when}: r2 is neither version of its snapshot: {said[0]}")]
