"""A thousand releases of one series, and sixty-four series: what a release costs, and what grows."""

import os
import resource
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from builders.series import people

from trust.forked import Ended, command, each, reanon, run, scratch
from trust.judgement import spoken, visible_releases
from trust.result import Fault, Result
from trust.small_series import BOXES, NAME, private, public

AUDITED = 300
"""The number of releases at which an audit is timed."""


def names(count: int) -> list[str]:
    """The last days before today; days, because a long list of names would be read with every release."""
    first = datetime.now(UTC).date() - timedelta(days=count + 1)
    return [(first + timedelta(days=number)).isoformat() for number in range(count)]


def write_daily(folder: Path, count: int, size: int, name: str = NAME) -> Path:
    """A daily series of a few people, of whom some leave and some return."""
    everyone = people(size)
    (folder / "snapshots").mkdir(parents=True)
    for number, day in enumerate(names(count)):
        absent = range(number % 3 * 6, number % 3 * 6 + 6)
        everyone.drop(index=list(absent)).to_csv(folder / "snapshots" / f"{day}.csv", index=False)
    text = BOXES.text().replace("names: [r1, r2, r3]", f"cadence: daily, first: {names(count)[0]}")
    path = folder / "series.yaml"
    path.write_text(text.replace(f"series: {NAME}", f"series: {name}"))
    return path


def cpu_seconds(*arguments: object) -> tuple[Ended, float]:
    """Run a command in a child, and give its CPU time without the imports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = run(command(*arguments), patience=300.0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def many_releases(*, count: int = 1000, size: int = 24, seconds: float = 900.0) -> Result:
    """Publish so many releases one after the other in one process, and time each."""
    result = Result(
        f"{count:,} releases of one series",
        f"{size} people, one process, CPU seconds of `publish` for each release; audit in a process of its own",
    )
    result.planned, until, folder = count, time.monotonic() + seconds, scratch()
    try:
        series, cost = write_daily(folder, count, size), []
        while len(cost) < count and time.monotonic() < until:
            batch = names(count)[len(cost) : len(cost) + 100]
            done, faults = next(each([(series, batch, until)], publish_batch, workers=1))
            cost += done
            result.add(faults, runs=len(done))
            result.figures[f"store after {len(cost)} releases (KB)"] = size_of(private(folder)) // 1024
            if faults:
                break
            if len(cost) == AUDITED:
                result.figures[f"audit at {AUDITED} releases (CPU s)"] = audited(series, result)
        if len(cost) >= 20:
            tenth = max(10, len(cost) // 10)
            first, last = median(cost[1:tenth]), median(cost[-tenth:])
            result.figures |= {
                f"CPU s of a release, median of the first {tenth}": round(first, 4),
                f"CPU s of a release, median of the last {tenth}": round(last, 4),
                "growth of the cost of a release": round(last / first, 2),
            }
        result.add(spoken("verify", reanon("verify", public(folder), "--quiet"), "at the end"), runs=0)
        visible = len(list(visible_releases(folder)))
        if visible != len(cost):
            result.add([Fault("lost", f"{len(cost)} releases were published and {visible} are visible")], runs=0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def audited(series: Path, result: Result) -> float:
    """The CPU seconds of a full audit."""
    ended, cost = cpu_seconds("audit", series, "--quiet")
    result.add(spoken("audit", ended, "full audit"), runs=0)
    if ended.code:
        result.add([Fault("bricked", f"audit ends with {ended.code}: {ended.last}")], runs=0)
    return round(cost, 2)


def publish_batch(task: tuple[Path, list[str], float]) -> tuple[list[float], list[Fault]]:
    """Publish these releases in this process, and give the CPU seconds of each."""
    from reanon_dagster.cli import main

    series, releases, until = task
    quiet, cost = os.open(os.devnull, os.O_WRONLY), []
    os.dup2(quiet, 1)
    for release in releases:
        if time.monotonic() > until:
            break
        began = time.process_time()
        code = main(["publish", str(series), "--release", release, "--quiet"])
        cost.append(time.process_time() - began)
        if code:
            return cost, [Fault("bricked", f"publish of {release} ends with {code}")]
    return cost, []


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def many_series(*, count: int = 64, releases: int = 2, workers: int = 2, seconds: float = 300.0) -> Result:
    """Publish many series side by side, then ask for the status of all."""
    how = f"{releases} releases each, {workers} processes at a time; then one `status` of all"
    result = Result(f"{count} series", how)
    result.planned, base = count, scratch()
    try:
        tasks = [(base / f"s{number:02d}", f"s{number:02d}", releases) for number in range(count)]
        for found in each(tasks, publish_one_of_many, workers=workers, until=time.monotonic() + seconds):
            result.add(found)
        os.environ["REANON_SERIES"] = os.pathsep.join(str(folder) for folder, _, _ in tasks if folder.exists())
        ended, cost = cpu_seconds("status")
        del os.environ["REANON_SERIES"]
        _, without = cpu_seconds("status")  # the series of this repository are found too
        result.add(spoken("status", ended, "status of all series"), runs=0)
        result.figures["status of all series (CPU s)"] = round(max(0.0, cost - without), 2)
        missing = [name for folder, name, _ in tasks if folder.exists() and name not in ended.out]
        if missing:
            result.add([Fault("lost", f"status does not name {len(missing)} series")], runs=0)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return result


def publish_one_of_many(task: tuple[Path, str, int]) -> list[Fault]:
    """Publish one series."""
    folder, name, releases = task
    series = write_daily(folder, releases, 24, name)
    faults = []
    ended = reanon("backfill", series, "--quiet")
    faults += spoken("backfill", ended, name)
    visible = [path for path in (folder / "published" / name).iterdir() if (path / "manifest.json").exists()]
    if ended.code or len(visible) != releases:
        faults.append(Fault("bricked", f"{name}: backfill ends with {ended.code}: {ended.last}"))
    return faults
