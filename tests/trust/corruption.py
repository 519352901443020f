"""Damage to either side of a series: every command says a sentence, and nothing is published twice."""

import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from trust import shim
from trust.damage import Damage, Prepared, of_files, of_folders, of_logs
from trust.forked import command, each, reanon, run, scratch
from trust.judgement import Witness, problem_of, spoken, visible_releases
from trust.result import Fault, Result
from trust.small_series import BOXES, Shape, private, public, write


@dataclass(frozen=True)
class Case:
    """One damage to the prepared series."""

    prepared: Prepared
    damage: Damage


def prepare(base: Path, shape: Shape, *, with_log: bool) -> Prepared:
    """Publish two releases, and keep the folder before, between and after; also after a kill that left a log."""
    empty, first, latest = (base / name for name in ("empty", "first", "latest"))
    write(empty, shape)
    for before, after, release in ((empty, first, "r1"), (first, latest, "r2")):
        shutil.copytree(before, after)
        ended = reanon("publish", after / "series.yaml", "--release", release, "--quiet")
        if ended.code:
            raise RuntimeError(f"{release} cannot be published: {ended.err}")
    return Prepared(empty, first, latest, logged(base, first) if with_log else None)


def logged(base: Path, first: Path) -> Path | None:
    """A folder after a kill as soon as r2 was visible, with the store's log; None if no kill leaves that."""
    if not shim.is_loaded():
        return None
    low, high = 1, 512  # r2 is not visible after a kill at call `low`, and is after one at `high`
    folder = base / "logged"
    while high - low > 1:
        middle = (low + high) // 2
        killed_at(middle, first, folder)
        low, high = (low, middle) if (public(folder) / "r2").exists() else (middle, high)
    killed_at(high, first, folder)
    log = private(folder) / "store.duckdb.wal"
    return folder if log.exists() and log.stat().st_size else None


def killed_at(call: int, first: Path, folder: Path) -> None:
    """Publish r2 in a copy, and kill the process at a file call."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(first, folder)

    def work() -> int:
        shim.arm(folder, shim.KILL, call)
        return command("publish", folder / "series.yaml", "--release", "r2", "--quiet")()

    run(work)


def damaged(case: Case) -> list[Fault]:
    """Damage a copy, run every command, and look whether a release appears in a second version."""
    folder, damage = scratch(), case.damage
    base = case.prepared.logged if damage.after_kill else case.prepared.latest
    assert base is not None
    shutil.copytree(base, folder, dirs_exist_ok=True)
    witness = Witness(folder)
    witness.look("before")
    damage.act(folder)
    series, out = folder / "series.yaml", folder / "trace.parquet"
    runs = (
        ("status", series),
        ("validate", series),
        ("verify", public(folder)),
        ("trace", series, "--release", "r2", "--out", out),
        ("publish", series),
        ("audit", series, "--attack", "intersection"),
    )
    faults: list[Fault] = []
    for arguments in runs:
        was_whole = is_whole(witness)
        ended = reanon(*arguments)
        faults += spoken(arguments[0], ended, damage.name)
        is_repaired = not was_whole and is_whole(witness)
        if arguments[0] in damage.noticed_by and ended.code == 0 and not is_repaired:
            faults.append(Fault("silent", f"{damage.name}: {arguments[0]} exits with 0: {ended.last}"))
    # What was deleted or damaged before is not the product's doing: only another version is.
    after = Witness(folder, dict(witness.seen))
    after.look(damage.name)
    shutil.rmtree(folder)
    return faults + [fault for fault in after.faults if fault.kind == "second version" and not _meant(damage)]


def is_whole(witness: Witness) -> bool:
    """Whether everything that was visible before the damage is visible, and as it was."""
    visible = dict(visible_releases(witness.folder))
    return all(
        visible.get(release) == digest and problem_of(public(witness.folder) / release) is None
        for release, digest in witness.seen.items()
    )


def _meant(damage: Damage) -> bool:
    """Whether the damage itself is another manifest."""
    return "manifest.json:" in damage.name


def corruption(
    *, shape: Shape = BOXES, stride: int = 1, with_log: bool = True, workers: int = 2, seconds: float = 600.0
) -> Result:
    """Damage every file and folder of a series in every way, or in every `stride`-th."""
    result = Result(
        "corruption",
        "one file or folder of a series with two releases is changed, cut, deleted, added or linked; then status, "
        "validate, verify, trace, publish and audit run",
    )
    until, base = time.monotonic() + seconds, scratch()
    try:
        prepared = prepare(base, shape, with_log=with_log)
        kinds = (of_folders(prepared), of_logs(prepared), of_files(prepared.latest))
        damages = [damage for kind in kinds for damage in kind][::stride]
        result.planned = len(damages)
        random.Random(0).shuffle(damages)
        result.figures["a log after a kill could be damaged"] = "yes" if prepared.logged else "no: no kill leaves one"
        for found in each((Case(prepared, damage) for damage in damages), damaged, workers=workers, until=until):
            result.add(found)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return result
