"""A power cut at every change of names and before every flush: what was not flushed is gone, and the series goes on."""

import os
import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from trust import shim
from trust.disk_model import Disk, cut_points, lay_out, recorded_calls
from trust.file_faults import Stage, stages
from trust.forked import each, run, scratch
from trust.judgement import Witness, recovered
from trust.result import Fault, Result
from trust.small_series import Shape, public

RECORD = shim.Fault("record", shim.Mode.RECORD)
VARIANTS = {
    "nothing": "nothing that was not flushed survives",
    "names": "all names survive, no content that was not flushed",
    "random": "names up to a random one survive, and a random half of the writes",
}


@dataclass(frozen=True)
class Cut:
    """A power cut after so many calls of a recorded run."""

    stage: Stage
    log: bytes
    root: Path
    after: int
    variant: str
    seed: int


def recorded(stage: Stage) -> tuple[Path, bytes, dict[str, bytes | None]]:
    """Publish once, and give where that was, the calls as a log, and what the folder holds then."""
    folder = scratch()
    shutil.copytree(stage.prepared, folder, dirs_exist_ok=True)
    with tempfile.TemporaryFile() as log:

        def work() -> int:
            os.set_inheritable(log.fileno(), True)
            shim.arm(folder, RECORD, log=log.fileno())
            return stage.work(folder)()

        ended = run(work)
        if ended.code:
            raise RuntimeError(f"{stage.label} cannot be recorded: {ended.err}")
        log.seek(0)
        content = log.read()
    there = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    there |= {str(path.relative_to(folder)): None for path in folder.rglob("*") if path.is_dir()}
    shutil.rmtree(folder)
    return folder, content, there


def require_the_model_is_right(stage: Stage, root: Path, log: bytes, there: dict[str, bytes | None]) -> int:
    """The model with all calls must be the folder, byte for byte; gives the number of calls."""
    disk, calls = Disk.of(stage.prepared), recorded_calls(log, root)
    for call in calls:
        disk.apply(call)
    image = disk.image("all", random.Random(0))
    different = {path for path in image.keys() | there.keys() if image.get(path, "") != there.get(path, "")}
    if different:
        raise RuntimeError(f"the model of the disk differs from the disk: {sorted(different)[:5]}")
    return len(calls)


def cut_short(cut: Cut) -> list[Fault]:
    """Lay out what the disk holds after the cut, and judge it."""
    disk, chance = Disk.of(cut.stage.prepared), random.Random(cut.seed)
    for call in recorded_calls(cut.log, cut.root)[: cut.after]:
        disk.apply(call)
    when = f"{cut.stage.label}: power cut after call {cut.after}, {VARIANTS[cut.variant]}"
    folder = scratch()
    witness = Witness(folder)
    # What was visible before the cut may have been downloaded.
    lay_out(disk.image("all", chance), folder)
    witness.look(f"{when}, before")
    shutil.rmtree(folder)
    folder.mkdir()
    lay_out(disk.image(cut.variant, chance), folder)
    visible_before = dict(witness.seen)
    for release in list(witness.seen):  # a release whose rename was not flushed may come back later
        if not (public(folder) / release).is_dir():
            del witness.seen[release]
    witness.look(f"{when}, at once")
    witness.seen |= visible_before
    faults = recovered(witness, folder / "series.yaml", cut.stage.release, cut.stage.following, when)
    shutil.rmtree(folder)
    return faults + witness.faults


def power_cuts(
    shapes: tuple[Shape, ...],
    *,
    variants: tuple[str, ...] = tuple(VARIANTS),
    stride: int = 1,
    seed: int = 0,
    workers: int = 2,
    seconds: float = 600.0,
) -> Result:
    """Cut the power at every `stride`-th point of the first and of the second release."""
    result = Result("power cuts", "; ".join(VARIANTS[variant] for variant in variants))
    if (reason := shim.why_not()) is not None:
        result.skipped = reason
        return result
    until, folder, cuts = time.monotonic() + seconds, scratch(), []
    try:
        for shape in shapes:
            for stage in stages(folder, shape, "command"):
                root, log, there = recorded(stage)
                result.figures[f"{stage.label}: calls"] = require_the_model_is_right(stage, root, log, there)
                points = sorted(set(cut_points(recorded_calls(log, root))))[seed % stride :: stride]
                cuts += [
                    Cut(stage, log, root, after, variant, seed + number)
                    for number, after in enumerate(points)
                    for variant in variants
                ]
        result.planned = len(cuts)
        random.Random(0).shuffle(cuts)  # so that a run that is cut short has cut everywhere
        for found in each(cuts, cut_short, workers=workers, until=until):
            result.add(found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result
