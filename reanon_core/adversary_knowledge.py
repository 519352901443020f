"""The knowledge that attacks are given: who is in each release, and what the series declares."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from reanon_core.catalog import READERS
from reanon_core.inference.bayes.transition_counts import TransitionCounts, automaton_of, needs_counting
from reanon_core.model.background import Background
from reanon_core.model.errors import InvalidParameter, Problem, Unpublishable
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading
from reanon_core.protocols import Technique
from reanon_core.techniques.decoupled import Decoupled


def with_background(declared: Background | None, ledger: Ledger, knowledge: Knowledge) -> Knowledge:
    """The knowledge with the declared background.

    What is not declared is counted in the original tables: an outsider knows less, so the answer errs on the safe side.
    """
    try:
        return replace(knowledge, background=completed(declared or Background(), ledger))
    except Unpublishable:  # too many values for the declared memory: the attack makes its own estimate
        return knowledge


def completed(declared: Background, ledger: Ledger) -> Background:
    """The declared knowledge; what it leaves open is counted in the tables behind all releases."""
    if not needs_counting(declared):
        return declared
    values = len(ledger.entries[-1].snapshot.schema.sensitive.values)
    counts = TransitionCounts.empty(declared.classes.count, declared.memory).with_values(values)
    for entry in ledger.entries:
        snapshot = entry.snapshot
        counts = counts.with_view(snapshot.persons, snapshot.sensitive, declared.classes.of(snapshot.qi))
    automaton = automaton_of(declared, counts, values)
    return replace(declared, prior=automaton.prior, following=automaton.following, emission=automaton.emission)


def with_algorithm(
    technique: Technique[Any, Any], ledger: Ledger, knowledge: Knowledge, *, changed: Sequence[str] = ()
) -> Knowledge:
    """The knowledge of somebody who has also read the source of the technique, and knows its parameters.

    `changed` are the parameters with which some release was made otherwise: read with the wrong ones, it would rule out
    values that it does not, or seem to tell nothing.
    """
    if technique.name not in READERS:
        return knowledge
    if changed:
        return replace(knowledge, readings=partial(_refuse_changed, ", ".join(changed)))
    if ledger.erased:
        return replace(knowledge, readings=_refuse_erased)
    return replace(knowledge, readings=partial(readings_of, technique, ledger))


def readings_of(technique: Technique[Any, Any], ledger: Ledger) -> Iterator[Reading]:
    """What a reader of the technique's source learns from these releases: how likely other values would lead to them.

    Boxes of people in the decoupled form add nothing, whatever the values are.
    """
    return READERS[technique.name](technique.technique if isinstance(technique, Decoupled) else technique, ledger)


def _refuse_changed(parameters: str) -> NoReturn:
    """Refuse to read releases of which some were made with other parameters than those of today.

    Raises: InvalidParameter.
    """
    rule, given = "be given releases that were all made with the options of today", f"some have another {parameters}"
    raise InvalidParameter(Problem("the attack algorithm", rule, given))


def _refuse_erased() -> NoReturn:
    """Refuse to read how releases were made: without the values of people who are forgotten the answer would be wrong.

    Raises: InvalidParameter.
    """
    rule = "be given the tables from which the releases were made, and people of them are forgotten"
    raise InvalidParameter(Problem("the attack algorithm", rule))
