"""A whole comparison: every technique, in as many processes as there are cores, and what is known is not made again."""

import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Any

from reanon_core import __version__
from reanon_core.catalog import SOURCE_ATTACK
from reanon_dagster.lab.compared_techniques import ComparedTechnique
from reanon_dagster.lab.comparison import SEED, Adversary, Asked, Cell, Outcome, compare_one
from reanon_dagster.lab.comparison_questions import Answer, asked_questions
from reanon_dagster.lab.snapshots_on_disk import SnapshotsOnDisk
from reanon_dagster.storage.durable_file import replaced_private_file
from reanon_dagster.storage.pseudonym_key import private_folder

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

    from reanon_core.model.background import Background
    from reanon_core.model.snapshot import Snapshot
    from reanon_dagster.series.series import Series

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


FOLDER = ".comparison"
"""The folder of the results inside the private folder; a backup leaves out what begins with a dot."""
TECHNIQUE_KEYS = ("technique.", "knowledge")
"""What the settings of the series' own technique begin with: they change nothing for the others."""


def result_file(series: "Series", inputs: Sequence[str], compared: ComparedTechnique, adversary: Adversary) -> Path:
    """The file of one technique's results: its name changes with the snapshots, the settings and the parameters."""
    settings = {key: value for key, value in series.fingerprint().items() if not key.startswith(TECHNIQUE_KEYS)}
    asked = {
        "reanon": __version__,
        "inputs": list(inputs),
        "columns": series.config.releases.columns,
        "settings": settings,
        "technique": [compared.technique, compared.all_parameters, compared.decoupled_k],
        "declared background": _digest(series.background),
        "adversary": [_digest(adversary.background), adversary.compromised, adversary.groups_known],
        "seed": SEED,
    }
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
    return series.private_folder / FOLDER / f"{digest}.json"


def stored_outcome(path: Path, adversary: Adversary) -> Outcome:
    """What is known so far; nothing if there is no such file, or if it cannot be read.

    An attack that was stopped for lack of patience is run again by one who waits.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        cells = {name: Cell(**cell) for name, cell in found["cells"].items()}
        metrics = {str(name): None if value is None else float(value) for name, value in found["metrics"].items()}
        answers = {str(text): Answer(**answer) for text, answer in found["answers"].items()}
        outcome = Outcome(str(found["refusal"]), float(found["seconds"]), cells, metrics, answers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Outcome()
    if adversary.patience is None:
        answered = {name: cell for name, cell in cells.items() if name != SOURCE_ATTACK or cell.exposed is not None}
        outcome.cells = answered
    return outcome


def keep_outcome(path: Path, outcome: Outcome) -> None:
    """Write what is known so far for its owner alone, complete or not at all."""
    private_folder(path.parent.parent)
    private_folder(path.parent)
    with replaced_private_file(path) as file:
        file.write(f"{json.dumps(asdict(outcome))}\n".encode())


def _digest(background: "Background | None") -> str | None:
    return None if background is None else background.digest()
