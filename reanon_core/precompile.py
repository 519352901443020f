"""Compile the kernels ahead of time, so that no user waits for a compiler.

`python -m reanon_core.precompile` compiles every kernel; with names of parts, those of m-invariance and of these parts.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from reanon_core.adversary_knowledge import with_algorithm
from reanon_core.catalog import ATTACKS, METRICS, TECHNIQUES, WEAKEST, build_attack, build_technique, own_checks
from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.engine.engine import EmbeddedEngine
from reanon_core.inference.view.box_lookup import masks_at
from reanon_core.inference.view.value_sets import group_masks
from reanon_core.judgement import history_verdicts
from reanon_core.kernels.ranks import numbered_by_occurrence
from reanon_core.kernels.siphash import siphash_strings
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Technique
from reanon_core.publishing import PartitionedTechnique, publish_in_parts
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple

FIRST = "m-invariance"
"""The technique whose kernels most others use too, so that it is compiled before them."""
FIRST_ATTACK = "intersection"
OTHER_ATTACKS = "other attacks"
DECOUPLED_FORM = "decoupled form"
IN_PARTS = "releases in parts"
Progress = Callable[[int, int, str], None]
"""Takes how many parts are compiled, how many there are, and the part that was compiled last."""


def snapshots() -> list[Snapshot]:
    """Two small snapshots of one series, with people who stay, leave and arrive."""
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="a"), QuasiIdentifier(name="b")),
        sensitive=Sensitive(name="s", values=("x", "y", "z")),
    )
    rng = np.random.default_rng(0)
    persons = np.arange(36, dtype=np.int64)
    qi = rng.integers(0, 9, size=(2, 36)).astype(np.int32)
    sensitive = (persons % 3).astype(np.int32)
    return [Snapshot(schema, persons[part], qi[:, part], sensitive[part]) for part in (slice(0, 24), slice(7, 36))]


def settings_of(name: str) -> Iterator[Mapping[str, object]]:
    """The parameters under which a technique runs: together they reach every kernel."""
    weakest = WEAKEST[name]
    if name == "sequential":  # people leave here, which sequential releases refuse by default
        yield from ({**weakest, "worlds": how, "on_delete": "defer"} for how in ("symmetric", "ring"))
        return
    yield weakest
    more: dict[str, tuple[str, tuple[str, ...]]] = {
        "m-invariance": ("assignment", ("stable", "paper")),
        "js-reduce": ("posterior", ("sum",)),
        "cor-split": ("partition", ("paper",)),
        "mondrian": ("cuts_by", ("quasi-identifiers",)),
    }
    option, choices = more.get(name, ("", ()))
    yield from ({**weakest, option: choice} for choice in choices)


def compile_settings(name: str, parameters: Mapping[str, object]) -> Ledger:
    """Publish with the technique, and judge what it promises."""
    technique = build_technique(name, parameters)
    ledger = replay(technique, snapshots(), np.random.default_rng(0))
    judge_promises(technique, ledger)
    readings = with_algorithm(technique, ledger, ledger.knowledge()).readings
    list(islice(readings(), 2) if readings else ())
    return ledger


def judge_promises(technique: Technique[Any, Any], ledger: Ledger) -> None:
    """Judge what the technique promises."""
    for check in own_checks(technique):
        list(history_verdicts(check, ledger.entries))


def compile_decoupled_form() -> None:
    """Publish with boxes of people, and judge, measure and attack that."""
    technique = decouple(build_technique(FIRST, WEAKEST[FIRST]), 2)
    ledger = replay(technique, snapshots(), np.random.default_rng(0))
    judge_promises(technique, ledger)
    for metric in ("query-error", "relations"):
        METRICS[metric]().measure(ledger.entries[-1], np.random.default_rng(0))
    for attack in ("linkage", "location", "insider"):
        build_attack(attack).run(ledger.history(), ledger.knowledge())


def compile_releases_in_parts() -> None:
    """Publish in tasks over columns on disk, with people who are withheld."""
    technique = build_technique(FIRST, {**WEAKEST[FIRST], "balancing": "median"})
    if not isinstance(technique, PartitionedTechnique):
        raise TypeError(f"{FIRST} computes releases in parts")
    state = technique.initial_state()
    for number, snapshot in enumerate(snapshots()):
        with TemporaryDirectory() as folder:
            engine = EmbeddedEngine(ColumnFolder(folder), chunk_rows=10)
            publication = publish_in_parts(technique, snapshot, state, np.random.default_rng(number), engine)
            state = publication.state


def compile_first() -> Iterator[str]:
    """What every part needs, step by step: one technique, one attack and the metrics."""
    siphash_strings(np.zeros(4, np.uint8), np.array([0, 2, 4], np.int64), np.zeros(2, np.uint64))
    for parameters in settings_of(FIRST):
        ledger = compile_settings(FIRST, parameters)
        yield f"{FIRST}, {parameters.get('assignment', 'default')} assignment"
    build_attack(FIRST_ATTACK).run(ledger.history(), ledger.knowledge())
    release = ledger.entries[0].release
    numbered_by_occurrence(release.group, np.zeros(release.boxes.count, np.bool_))
    numbered_by_occurrence(release.group.copy(), np.zeros(release.boxes.count, np.bool_))
    masks_at(ledger.entries[0].snapshot.qi, release.boxes, group_masks(release, 3), scanned=0)  # a larger release
    yield f"attack {FIRST_ATTACK}"
    for metric in METRICS.values():
        metric().measure(ledger.entries[-1], np.random.default_rng(0))
    yield "metrics"


def compile_other_attacks() -> None:
    """Attack a history in every other way."""
    ledger = compile_settings(FIRST, WEAKEST[FIRST])  # read from the disk by now
    for attack in ATTACKS:
        with suppress(InvalidParameter):  # exact counting accepts only the tiniest histories, and compiles nothing
            build_attack(attack).run(ledger.history(), ledger.knowledge())


def compile_part(name: str) -> str:
    """Compile one part, and return its name."""
    if name == OTHER_ATTACKS:
        compile_other_attacks()
    elif name == DECOUPLED_FORM:
        compile_decoupled_form()
    elif name == IN_PARTS:
        compile_releases_in_parts()
    else:
        for parameters in settings_of(name):
            compile_settings(name, parameters)
    return name


def precompile(parts: Sequence[str], progress: Progress) -> None:
    """Run what is compiled, on arrays of the types that production uses.

    Shared kernels are compiled first, the rest in several processes. Each file of the cache belongs to one kernel, so
    the processes do not disturb each other.
    """
    others = [part for part in parts if part != FIRST]
    steps = len(list(settings_of(FIRST))) + 2 + len(others)
    progress(0, steps, "")
    done = 0
    for step in compile_first():
        done += 1
        progress(done, steps, step)
    with ProcessPoolExecutor() as processes:
        for finished in as_completed([processes.submit(compile_part, part) for part in others]):
            done += 1
            progress(done, steps, finished.result())


def all_parts() -> list[str]:
    """The first technique, then the longest parts, so that two processes end at about the same time."""
    longest = ("cor-split", "sequential", "bpg", OTHER_ATTACKS, DECOUPLED_FORM, IN_PARTS)
    return list(dict.fromkeys((FIRST, *longest, *TECHNIQUES)))


def bar(done: int, parts: int, last: str) -> None:
    """One line of a progress bar on standard error; where no one watches, one line for each part."""
    width = 24
    filled = width * done // max(parts, 1)
    text = f"compiling kernels [{'#' * filled}{'.' * (width - filled)}] {done} of {parts}"
    text += f": {last}" if last else ""
    watched = sys.stderr.isatty()
    end = "\n" if not watched or done == parts else ""
    sys.stderr.write(f"\r{text:<72}{end}" if watched else f"{text}{end}")
    sys.stderr.flush()


if __name__ == "__main__":
    precompile(sys.argv[1:] or all_parts(), bar)
