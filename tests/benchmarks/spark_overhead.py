"""What Spark costs beside the tasks: the CPU seconds of a session, and of each task. See docs/performance.md.

    PYTHONPATH=.:tests python tests/benchmarks/spark_overhead.py [--tasks N]

The session runs on two cores of this machine. CPU seconds are those of this process and of all that Spark starts.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from builders import tasks
from builders.spark import engine_in

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """The CPU seconds of this process and of those that it has started, directly or not."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        used[int(entry.name)] = sum(map(int, fields[11:15]))  # with children that have ended
    waiting, total = [os.getpid()], 0
    while waiting:
        number = waiting.pop()
        total += used.get(number, 0)
        waiting += children.get(number, [])
    return total / TICKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200)
    count = parser.parse_args().tasks
    with tempfile.TemporaryDirectory() as folder:
        begun, wall = cpu_seconds(), time.monotonic()
        with engine_in(Path(folder)) as engine:
            print(f"session: {cpu_seconds() - begun:.1f} CPU s, {time.monotonic() - wall:.1f} s until it runs tasks")
            for _ in range(3):
                begun, wall = cpu_seconds(), time.monotonic()
                engine.run(tasks.thread_count, [0] * count, [1] * count)
                used, passed = cpu_seconds() - begun, time.monotonic() - wall
                print(f"task: {1000 * used / count:.0f} ms of CPU, {1000 * passed / count:.0f} ms of wall time")


if __name__ == "__main__":
    main()
