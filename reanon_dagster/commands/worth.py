"""What an attack's beliefs are worth: added to its findings by the judge, who knows the truth."""

from dataclasses import replace

from reanon_core.attacks.background import BackgroundAttack
from reanon_core.metrics.adversary_gain import gains
from reanon_core.model.finding import Findings
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger


def worth(found: Findings, ledger: Ledger, knowledge: Knowledge) -> Findings:
    """The findings of the background attack with the adversary's gain and confidence; those of others as they are."""
    if found.attack != BackgroundAttack.name:
        return found
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
