"""The leak scan: every surface that someone else than the steward may see, searched for every private text."""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from trust import shim
from trust.forked import Ended, command, each, run, scratch
from trust.needles import SEED, Needle, found_in, key_of, needles, readable
from trust.result import Fault, Result
from trust.small_series import RELEASES, TECHNIQUES, Shape, private, public, write

STARTED = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.putenv")
"""What Python reports when a process is started or an environment is changed."""
REACHED = ("socket.connect", "socket.bind", "socket.sendto")


def leak_scan(
    *, shapes: tuple[Shape, ...] = TECHNIQUES, with_dagster: bool = True, workers: int = 2, seconds: float = 600.0
) -> Result:
    """Publish with each technique, by the command and by the assets, and search everything that is not private."""
    result = Result(
        "leak scan",
        "published files, output of all commands, Dagster's storage and log, Data Docs, temporary files (also deleted "
        "ones), arguments and environment of started processes, and connections; searched for ids, rows, pseudonyms "
        "in six spellings, the key and the seed",
    )
    ways = ("command", "asset") if with_dagster else ("command without Data Docs",)
    tasks = [(shape, by) for shape in shapes for by in ways]
    result.planned = len(tasks)
    for found, surfaces, searched in each(tasks, scanned, workers=workers, until=time.monotonic() + seconds):
        result.add(found)
        for name, amount in (("surfaces", surfaces), ("bytes", searched)):
            result.figures[name] = int(result.figures.get(name, 0)) + amount
    return result


def scanned(task: tuple[Shape, str]) -> tuple[list[Fault], int, int]:
    """One technique by one way: the faults, and how many surfaces of how many bytes were searched."""
    shape, by = task
    folder, temporary = scratch(), scratch()
    try:
        write(folder, shape)
        by_way = {"asset": by_assets, "command": by_commands, "command without Data Docs": by_commands}[by]
        surfaces = list(by_way(folder, temporary, documented="without" not in by))
        secrets = needles(folder)
        surfaces += [(str(path.relative_to(folder)), readable(path)) for path in files(public(folder))]
        surfaces += [(f"names of {path.name}", str(path).encode()) for path in files(public(folder))]
        faults = control(folder, secrets)
        for name, content in surfaces:
            faults += [
                Fault("leak", f"{shape.name} by the {by}: {kind} in {name}")
                for kind in sorted(found_in(secrets, content))
            ]
        return faults, len(surfaces), sum(len(content) for _, content in surfaces)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(temporary, ignore_errors=True)


def files(folder: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def control(folder: Path, secrets: list[Needle]) -> list[Fault]:
    """The search finds what is there: ids in a snapshot, the key and pseudonyms in the private folder."""
    snapshot = found_in(secrets, (folder / "snapshots" / "r1.csv").read_bytes())
    assert {"id", "row"} <= snapshot, snapshot
    if key_of(folder) is not None:
        inside = found_in(secrets, b"".join(path.read_bytes() for path in files(private(folder))))
        assert "key" in inside, inside
    return []


def by_commands(folder: Path, temporary: Path, *, documented: bool) -> Iterator[tuple[str, bytes]]:
    """What the commands say and leave."""
    series = folder / "series.yaml"
    broken = folder / "snapshots" / "r3.csv"
    right = broken.read_bytes()
    runs: list[tuple[object, ...]] = [
        ("validate", series),
        ("publish", series, "--dry-run"),
        ("publish", series, "--release", "r1", "--seed", SEED),
        ("publish", series, "--release", "r2", *(("--data-docs",) if documented else ())),
        ("publish", series, "--release", "r1"),
        ("status", series),
        ("audit", series, "--attack", "intersection", "--json", folder / "audit.json"),
        ("verify", public(folder)),
        ("trace", series, "--release", "r2", "--out", folder / "trace.parquet"),
    ]
    for arguments in runs:
        yield from observed(" ".join(map(str, arguments[:1])), command(*arguments), temporary)
    broken.write_bytes(right + right.splitlines(keepends=True)[1])  # a person twice
    for arguments in (("validate", series), ("publish", series, "--release", "r3"), ("status", series)):
        yield from observed(f"{arguments[0]} of a wrong snapshot", command(*arguments), temporary)
    broken.write_bytes(right)
    yield from observed("publish", command("publish", series, "--release", "r3"), temporary)
    yield "audit.json", (folder / "audit.json").read_bytes()
    for path in files(private(folder)):
        if path.suffix in {".html", ".json", ".css", ".js"}:
            yield f"private page {path.name}", path.read_bytes()


def by_assets(folder: Path, temporary: Path, *, documented: bool) -> Iterator[tuple[str, bytes]]:
    """What Dagster stores and logs, on an instance on disk in the temporary folder."""

    def work() -> int:
        import dagster as dg
        from builders.assets import Maker

        with dg.DagsterInstance.local_temp(str(temporary)) as instance:
            maker = Maker(folder / "series.yaml", instance, loud=True, documented=True)
            ended = [maker.make(release).success for release in RELEASES[:2]]
            snapshot = folder / "snapshots" / "r3.csv"
            right = snapshot.read_bytes()
            snapshot.write_bytes(right + right.splitlines(keepends=True)[1])
            ended += [not maker.make("r3").success]
            snapshot.write_bytes(right)
            ended += [maker.make("r3").success]
            # Also what the API answers, which Dagster keeps packed.
            for run_ in instance.get_runs():
                print(json.dumps([str(record) for record in instance.all_logs(run_.run_id)]))
        return 0 if all(ended) else 1

    yield from observed("Dagster", work, temporary)


def observed(name: str, work: Callable[[], int], temporary: Path) -> Iterator[tuple[str, bytes]]:
    """Run in a child: what it said, what it wrote to the temporary folder, and what it started and reached."""
    record, calls = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115

    def watched() -> int:
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event in STARTED or event in REACHED:
                os.write(calls.fileno(), f"{event} {arguments!r}\n".encode())

        sys.addaudithook(hook)
        if shim.is_loaded():
            shim.arm(temporary, shim.Fault("record", shim.Mode.RECORD), log=record.fileno())
        return work()

    ended: Ended = run(watched, patience=180.0)
    yield f"output of {name}", (ended.out + ended.err).encode()
    for what, file in (("temporary files of", record), ("processes and connections of", calls)):
        file.seek(0)
        yield f"{what} {name}", file.read()
        file.close()
    for path in files(temporary):
        yield f"temporary {path.name} of {name}", path.read_bytes()
