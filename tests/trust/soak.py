"""A soak: random commands on a few series, each killed now and then, and a full audit of every series at the end."""

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from trust import shim
from trust.forked import command, each, reanon, run, scratch, start
from trust.judgement import Witness, spoken, working
from trust.result import Fault, Result
from trust.small_series import BOXES, DECOUPLED, MONDRIAN, SEQUENTIAL, Shape, public, write

RELEASES = tuple(f"r{number}" for number in range(1, 41))
LONG = (BOXES, DECOUPLED, MONDRIAN, Shape("sequential", SEQUENTIAL.technique, grows=True))


def soak(*, minutes: float = 2.0, seed: int = 0, shapes: tuple[Shape, ...] = LONG) -> Result:
    """Run random commands with random kills for so many minutes, then audit."""
    result = Result("soak", f"{minutes:g} minutes of random commands on {len(shapes)} series, half of them killed")
    until = time.monotonic() + 60 * minutes
    tasks = [(shape, seed + number, until) for number, shape in enumerate(shapes)]
    kills = releases = 0
    for faults, runs, killed, published in each(tasks, soaked, workers=len(shapes)):
        result.add(faults, runs=runs)
        kills, releases = kills + killed, releases + published
    result.figures |= {"commands": result.runs, "kills": kills, "releases": releases}
    result.planned = result.runs
    return result


def soaked(task: tuple[Shape, int, float]) -> tuple[list[Fault], int, int, int]:
    """One series: its faults, and the numbers of commands, kills and releases."""
    shape, seed, until = task
    chance, folder = random.Random(seed), scratch()
    series, witness = write(folder, shape, RELEASES), Witness(folder)
    faults: list[Fault] = []
    runs = kills = 0
    while time.monotonic() < until and not faults and len(witness.seen) < len(RELEASES) - 1:
        runs += 1
        arguments = chosen(chance, series, folder, runs)
        what = str(arguments[0])
        when = f"{shape.name}, seed {seed}, command {runs}"
        killed = chance.random() < 0.5
        if killed and shim.is_loaded() and chance.random() < 0.7:
            at = chance.randrange(1, 130)
            ended = run(armed(folder, at, arguments))
        elif killed:
            running = start(command(*arguments, "--quiet"))
            time.sleep(chance.random() * 0.5)
            running.kill()
            ended = running.wait()
        else:
            ended = reanon(*arguments, "--quiet")
        kills += ended.code < 0
        if ended.code >= 0:
            faults += spoken(what, ended, when)
            if ended.code and not (what in {"trace", "verify"} and not witness.seen):
                faults.append(Fault("bricked", f"{when}: {what} ends with {ended.code}: {ended.last}"))
        witness.look(when)
    when = f"{shape.name}, seed {seed}, at the end"
    faults += working(when, "publish", series, "--quiet")
    witness.look(when)
    faults += working(when, "verify", public(folder), "--quiet")
    faults += working(when, "audit", series, "--attack", "intersection", "--quiet")
    shutil.rmtree(folder)
    return faults + witness.faults, runs, kills, len(witness.seen)


def chosen(chance: random.Random, series: Path, folder: Path, number: int) -> tuple[object, ...]:
    """A command, most often one that publishes."""
    published = sorted(path.name for path in public(folder).glob("r*")) if public(folder).is_dir() else []
    read: list[tuple[object, ...]] = [("status", series), ("validate", series), ("publish", series, "--dry-run")]
    if published:
        read += [("verify", public(folder)), ("audit", series, "--attack", "intersection")]
        release = chance.choice(published)
        read.append(("trace", series, "--release", release, "--out", folder / f"trace-{number}.parquet"))
    return ("publish", series) if chance.random() < 0.6 else chance.choice(read)


def armed(folder: Path, at: int, arguments: tuple[object, ...]) -> Callable[[], int]:
    """The command, killed at a file call."""

    def work() -> int:
        shim.arm(folder, shim.KILL, at)
        return command(*arguments, "--quiet")()

    return work
