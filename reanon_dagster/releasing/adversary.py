"""What attacks are given: who is in each release, and what an adversary knows; and what their beliefs are worth."""

from dataclasses import replace
from typing import TYPE_CHECKING

from reanon_core.attacks.background import BackgroundAttack
from reanon_core.inference.sequences import Counted, needs_counting, resolved
from reanon_core.metrics.adversary_gain import gains
from reanon_core.model.background import Background
from reanon_core.model.errors import Unpublishable
from reanon_core.model.finding import Findings
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger

if TYPE_CHECKING:
    from reanon_dagster.series.declared import Series


def adversary_knowledge(series: "Series", ledger: Ledger) -> Knowledge:
    """The strongest adversary's knowledge of people, with the declared background.

    What is not declared is counted in the original tables: more than an outsider has, so that the answer errs on the
    safe side.
    """
    declared = series.adversary_background or Background()
    knowledge = ledger.knowledge()
    try:
        return replace(knowledge, background=taught(declared, ledger))
    except Unpublishable:  # too many values for the declared memory: the attack estimates for itself
        return knowledge


def taught(declared: Background, ledger: Ledger) -> Background:
    """The declared knowledge, complete: what it leaves open is counted in the tables behind all releases."""
    if not needs_counting(declared):
        return declared
    values = len(ledger.entries[-1].snapshot.schema.sensitive.values)
    counted = Counted.nothing(declared.classes.count, declared.memory).widened(values)
    for entry in ledger.entries:
        snapshot = entry.snapshot
        counted = counted.with_view(snapshot.persons, snapshot.sensitive, declared.classes.of(snapshot.qi))
    automaton = resolved(declared, counted, values)
    return replace(declared, prior=automaton.prior, following=automaton.following, emission=automaton.emission)


def worth(found: Findings, ledger: Ledger, knowledge: Knowledge) -> Findings:
    """The findings of the background attack with the adversary's gain and confidence; those of others as they are."""
    if found.attack != BackgroundAttack.name:
        return found
    beliefs = BackgroundAttack().beliefs(ledger.history(), knowledge)
    measured = list(gains(ledger, ((believed.persons, believed.posterior) for believed in beliefs)))
    last, most = measured[-1], max(measured, key=lambda gain: gain.gain)
    note = f"{found.note}; the gain over the groups' frequencies is {last.gain:.2f} now, {most.gain:.2f} at most"
    extra = {
        **found.extra,
        "adversary gain": last.gain,
        "greatest adversary gain": most.gain,
        "adversary gain, withheld protected": last.gain_withheld_protected,
        "adversary gain, withheld exposed": last.gain_withheld_exposed,
        "adversary confidence": last.confidence,
        "withheld": float(last.withheld),
    }
    return replace(found, note=note, extra=extra)
