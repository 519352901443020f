"""One technique on the snapshots of a series, in memory: what attacks find, what metrics measure, what it costs."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.adversary_knowledge import with_algorithm, with_background
from reanon_core.catalog import METRICS, SOURCE_ATTACK, build_attack, own_checks
from reanon_core.finding_truth import with_truth
from reanon_core.judgement import judge, require_verdicts
from reanon_core.model.errors import InvalidParameter, ReanonError, Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.protocols import Memory, Technique
from reanon_core.publishing import publish
from reanon_dagster.lab.baseline import baseline_entries, timed
from reanon_dagster.lab.compared_techniques import ComparedTechnique
from reanon_dagster.lab.comparison_questions import Answer, AskedQuestion, answers

if TYPE_CHECKING:
    from reanon_core.model.background import Background
    from reanon_core.model.knowledge import Knowledge
    from reanon_core.model.snapshot import Snapshot
    from reanon_dagster.series.series import Series

SEED = 0
"""Nothing is published, so that the same snapshots may give the same numbers."""
WITHHELD = "withheld"
"""The share of the selected people whom a technique does not publish: a metric of the comparison alone."""
MEASURES = (*METRICS, WITHHELD)
DEFAULT_MEASURES = (*(name for name, metric in METRICS.items() if metric.quick), "counterfeits", WITHHELD)
PATIENCE = 5.0
"""The CPU seconds that the attack `algorithm` may read a technique's source, unless it was named."""


@dataclass(frozen=True)
class Adversary:
    """What the attacks may know, as the series declares it."""

    background: "Background | None"
    compromised: float
    groups_known: bool
    patience: float | None = PATIENCE
    """How long the attack `algorithm` may read, in CPU seconds; None for as long as it takes."""


@dataclass(frozen=True)
class Cell:
    """What one attack finds in all releases of one technique; no number, and a note, where it makes no sense."""

    exposed: int | None
    of: int | None
    note: str


