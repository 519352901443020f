"""The running example of [RPB12]: Tables 1, 3 and 4."""

import numpy as np

from reanon_core.model.background import Background
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace

VALUES = ("MAM-pos", "CX-neg", "CX-pos", "BS-neg", "BCM-pos", "PNE-pos", "MAM-neg")
MAM_POS, CX_NEG, CX_POS, BS_NEG, BCM_POS, PNE_POS, MAM_NEG = range(7)
ALICE, BETTY, CAROL, DORIS, ELISA, FRAN, GRACE = range(7)

SCHEMA = Schema(
    quasi_identifiers=(QuasiIdentifier(name="age"), QuasiIdentifier(name="zip")),
    sensitive=Sensitive(name="exam", values=VALUES),
)


def table_3b() -> Background:
    """Table 3b: which value follows which. At first both values of each group are equally likely."""
    following = np.tile(np.arange(1, len(VALUES) + 1), (len(VALUES) + 1, 1))
    emission = np.zeros((1, len(VALUES) + 1, len(VALUES)))
    for before, bcm, pne in ((MAM_POS, 0.6, 0.02), (CX_NEG, 0.02, 0.08), (CX_POS, 0.02, 0.6), (BS_NEG, 0.02, 0.02)):
        emission[0, before + 1, [BCM_POS, PNE_POS]] = bcm, pne
    # Table 3a, the same for all people; the value that it leaves out gets the rest.
    prior = np.array([[0.002, 0.05, 0.0003, 0.2, 0.001, 0.001, 0.7457]])
    return Background(prior=prior, following=following, emission=emission, source="domain")


def release(groups: list[list[int]]) -> Release:
    """Groups of values; the boxes cover everything."""
    group = [number for number, values in enumerate(groups) for _ in values]
    low, high = np.zeros((2, len(groups)), np.int32), np.full((2, len(groups)), 99999, np.int32)
    boxes = Boxes(low, high, np.zeros((2, len(groups)), np.int8))
    return Release(np.array(group), np.array([value for values in groups for value in values]), boxes)


FIRST = release([[MAM_POS, CX_NEG], [CX_POS, BS_NEG]])
SECOND = release([[BCM_POS, PNE_POS], [MAM_NEG, CX_NEG, CX_POS]])
FIRST_PEOPLE = Presence(
    np.array([ALICE, BETTY, CAROL, DORIS]),
    np.array([[51, 52, 51, 52], [12030, 12030, 12031, 12031]]),
    np.array([0, 0, 1, 1]),
)
SECOND_PEOPLE = Presence(
    np.array([ALICE, CAROL, ELISA, FRAN, GRACE]),
    np.array([[51] * 5, [12030, 12031, 12044, 12045, 12040]]),
    np.array([0, 0, 1, 1, 1]),
)
HISTORY = History(SCHEMA, (Published(FIRST, Auxiliary.none()), Published(SECOND, Auxiliary.none())))
KNOWLEDGE = Knowledge((FIRST_PEOPLE, SECOND_PEOPLE), background=table_3b())


def second_entry() -> Entry:
    """The second release with the truth behind it: Alice has BCM-pos, Carol PNE-pos."""
    people = SECOND_PEOPLE
    snapshot = Snapshot(SCHEMA, people.persons, people.qi, np.array([BCM_POS, PNE_POS, MAM_NEG, CX_NEG, CX_POS]))
    return Entry(snapshot, SECOND, Auxiliary.none(), Trace(people.persons, np.arange(5)))
