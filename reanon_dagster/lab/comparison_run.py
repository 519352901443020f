"""A whole comparison: every technique, in as many processes as there are cores, and what is known is not made again."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Any

from reanon_dagster.lab.compared_techniques import ComparedTechnique
from reanon_dagster.lab.comparison import Adversary, Asked, Outcome, compare_one
from reanon_dagster.lab.comparison_questions import asked_questions
from reanon_dagster.lab.comparison_results import keep_outcome, result_file, stored_outcome
from reanon_dagster.lab.snapshots_on_disk import SnapshotsOnDisk

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

    from reanon_core.model.background import Background
    from reanon_core.model.snapshot import Snapshot

MANY_ROWS = 10_000
"""From this number of rows on, a second process is worth its start."""
PROCESSES = 2
PAUSE = 0.2
"""Seconds between two looks at what the processes say."""

Watch = Callable[[str, str], None]
"""Gets the label of a technique and what is done with it; an empty text: it is finished."""


@dataclass(frozen=True, eq=False)
class Work:
    """Everything a process needs."""

    snapshots: "dict[bool, list[Snapshot]]"
    """By whether tables with a selection are whole."""
    releases: tuple[str, ...]
    background: "Background | None"
    adversary: Adversary
    asked: Asked

    def outcome(
        self, compared: ComparedTechnique, known: Outcome, tell: Callable[[str], None], keep: Callable[[Outcome], None]
    ) -> Outcome:
        """The outcome of one technique."""
        whole = not compared.is_baseline and _answers_queries(compared)
        return compare_one(
            compared,
            self.snapshots[whole],
            self.releases,
            self.background,
            self.adversary,
            self.asked,
            known=known,
            tell=tell,
            keep=keep,
        )


def run_comparison(
    disk: SnapshotsOnDisk, compared: Sequence[ComparedTechnique], adversary: Adversary, asked: Asked, watch: Watch
) -> tuple[dict[str, Outcome], Asked]:
    """The outcome of every technique by its label, in the order in which they are given; and what was asked.

    The questions are made from the snapshots and added to what is asked.

    Raises: InvalidSnapshot if a snapshot cannot be read.
    """
    series, inputs = disk.series, disk.digests()
    files = {one.label: result_file(series, inputs, one, adversary) for one in compared}
    known = {label: stored_outcome(path, adversary) for label, path in files.items()}
    waiting = [one for one in compared if not known[one.label].has(asked)]
    for one in compared:
        if one not in waiting:
            watch(one.label, "")
    work = _work(disk, waiting or compared, adversary, asked, watch)
    rows = sum(snapshot.size for snapshot in work.snapshots[False])
    if rows < MANY_ROWS or len(waiting) < 2 or (os.cpu_count() or 1) < 2:
        known |= _one_after_another(work, waiting, known, files, watch)
    else:
        known |= _side_by_side(work, waiting, known, files, watch)
    return {one.label: known[one.label] for one in compared}, work.asked


def _work(
    disk: SnapshotsOnDisk,
    waiting: Sequence[ComparedTechnique],
    adversary: Adversary,
    asked: Asked,
    watch: Watch,
) -> Work:
    """Read the snapshots, in both ways only if releases select people, and make the questions from them."""
    series = disk.series
    rows = disk.read(whole_tables=False, tell=lambda step: watch(waiting[0].label, step))
    whole = rows
    if series.selections and any(not one.is_baseline and _answers_queries(one) for one in waiting):
        whole = disk.read(whole_tables=True, tell=lambda step: watch(waiting[0].label, step))
    asked = replace(asked, questions=asked_questions(rows))
    return Work({False: rows, True: whole}, disk.releases, series.background, adversary, asked)


def _answers_queries(compared: ComparedTechnique) -> bool:
    from reanon_core.catalog import TECHNIQUES

    return TECHNIQUES[compared.technique].declaration.answers_queries


def _one_after_another(
    work: Work,
    waiting: Sequence[ComparedTechnique],
    known: dict[str, Outcome],
    files: dict[str, Path],
    watch: Watch,
) -> dict[str, Outcome]:
    found = {}
    for one in waiting:
        label = one.label
        found[label] = work.outcome(
            one,
            known[label],
            lambda step, label=label: watch(label, step),  # type: ignore[misc]
            lambda outcome, label=label: keep_outcome(files[label], outcome),  # type: ignore[misc]
        )
        watch(label, "")
    return found


def _side_by_side(
    work: Work,
    waiting: Sequence[ComparedTechnique],
    known: dict[str, Outcome],
    files: dict[str, Path],
    watch: Watch,
) -> dict[str, Outcome]:
    """The same in several processes; this one alone writes files and shows progress."""
    context = multiprocessing.get_context("spawn")
    said: Queue[tuple[str, str | Outcome]] = context.Queue()
    # A technique takes longer the more of its releases' groups can be read: the long ones first.
    order = sorted(waiting, key=lambda one: one.is_baseline)
    with ProcessPoolExecutor(PROCESSES, context, initializer=_begin, initargs=(work, said)) as pool:
        try:
            running: dict[Future[Outcome], str] = {
                pool.submit(_outcome, one, known[one.label]): one.label for one in order
            }
            found = {}
            while running:
                _hear(said, files, watch)
                for future in wait(running, timeout=PAUSE, return_when=FIRST_COMPLETED).done:
                    label = running.pop(future)
                    found[label] = future.result()
                    keep_outcome(files[label], found[label])
                    watch(label, "")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    return found


def _hear(said: "Queue[tuple[str, str | Outcome]]", files: dict[str, Path], watch: Watch) -> None:
    """Show and keep what the processes have said."""
    while True:
        try:
            label, news = said.get_nowait()
        except Empty:
            return
        if isinstance(news, Outcome):
            keep_outcome(files[label], news)
        else:
            watch(label, news)


_MINE: dict[str, Any] = {}
"""What this process was given, if it is one of several."""


def _begin(work: Work, said: "Queue[tuple[str, str | Outcome]]") -> None:
    # Arrays lose their protection on the way here, and every kernel would be compiled anew for writable ones.
    protected = {whole: [replace(one) for one in snapshots] for whole, snapshots in work.snapshots.items()}
    _MINE.update(work=replace(work, snapshots=protected), said=said)


def _outcome(compared: ComparedTechnique, known: Outcome) -> Outcome:
    """The outcome of one technique, in a process of its own."""
    label = compared.label

    def say(news: str | Outcome) -> None:
        parent = multiprocessing.parent_process()
        if parent is None or not parent.is_alive():  # killed: no one wants the result any more
            sys.exit(1)
        _MINE["said"].put((label, news))

    work: Work = _MINE["work"]
    return work.outcome(compared, known, say, say)
