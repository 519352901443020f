"""What an attack's findings are worth: added by the judge, who knows the truth."""

from dataclasses import replace

import numpy as np

from reanon_core.attacks.background import BackgroundAttack
from reanon_core.metrics.adversary_gain import gains
from reanon_core.model.finding import Findings
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger


def worth(found: Findings, ledger: Ledger, knowledge: Knowledge) -> Findings:
    """The findings with how many of them are true; those of the background attack also with what it gains."""
    found = _with_truth(found, ledger)
    return _with_gain(found, ledger, knowledge) if found.attack == BackgroundAttack.name else found


def _with_truth(found: Findings, ledger: Ledger) -> Findings:
    """How many of the exposed really had the value that the attack infers, in some release.

    Attacks that take a person's value for constant conclude what is not so where values change.
    """
    true = np.zeros(found.exposed, dtype=np.bool_)
    order = np.argsort(found.persons, kind="stable")
    persons, inferred = found.persons[order], found.inferred[order]
    for entry in ledger.entries:
        place = persons.searchsorted(entry.trace.persons)
        hit = np.flatnonzero(place < len(persons))
        hit = hit[persons[place[hit]] == entry.trace.persons[hit]]
        shown = entry.snapshot.sensitive[entry.snapshot.persons.searchsorted(entry.trace.persons[hit])]
        true[place[hit]] |= shown == inferred[place[hit]]
    right = int(np.count_nonzero(true))
    note = found.note if right == found.exposed else f"{found.note}; {right:,} of these {found.exposed:,} are true"
    return replace(found, note=note, extra={**found.extra, "conclusions that are true": float(right)})


def _with_gain(found: Findings, ledger: Ledger, knowledge: Knowledge) -> Findings:
    """The adversary's gain and confidence, where there are groups to measure them from."""
    if not all(entry.release.grouped for entry in ledger.entries):
        return replace(found, note=f"{found.note}; there are no groups whose frequencies a gain would be measured from")
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
