"""A kill or an error at every file call of publishing, by the command and by the Dagster asset."""

import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trust import shim
from trust.forked import Ended, command, each, run, scratch
from trust.judgement import Witness, recovered, spoken
from trust.result import Fault, Result
from trust.small_series import RELEASES, Shape, write

COUNT = shim.Fault("count", shim.Mode.COUNT)


@dataclass(frozen=True)
class Stage:
    """A release about to be published: the folder before it, and by which way."""

    shape: Shape
    release: str
    prepared: Path
    by: str

    @property
    def following(self) -> str:
        """The release after it."""
        return RELEASES[RELEASES.index(self.release) + 1]

    @property
    def label(self) -> str:
        """What is published."""
        return f"{self.shape.name}, {self.release} by the {self.by}"

    def work(self, folder: Path) -> Callable[[], int]:
        """Publish the release of the series in this folder."""
        series = folder / "series.yaml"
        if self.by == "command":
            return command("publish", series, "--release", self.release, "--quiet")
        return lambda: materialized(series, self.release)


@dataclass(frozen=True)
class Trial:
    """One fault at one call of a stage."""

    stage: Stage
    fault: shim.Fault
    at: int


def materialized(series: Path, release: str) -> int:
    """Publish a release through the Dagster asset in this process; the exit code says whether the run succeeded."""
    import sys

    import dagster as dg
    from builders.assets import Maker

    with dg.DagsterInstance.ephemeral() as instance:
        result = Maker(series, instance, documented=True).make(release)
    failures = [event.step_failure_data for event in result.all_node_events if event.is_step_failure]
    for failure in failures:
        told = failure.user_failure_data
        sys.stderr.write(f"{told.description if told is not None else failure.error_display_string}\n")
    return 0 if result.success else 1


def stages(folder: Path, shape: Shape, by: str) -> Iterator[Stage]:
    """The first release, from a folder that holds snapshots only, and the second one."""
    first = folder / f"{shape.name}, {by}, empty"
    write(first, shape)
    yield Stage(shape, RELEASES[0], first, by)
    second = folder / f"{shape.name}, {by}, begun"
    shutil.copytree(first, second)
    ended = run(command("publish", second / "series.yaml", "--release", RELEASES[0], "--quiet"))
    if ended.code:
        raise RuntimeError(f"{shape.name} cannot be published without a fault: {ended.err}")
    yield Stage(shape, RELEASES[1], second, by)


def numbers_of_calls(stage: Stage, faults: tuple[shim.Fault, ...]) -> list[int]:
    """How many calls of a stage each fault could meet."""
    folder = scratch()
    shutil.copytree(stage.prepared, folder, dirs_exist_ok=True)

    def work() -> int:
        shim.arm(folder, COUNT)
        code = stage.work(folder)()
        print("calls:", *[shim.calls(fault.kinds) for fault in faults])
        return code

    ended = run(work)
    shutil.rmtree(folder)
    if ended.code:
        raise RuntimeError(f"{stage.label} cannot be published without a fault: {ended.err}")
    return [int(number) for number in ended.out.rpartition("calls:")[2].split()]


def tried(trial: Trial) -> list[Fault]:
    """Publish with the fault, then judge what is left."""
    stage, folder = trial.stage, scratch()
    shutil.copytree(stage.prepared, folder, dirs_exist_ok=True)
    series, witness = folder / "series.yaml", Witness(folder)
    when = f"{stage.label}: {trial.fault.name}, call {trial.at}"
    witness.look(f"{when}, before")

    def work() -> int:
        shim.arm(folder, trial.fault, trial.at)
        return stage.work(folder)()

    ended = run(work)
    witness.look(f"{when}, at once")
    faults = []
    if trial.fault.mode in {shim.Mode.FAIL_ONCE, shim.Mode.FAIL_ON}:
        faults = spoken("publish", ended, when) + true_to_the_state(ended, stage, witness, when)
    if trial.fault.mode is shim.Mode.FAIL_ON:
        faults += spoken("status", run(lambda: status_under(trial.fault, folder)), f"{when}, which goes on")
    faults += recovered(witness, series, stage.release, stage.following, when)
    shutil.rmtree(folder)
    return faults + witness.faults


def true_to_the_state(ended: Ended, stage: Stage, witness: Witness, when: str) -> list[Fault]:
    """Exit 0 means visible; a release that is visible although the command failed must be spoken of."""
    is_visible = stage.release in witness.seen
    if ended.code == 0 and not is_visible:
        return [Fault("wrong code", f"{when}: exit 0, and {stage.release} is not visible")]
    if ended.code and is_visible and "published" not in ended.err + ended.out:
        return [Fault("wrong code", f"{when}: exit {ended.code}, {stage.release} is visible, and: {ended.last}")]
    return []


def status_under(fault: shim.Fault, folder: Path) -> int:
    """`status` while the fault goes on."""
    shim.arm(folder, fault, 1)
    return command("status", folder / "series.yaml", "--quiet")()


def file_faults(
    shapes: tuple[Shape, ...],
    faults: tuple[shim.Fault, ...],
    *,
    by: str = "command",
    stride: int = 1,
    offset: int = 0,
    workers: int = 2,
    seconds: float = 600.0,
) -> Result:
    """Meet every `stride`-th file call of the first and of the second release with each fault."""
    names = " and ".join(shape.name for shape in shapes)
    which = f"one file call in {stride}" if stride > 1 else "every file call"
    how = f"{', '.join(fault.name for fault in faults)}; {names}; {which}"
    result = Result(f"file calls, by the {by}", how)
    if (reason := shim.why_not()) is not None:
        result.skipped = reason
        return result
    until, folder = time.monotonic() + seconds, scratch()
    try:
        trials = []
        for shape in shapes:
            for stage in stages(folder, shape, by):
                for fault, calls in zip(faults, numbers_of_calls(stage, faults), strict=True):
                    result.figures[f"{stage.label}: calls ({fault.name})"] = calls
                    trials += [Trial(stage, fault, at) for at in range(1 + offset % stride, calls + 1, stride)]
        result.planned = len(trials)
        random.Random(0).shuffle(trials)  # so that a run that is cut short has met calls of every stage
        for found in each(trials, tried, workers=workers, until=until):
            result.add(found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result
