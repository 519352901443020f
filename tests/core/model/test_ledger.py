"""Who is withheld, not selected or remembered is counted as the definitions say, however long the trace is."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.builders import plain_schema, random_entry

from reanon_core.model import ledger
from reanon_core.model.snapshot import INVENTED, REMEMBERED, TABLE
from reanon_core.model.trace import Trace


@settings(deadline=None, max_examples=share_of(60))
@given(st.randoms(use_true_random=False), st.integers(1, 20))
def test_people_are_counted_as_the_definitions_say(random: Random, part: int) -> None:
    entry = random_entry(random, plain_schema(), people=14)
    people = entry.snapshot.persons.tolist()
    origin = [random.choice([TABLE, REMEMBERED, INVENTED]) for _ in people] if random.random() < 0.6 else None
    selected = [random.random() < 0.6 for _ in people] if random.random() < 0.6 else None
    strangers = np.sort(np.append(entry.trace.persons, [10**6] * random.randint(0, 1))).astype(np.int64)
    entry = replace(
        entry,
        snapshot=replace(
            entry.snapshot,
            origin=None if origin is None else np.array(origin, np.int8),
            selected=None if selected is None else np.array(selected, np.bool_),
        ),
        trace=Trace(strangers, np.zeros(len(strangers), np.int32)),
    )
    known = dict(
        zip(people, zip(selected or [True] * len(people), origin or [TABLE] * len(people), strict=True), strict=True)
    )
    shown = [known[person] for person in strangers.tolist() if person in known]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "PART", part)
        assert entry.withheld == sum(is_selected for is_selected, _ in known.values()) - sum(one for one, _ in shown)
        assert entry.dirty == sum(not is_selected and source != INVENTED for is_selected, source in shown)
        assert entry.remembered == sum(source == REMEMBERED for _, source in shown)
