"""pycanon, a library of other people, finds the same k, l and t in published tables as our checks observe."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders.bpg import histories
from conformance.test_judges import snapshots

from reanon_core.catalog import build_technique
from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.t_closeness import TCloseness
from reanon_core.model.ledger import Entry
from reanon_core.replay import replay
from reanon_core.tables.release_table import release_table

sys.path.append(str(Path(sys.prefix) / "pycanon"))  # a folder of its own: its pins conflict with ours
anonymity = import_module("pycanon.anonymity")

TECHNIQUES = {
    "mondrian": {"k": 4, "ell": 2, "t": 0.4},
    "bpg": {"k": 3, "ell": 2, "reserve": 2},
    "m-invariance": {"m": 3},
}


def published(name: str) -> list[Entry]:
    tables = (
        snapshots(200, 4) if name == "m-invariance" else histories(4, change=0.1, subset=0.9, leave=0.1, people=300)
    )
    return list(replay(build_technique(name, TECHNIQUES[name]), tables, np.random.default_rng(0)).entries)


def observed(check: KAnonymity | LDiversity | TCloseness, entry: Entry, what: str) -> float:
    return check.examine(entry, check.initial_memory())[0].observed[what]


@pytest.mark.parametrize("name", TECHNIQUES)
def test_an_independent_library_finds_the_same_k_l_and_t(name: str) -> None:
    for entry in published(name):
        schema = entry.snapshot.schema
        frame = release_table(entry.release, schema).to_pandas()
        secret = schema.sensitive.name
        classes = [column for column in frame.columns if column != secret]  # the group is published as well
        assert anonymity.k_anonymity(frame, classes) == observed(KAnonymity(k=2), entry, "smallest group")
        assert anonymity.l_diversity(frame, classes, [secret]) == observed(LDiversity(ell=2), entry, "fewest values")
        ours = observed(TCloseness(t=0.9), entry, "greatest distance")
        assert anonymity.t_closeness(frame, classes, [secret]) == pytest.approx(ours)
        # Groups that happen to have the same box are one class to a judge that ignores group numbers.
        boxes = [column for column in classes if column != "group_id"]
        assert anonymity.k_anonymity(frame, boxes) >= observed(KAnonymity(k=2), entry, "smallest group")


def test_values_are_labels_to_us_and_numbers_to_pycanon_where_they_look_like_numbers() -> None:
    """Half of the people have an adjacent value: far for labels, near for numbers."""
    frame = pd.DataFrame({"group_id": [0, 0, 1, 1], "income": ["1", "2", "1", "3"]})
    labels = anonymity.t_closeness(frame, ["group_id"], ["income"])
    numbers = anonymity.t_closeness(frame.astype(int), ["group_id"], ["income"])
    assert (labels, numbers) == (pytest.approx(0.25), pytest.approx(0.125))