@dataclass
class Outcome:
    """What is known of one technique so far."""

    refusal: str = ""
    """Why it does not publish these snapshots; empty if it does."""
    seconds: float = 0.0
    """The CPU seconds that it took to make the releases."""
    cells: dict[str, Cell] = field(default_factory=dict)
    metrics: dict[str, float | None] = field(default_factory=dict)
    """The mean of each metric over the releases that have something to measure; None if none has."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """What the releases answer, by the text of the question."""

    def has(self, asked: "Asked") -> bool:
        """Whether everything that is asked for is known, but for the questions: they are the same for all."""
        known = set(asked.attacks) <= set(self.cells) and set(asked.metrics) <= set(self.metrics)
        return bool(self.refusal) or (known and bool(self.answers))


@dataclass(frozen=True)
class Asked:
    """What a comparison is to find out about each technique."""

    attacks: Sequence[str]
    metrics: Sequence[str]
    questions: Sequence[AskedQuestion] = ()


Tell = Callable[[str], None]
Keep = Callable[[Outcome], None]


def compare_one(
    compared: ComparedTechnique,
    snapshots: "Sequence[Snapshot]",
    releases: Sequence[str],
    background: "Background | None",
    adversary: Adversary,
    asked: Asked,
    *,
    known: Outcome,
    tell: Tell,
    keep: Keep,
) -> Outcome:
    """Publish the snapshots with one technique in memory, measure and attack the releases.

    What is `known` is not computed again; `keep` gets every step's result.
    """
    outcome = replace(known, cells=dict(known.cells), metrics=dict(known.metrics))
    try:
        technique = None if compared.is_baseline else compared.built(background)
        entries, outcome.seconds = timed(
            compared_entries(compared, technique, snapshots, releases),
            lambda done: tell(f"release {done} of {len(releases)}"),
        )
    except ReanonError as error:
        outcome.refusal = " ".join(str(error).splitlines())
        keep(outcome)
        return outcome
    for name in asked.metrics:
        if name not in outcome.metrics:
            tell(f"measuring {name}")
            outcome.metrics[name] = _measured(name, entries)
    if not outcome.answers:
        tell("asking questions")
        outcome.answers = answers(asked.questions, entries, compared.all_parameters)
    keep(outcome)
    for name, cell in attack_cells(
        technique, Ledger(entries), adversary, [name for name in asked.attacks if name not in outcome.cells], tell
    ):
        outcome.cells[name] = cell
        keep(outcome)
    return outcome


def attack_cells(
    technique: Technique[Any, Any] | None, ledger: Ledger, adversary: Adversary, attacks: Sequence[str], tell: Tell
) -> Iterator[tuple[str, Cell]]:
    """What each attack finds in the releases; without a technique no one can read how they were made."""
    if not attacks:
        return
    knowledge = _knowledge(ledger, adversary)
    if technique is not None:
        knowledge = with_algorithm(technique, ledger, knowledge)
    for name in attacks:
        tell(f"attacking: {name}")
        yield name, _cell(name, ledger, knowledge, adversary.patience if name == SOURCE_ATTACK else None)


def declared_adversary(series: "Series", *, patience: float | None = PATIENCE) -> Adversary:
    """What the attacks may know: the same as in `reanon audit`."""
    declared = series.config.adversary
    shares = (declared.compromised, series.parameters.get("p"), 0.0)
    share = next(float(one) for one in shares if one is not None)
    return Adversary(series.adversary_background, share, declared.groups == "known", patience)


def compared_entries(
    compared: ComparedTechnique,
    technique: Technique[Any, Any] | None,
    snapshots: "Sequence[Snapshot]",
    releases: Sequence[str],
) -> Iterator[Entry]:
    """The judged releases of a technique, or those of a baseline.

    Raises: Unpublishable and the other errors of a technique, with the release.
    """
    rng = np.random.default_rng(SEED)
    if technique is None:
        yield from baseline_entries(compared.technique, compared.parameters, snapshots, rng)
        return
    technique.accepts(snapshots[0].schema)
    if not technique.declaration.columns_vary and any(snapshot.columns is not None for snapshot in snapshots):
        raise Unpublishable("its releases show every column, and releases of this series show some only")
    checks, state = own_checks(technique), technique.initial_state()
    memories: Mapping[str, Memory] = {}
    for release, snapshot in zip(releases, snapshots, strict=True):
        try:
            publication = publish(technique, snapshot, state, rng)
            entry, state = publication.entry(snapshot), publication.state
            verdicts, memories = judge(checks, entry, memories)
            require_verdicts(release, entry, verdicts, publication.withheld)
        except ReanonError as error:
            error.remark = f"{error.remark} (release {release})"
            raise
        yield entry


def _measured(name: str, entries: Sequence[Entry]) -> float | None:
    """The mean of a metric over the releases that have rows, with the same queries for all."""
    if name == WITHHELD:
        selected = sum(int(np.count_nonzero(entry.snapshot.selection)) for entry in entries)
        return sum(entry.withheld for entry in entries) / max(1, selected)
    metric = METRICS[name]()
    shown = [entry for entry in entries if entry.release.size] or entries
    found = np.array([metric.measure(entry, np.random.default_rng(SEED)) for entry in shown])
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else None


def _knowledge(ledger: Ledger, adversary: Adversary) -> "Knowledge":
    known = ledger.sampled(adversary.compromised, np.random.default_rng(SEED))
    knowledge = ledger.knowledge(compromised=known, groups_known=adversary.groups_known)
    return with_background(adversary.background, ledger, knowledge)


def _cell(name: str, ledger: Ledger, knowledge: "Knowledge", seconds: float | None) -> Cell:
    try:
        with cpu_limit(seconds):
            found = with_truth(build_attack(name).run(ledger.history(), knowledge), ledger, knowledge)
    except InvalidParameter as error:
        return Cell(None, None, f"not tested: {error}")
    except OutOfTime:
        return Cell(None, None, f"not finished in {seconds:.0f} CPU seconds; name it with --attack to wait for it")
    return Cell(found.exposed, found.of, found.note)


class OutOfTime(Exception):
    """The CPU seconds are spent."""


@contextmanager
def cpu_limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the block after so many CPU seconds of this process; None for no limit.

    Only the main thread of a process can be interrupted, so in others there is no limit.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
