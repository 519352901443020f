"""The knowledge that attacks are given: who is in each release, and what the series declares."""

from dataclasses import replace

from reanon_core.inference.bayes.transition_counts import Counted, needs_counting, resolved
from reanon_core.model.background import Background
from reanon_core.model.errors import Unpublishable
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger


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
    counted = Counted.nothing(declared.classes.count, declared.memory).widened(values)
    for entry in ledger.entries:
        snapshot = entry.snapshot
        counted = counted.with_view(snapshot.persons, snapshot.sensitive, declared.classes.of(snapshot.qi))
    automaton = resolved(declared, counted, values)
    return replace(declared, prior=automaton.prior, following=automaton.following, emission=automaton.emission)
