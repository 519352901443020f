"""What the judge adds to an attack's findings: how many of them are true."""

import numpy as np
import pytest

from reanon_core.finding_truth import with_truth
from reanon_core.model.finding import Findings
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.mondrian.technique import Mondrian

SCHEMA = Schema(quasi_identifiers=(QuasiIdentifier(name="a"),), sensitive=Sensitive(name="s", values=("x", "y", "z")))
VALUES = ([0, 1, 2, 0], [0, 2, 2, 0])
LEDGER = replay(
    Mondrian(k=2, ell=2),
    [Snapshot(SCHEMA, np.arange(4), np.arange(4, dtype=np.int32)[None], np.array(v, np.int32)) for v in VALUES],
    np.random.default_rng(0),
)


@pytest.mark.parametrize(
    ("persons", "inferred", "true"),
    [([3, 0, 2], [0, 0, 2], 3), ([1, 0], [2, 1], 1), ([1], [1], 1), ([0, 9], [0, 0], 1), ([], [], 0)],
)
def test_a_conclusion_is_true_if_the_person_had_that_value_in_some_release(
    persons: list[int], inferred: list[int], true: int
) -> None:
    found = Findings("intersection", 4, np.array(persons), np.array(inferred), np.ones(len(persons)), "certain")
    told = with_truth(found, LEDGER, LEDGER.knowledge())
    assert told.extra["conclusions that are true"] == true
    assert told.exposed == len(persons)
    expected = "certain" if true == len(persons) else f"certain; {true} of these {len(persons)} are true"
    assert told.note == expected
