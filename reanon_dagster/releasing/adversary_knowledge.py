"""What attacks are given: who is in each release, and what the series says an adversary knows."""

from dataclasses import replace
from typing import TYPE_CHECKING

from reanon_core.inference.bayes.transition_counts import TransitionCounts, automaton_of, needs_counting
from reanon_core.model.background import Background
from reanon_core.model.errors import Unpublishable
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def with_background(series: "Series", ledger: Ledger, knowledge: Knowledge) -> Knowledge:
    """The knowledge with the declared background.

    What is not declared is counted in the original tables: more than an outsider has, so that the answer errs on the
    safe side.
    """
    declared = series.adversary_background or Background()
    try:
        return replace(knowledge, background=taught(declared, ledger))
    except Unpublishable:  # too many values for the declared memory: the attack estimates for itself
        return knowledge


def taught(declared: Background, ledger: Ledger) -> Background:
    """The declared knowledge, complete: what it leaves open is counted in the tables behind all releases."""
    if not needs_counting(declared):
        return declared
    values = len(ledger.entries[-1].snapshot.schema.sensitive.values)
    counts = TransitionCounts.empty(declared.classes.count, declared.memory).with_values(values)
    for entry in ledger.entries:
        snapshot = entry.snapshot
        counts = counts.with_view(snapshot.persons, snapshot.sensitive, declared.classes.of(snapshot.qi))
    automaton = automaton_of(declared, counts, values)
    return replace(declared, prior=automaton.prior, following=automaton.following, emission=automaton.emission)
